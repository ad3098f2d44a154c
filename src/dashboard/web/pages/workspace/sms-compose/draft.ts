// An SMS that is being written.

import type { CallOptions } from "../../../kit.ts";
import { createDrafts, type Draft } from "../parts/draft.ts";

export type SmsBody = CallOptions<"POST /api/v1/sms">["body"];

export const drafts = createDrafts(() => ({}));

/** Whether there is something to lose. */
export function isWritten({ values }: Draft): boolean {
  return ["to", "body"].some((name) => (values[name] ?? "").trim() !== "");
}

/** What the API is sent. `sender`: where none was chosen. */
export function buildBody({ values }: Draft, sender: string): SmsBody {
  const { to = "", from = sender, body = "" } = values;
  return { to: readNumber(to), from, body };
}

/** People write numbers in groups. */
export function readNumber(written: string): string {
  return written.replaceAll(/[\s().\-\u2010-\u2015]/g, "");
}
