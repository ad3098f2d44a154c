import { systemClock } from "../../../platform/clock.ts";
import type { InstanceStatus } from "../../../modules/operator/status-schema.ts";
import type { Option } from "../../framework/definition.ts";
import { UsageError } from "../../framework/failure.ts";
import { findWorkspace } from "../../client/find.ts";
import type { OperatorApi } from "../../client/instance-client.ts";
import type { Work } from "../../client/operator-command.ts";
import { plain } from "../../framework/text.ts";

// Which messages a command of the queue means, from its options.

export const CHOICE_OPTIONS: Readonly<Record<string, Option>> = {
  to: { value: "TO", about: "emails to a domain or an address, or texts to a number or what it begins with (+258…)" },
  workspace: { value: "WORKSPACE", about: "of this workspace alone" },
  "queued-before": {
    value: "TIME",
    about: "accepted before: 2026-11-21T12:00Z, 2026-11-21, 2h (so long ago), now or restore-point",
  },
};

export const KIND_OPTIONS: Readonly<Record<string, Option>> = {
  emails: { about: "emails alone" },
  sms: { about: "texts alone" },
  webhooks: { about: "calls to webhooks alone" },
};

export interface Choice {
  to?: string;
  workspaceId?: string;
  queuedBefore?: string;
}

/** As the API takes it; what was not given is not there. */
export async function choiceOf({ api, given }: Work): Promise<Choice> {
  const [to, workspace, before] = ["to", "workspace", "queued-before"].map((option) => given.text(option));
  return {
    ...(to === undefined ? {} : { to }),
    ...(before === undefined ? {} : { queuedBefore: await readBefore(before, api) }),
    ...(workspace === undefined ? {} : { workspaceId: await findWorkspace(api, workspace) }),
  };
}

export function kindsOf({ given }: Pick<Work, "given">): ("email" | "sms" | "webhook")[] {
  const kinds = [
    ["emails", "email"],
    ["sms", "sms"],
    ["webhooks", "webhook"],
  ] as const;
  return kinds.filter(([option]) => given.isSet(option)).map(([, kind]) => kind);
}

/** "restore point" is when the database was put back that delivery now waits for. */
async function readBefore(text: string, api: OperatorApi): Promise<string> {
  if (!/^restore[ -]point$/i.test(text)) return readTime(text, systemClock.now());
  const { paused } = await api.call<typeof InstanceStatus.static>("GET", "/operator/status");
  if (paused !== null && paused.restorePoint !== null) return paused.restorePoint;
  throw new UsageError("Delivery is not paused after a restore, so there is no restore point: give a time.");
}

/** The option, and what else it takes. */
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
    `--${option} must be a time like 2026-11-21T12:00Z, a day like 2026-11-21, 2h for so long ago${others}; not ${plain(JSON.stringify(text))}.`,
  );
}
