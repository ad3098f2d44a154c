// The options of `pombo queue` that choose messages.

import { systemClock } from "../../../platform/clock.ts";
import type { InstanceStatus } from "../../../modules/operator/status-schema.ts";
import { type Option, UsageError } from "../../framework/definition.ts";
import { findWorkspace } from "../../client/find.ts";
import type { OperatorApi } from "../../client/instance-client.ts";
import type { Work } from "../../client/operator-command.ts";
import { plain } from "../../framework/text.ts";

export const FILTER_OPTIONS: Readonly<Record<string, Option>> = {
  to: { value: "TO", about: "emails to a domain or an address; SMS to a number, or to numbers that begin so (+258…)" },
  workspace: { value: "WORKSPACE", about: "only those of this workspace" },
  "queued-before": {
    value: "TIME",
    about:
      "accepted before, but not scheduled for later: 2026-11-21T12:00Z, 2026-11-21, 2h (ago), now or restore-point",
  },
};

export const KIND_OPTIONS: Readonly<Record<string, Option>> = {
  emails: { about: "only emails" },
  sms: { about: "only SMS" },
  webhooks: { about: "only webhook calls" },
};

/** As the API takes it. */
export interface QueueFilter {
  to: string | undefined;
  workspaceId: string | undefined;
  queuedBefore: string | undefined;
}

export async function readFilter({ api, args }: Work): Promise<QueueFilter> {
  const [workspace, before] = [args.text("workspace"), args.text("queued-before")];
  return {
    to: args.text("to"),
    queuedBefore: before === undefined ? undefined : await readBefore(before, api),
    workspaceId: workspace === undefined ? undefined : await findWorkspace(api, workspace),
  };
}

export const KINDS = ["email", "sms", "webhook"] as const;

/** The option that chooses each kind, and its nouns. */
export const KIND_WORDS = {
  email: { option: "emails", one: "email", many: "emails" },
  sms: { option: "sms", one: "SMS", many: "SMS" },
  webhook: { option: "webhooks", one: "webhook call", many: "webhook calls" },
} as const;

export function readKinds({ args }: Pick<Work, "args">): (typeof KINDS)[number][] {
  return KINDS.filter((kind) => args.isSet(KIND_WORDS[kind].option));
}

/** The restore point is the time of the restore because of which delivery is paused. */
async function readBefore(text: string, api: OperatorApi): Promise<string> {
  if (!/^restore[ -]point$/i.test(text)) return readTime(text, systemClock.now());
  const { paused } = await api.call<typeof InstanceStatus.static>("GET", "/operator/status");
  if (paused !== null && paused.restorePoint !== null) return paused.restorePoint;
  throw new UsageError("There is no restore point, as delivery is not paused after a restore: give a time.");
}

/** The option, and its other values. */
const BEFORE: [string, string] = ["queued-before", ", now, or restore-point"];
const AGO_MS: Record<string, number> = { s: 1_000, m: 60_000, h: 3_600_000, d: 86_400_000 };
const DATE_TIME = /^(\d{4}-\d\d-\d\d)(?:[T ](\d\d:\d\d(?::\d\d(?:\.\d{1,9})?)?))?(Z|[+-]\d\d:\d\d)?$/;

/** ISO 8601; a time without an offset is UTC. Throws UsageError. */
export function readTime(text: string, now: number, [option, others]: [string, string] = BEFORE): string {
  const ago = /^(\d{1,6})([smhd])$/.exec(text);
  const [, date = "", time = "00:00", offset = "Z"] = DATE_TIME.exec(text) ?? [];
  const at =
    text === "now"
      ? now
      : ago !== null
        ? now - Number(ago[1]) * (AGO_MS[ago[2] ?? ""] ?? 0)
        : Date.parse(`${date}T${time}${offset}`);
  if (Number.isFinite(at) && at >= 0) return new Date(at).toISOString();
  throw new UsageError(
    `--${option} must be a time like 2026-11-21T12:00Z, a day like 2026-11-21, 2h for two hours ago${others}; not ${plain(JSON.stringify(text))}.`,
  );
}
