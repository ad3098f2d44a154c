// One call to a webhook of alerts, or of the heartbeat: the address is checked as those of workspaces' webhooks are, so that
// a name that changes leads nowhere inside. Redirects are not followed. Bodies are signed as Standard Webhooks.

import { BUILD } from "../../platform/build-info.ts";
import type { Clock } from "../../platform/clock.ts";
import { toIsoTime } from "../../platform/http/times.ts";
import type { Caller, CallResult } from "../webhooks/delivery/call.ts";
import { type LookUpAddresses, parseTarget, resolveTarget, type TargetRules } from "../webhooks/delivery/target.ts";
import { buildSignatureHeaders } from "../webhooks/sign.ts";
import { type AlertItem, writeChatTexts } from "./words.ts";

export interface CallDeps {
  clock: Pick<Clock, "now">;
  caller: Pick<Caller, "call">;
  look: LookUpAddresses;
  rules: TargetRules;
}

export interface SignedBody {
  /** The same each time the same is told. */
  id: string;
  body: string;
  secret: Uint8Array;
}

const USER_AGENT = `pombo/${BUILD.version}`;

/** Why it was not taken, in a few words; null: it was, with a 2xx. `nth` try: each goes to the next address of the host. */
export async function callOnce(
  url: string,
  signed: SignedBody | null,
  { clock, caller, look, rules }: CallDeps,
  { stopping, nth }: { stopping: AbortSignal; nth: number },
): Promise<string | null> {
  const parsed = parseTarget(url, rules);
  if (parsed.kind === "fault") return `its address ${parsed.message}`;
  const reached = await resolveTarget(parsed.target, rules, look);
  if (reached.kind !== "addresses") return reached.reason;
  const headers =
    signed === null
      ? {}
      : buildSignatureHeaders({ ...signed, timestampS: Math.floor(clock.now() / 1_000) }, [signed.secret]);
  const result = await caller.call(
    {
      target: parsed.target,
      address: reached.addresses[nth % reached.addresses.length] ?? "",
      headers: { ...headers, "user-agent": USER_AGENT },
      body: signed?.body ?? null,
    },
    stopping,
  );
  return describeFailure(result, new URL(url));
}

/** Servers repeat the path that they do not know, and that of a webhook is its secret. */
function describeFailure(result: CallResult, { pathname, search }: URL): string | null {
  if (result.kind === "broken") return result.reason;
  const { status } = result;
  const secrets = [`${pathname}${search}`, pathname, search].filter((each) => each.length > 1);
  const text = secrets.reduce((shown, each) => shown.replaceAll(each, "…"), result.text);
  if (status >= 200 && status < 300) return null;
  if (status >= 300 && status < 400) return `answered ${status}: a redirect, which is not followed`;
  return `answered ${status}${text === "" ? "" : `: ${text}`}`;
}

export interface AlertBody {
  hostname: string;
  items: readonly (AlertItem & { id: string })[];
  text: string;
  /** Unix ms. */
  at: number;
}

/**
 * A Standard Webhook, and beside it what chats show: Slack, Mattermost and Telegram `text`, Discord `content`. The name of
 * the event is not in `type`, as the specification suggests: Mattermost takes that for the type of the post, and refuses
 * one that does not begin with "custom_".
 */
export function writeBody({ hostname, items, text, at }: AlertBody): string {
  const [first] = items;
  return JSON.stringify({
    event: items.length === 1 && first !== undefined ? `alert.${first.kind}` : "alert.several",
    timestamp: toIsoTime(at),
    ...writeChatTexts(text),
    // For Discord: nothing in the text calls anybody.
    allowed_mentions: { parse: [] },
    data: {
      hostname,
      alerts: items.map(({ id, kind, level, what, step, beganAt, at: toldAt }) => ({
        id,
        kind,
        level,
        what,
        step,
        since: toIsoTime(beganAt),
        at: toIsoTime(toldAt),
      })),
    },
  });
}
