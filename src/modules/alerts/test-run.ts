// `pombo alert test`: sends one message to everybody who is told, whatever their way is like, and follows what becomes of it.

import type { Context } from "../../platform/context.ts";
import { SYSTEM_WORKSPACE_ID } from "../../platform/db/schema/schema.ts";
import { notFound } from "../../platform/http/errors.ts";
import { newId } from "../../platform/uuid.ts";
import type { EmailStore } from "../emails/store/store.ts";
import type { MessageStore } from "../sms/queue/message-store.ts";
import type { Notifier } from "./notifier.ts";
import type { AlertTest } from "./schema.ts";
import { KINDS, type Target } from "./targets.ts";
import { type CallDeps, callOnce, writeBody } from "./webhook-call.ts";
import { type AlertItem, writeAlert } from "./words.ts";

type Result = (typeof AlertTest.static)["results"][number];
type Outcome = Pick<Result, "outcome" | "detail">;

export interface TestRunDeps extends Pick<Context, "commit" | "random">, CallDeps {
  clock: Context["clock"];
  targets: readonly Target[];
  hostname: string;
  secretOf: (target: Target) => Uint8Array;
  send: Notifier["send"];
  emails: Pick<EmailStore, "findStateByUid">;
  messages: Pick<MessageStore, "byUid">;
  stopping: AbortSignal;
}

interface Running {
  target: Target;
  /** Of the email or SMS. */
  uid: string | null;
  /** Null: as the email or SMS stands. */
  outcome: Outcome | null;
}

const WAITING: Outcome = { outcome: "waiting", detail: null };

export interface TestRun {
  begin(): Promise<typeof AlertTest.static>;
  show(): typeof AlertTest.static;
}

export function createTestRun(deps: TestRunDeps): TestRun {
  const { clock, random, commit, targets, hostname, send, secretOf, stopping } = deps;
  let running: Running[] = [];
  const show = () => {
    const results = running.map((each) => toResult(each, deps));
    return { isDone: results.every(({ outcome }) => outcome !== "waiting"), results };
  };
  return {
    show,
    async begin() {
      if (targets.length === 0)
        throw notFound("Nobody is told of anything", "Add an [[alerts]] block to the configuration and restart pombo.");
      const now = clock.now();
      const what = "This is a test: pombo can reach you here when something is wrong.";
      const item: AlertItem = { kind: "test", level: "warning", what, step: null, beganAt: now, at: now };
      running = await commit(() =>
        targets.map((target) =>
          target.way === "webhook"
            ? { target, uid: null, outcome: WAITING }
            : { target, uid: send(target, [item]), outcome: null },
        ),
      );
      const { text } = writeAlert(hostname, [item]);
      const body = writeBody({ hostname, items: [{ ...item, id: "test" }], text, at: now });
      for (const each of running) {
        if (each.target.way !== "webhook") continue;
        const signed = { id: newId(now, random), body, secret: secretOf(each.target) };
        void callOnce(each.target.to, signed, deps, { stopping, nth: 0 }).then((failure) => {
          each.outcome = failure === null ? { outcome: "sent", detail: null } : { outcome: "failed", detail: failure };
        });
      }
      return show();
    },
  };
}

function toResult({ target, uid, outcome }: Running, deps: TestRunDeps): Result {
  const kind = KINDS[target.way];
  const found = outcome ?? (kind === "email" ? findEmail(uid, deps) : findSms(uid, deps));
  return { kind, to: target.shown, ...found, id: uid };
}

function findEmail(uid: string | null, { emails }: TestRunDeps): Outcome {
  const email = uid === null ? undefined : emails.findStateByUid(uid)?.email;
  if (email === undefined) return { outcome: "failed", detail: "It is gone" };
  // "sent": a relay has it.
  if (email.status === "delivered" || email.status === "sent") return { outcome: "sent", detail: null };
  if (email.status === "queued") return { outcome: "waiting", detail: null };
  return { outcome: "failed", detail: email.failedReason ?? email.status };
}

function findSms(uid: string | null, { messages }: TestRunDeps): Outcome {
  const message = uid === null ? undefined : messages.byUid(SYSTEM_WORKSPACE_ID, uid);
  if (message === undefined) return { outcome: "failed", detail: "It is gone" };
  const { status, failedReason } = message;
  if (status === "sent" || status === "delivered") return { outcome: "sent", detail: null };
  if (status === "queued" || status === "sending") return { outcome: "waiting", detail: failedReason };
  return { outcome: "failed", detail: failedReason ?? status };
}
