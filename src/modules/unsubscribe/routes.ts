// The page behind the link to unsubscribe, and the one-click POST of mail programs (RFC 8058) to the same address. Nobody
// needs a key, and GET changes nothing: scanners of mail follow links.

import { Elysia } from "elysia";
import type { Context } from "../../platform/context.ts";
import { TokenBuckets } from "../../platform/http/token-buckets.ts";
import { chooseLanguage } from "./language.ts";
import type { UnsubscribeLinks } from "./links.ts";
import { buildPage, type Page } from "./page.ts";
import type { Subscription } from "./store.ts";
import { findSubscription, isUnsubscribed, unsubscribe, type UnsubscribeDeps } from "./unsubscribe.ts";

const MINUTE_MS = 60_000;

interface Opened {
  uid: string;
  subscription: Subscription;
}

export interface UnsubscribeRouteDeps extends UnsubscribeDeps, Pick<Context, "commit" | "clock" | "log"> {
  links: Pick<UnsubscribeLinks, "readToken">;
  /** One word for the client's address; null: it has none, and is not counted. */
  findNetwork: (request: Request) => string | null;
  /** Requests with a token that was not made here, from one address; 0 = no limit. */
  failuresPerMinute: number;
}

export function unsubscribeRoutes(deps: UnsubscribeRouteDeps) {
  const { links, clock, log, findNetwork, failuresPerMinute: rate } = deps;
  const failures =
    rate === 0 ? null : new TokenBuckets<string>({ name: "bad-links", rate, perMs: MINUTE_MS, burst: rate });

  const answer = (request: Request, page: Omit<Page, "language">) =>
    buildPage({ ...page, language: chooseLanguage(request.headers.get("accept-language")) });
  const answerUnknown = (request: Request) => answer(request, { kind: "unknown", about: null });
  /** Only here a request is counted: however often others guess, a genuine link works. */
  const refuse = (request: Request) => {
    const network = failures === null ? null : findNetwork(request);
    const waitMs = failures === null || network === null ? 0 : failures.take(network, clock.now());
    if (failures === null || waitMs === 0) return answerUnknown(request);
    return answer(request, { kind: "too_many", about: null, retryAfterS: failures.wholeSeconds(waitMs) });
  };
  /** Finds what a token leads to, or the page that says that it leads nowhere. Null: the router could not decode it. */
  const open = (request: Request, token: string | null): Opened | Response => {
    const uid = token === null ? null : links.readToken(token);
    if (uid === null) return refuse(request);
    const subscription = findSubscription(uid, deps);
    return subscription === null ? answerUnknown(request) : { uid, subscription };
  };

  return new Elysia({ name: "unsubscribe", detail: { hide: true } })
    .get("/u/:token", ({ request, params }) => {
      const opened = open(request, params.token);
      if (opened instanceof Response) return opened;
      const { subscription } = opened;
      return answer(request, { kind: isUnsubscribed(subscription, deps) ? "done" : "question", about: subscription });
    })
    .post("/u/:token", async ({ request, params }) => {
      const opened = open(request, params.token);
      if (opened instanceof Response) return opened;
      const { uid, subscription } = opened;
      // A second POST writes nothing; but what the first one wrote is as durable as its answer says.
      const isDone = await deps.commit(() => isUnsubscribed(subscription, deps) || unsubscribe(uid, deps));
      if (!isDone) return answerUnknown(request);
      log.event("email.unsubscribed", { id: uid });
      return answer(request, { kind: "done", about: subscription });
    });
}
