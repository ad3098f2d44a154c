import type { HeldSuppression } from "../../../modules/suppressions/operator-schema.ts";
import type { Suppression } from "../../../modules/suppressions/schema.ts";
import { UsageError } from "../../framework/failure.ts";
import { findWorkspace } from "../../client/find.ts";
import { list, type OperatorCommand, record, type Work } from "../../client/operator-command.ts";
import { exportSuppressions } from "./export.ts";
import { importSuppressions } from "./import.ts";
import type { Column } from "../../framework/table.ts";
import { count } from "../../framework/text.ts";

// `pombo suppression …`: who gets no messages, and bounces that wait for the operator's decision.

type SuppressionEntry = typeof Suppression.static;
type Held = typeof HeldSuppression.static;

const COLUMNS: Column<SuppressionEntry>[] = [
  { title: "SUPPRESSED", of: ({ suppressedAt }) => suppressedAt, isTime: true },
  { title: "CHANNEL", of: ({ channel }) => channel },
  { title: "REASON", of: ({ reason }) => reason },
  { title: "ADDRESS", of: ({ address }) => address },
];

const HELD_COLUMNS: Column<Held>[] = [
  { title: "HELD", of: ({ heldAt }) => heldAt, isTime: true },
  { title: "WORKSPACE", of: ({ workspaceId }) => workspaceId },
  { title: "CHANNEL", of: ({ channel }) => channel },
  { title: "REASON", of: ({ reason }) => reason },
  { title: "SITE", of: ({ site }) => site },
  { title: "ADDRESS", of: ({ address }) => address },
];

const CHANNEL = { value: "CHANNEL", about: "email or sms alone" };

export const SUPPRESSION_COMMANDS: OperatorCommand[] = [
  {
    name: "suppression list",
    arguments: ["WORKSPACE"],
    options: { channel: CHANNEL },
    about: "Lists who gets no messages from a workspace, newest first.",
    async run({ api, given }) {
      const id = await findWorkspace(api, given.argument("WORKSPACE"));
      const channel = given.text("channel");
      const all = await api.all<SuppressionEntry>(`/operator/workspaces/${id}/suppressions`, { channel });
      return list(all, COLUMNS, "Nobody is suppressed. Add a list with pombo suppression import WORKSPACE FILE.");
    },
  },
  {
    name: "suppression import",
    arguments: ["WORKSPACE", "FILE"],
    options: { "skip-invalid": { about: "leave faulty lines out, instead of importing nothing" } },
    about:
      "Suppresses the addresses of a file (- reads standard input): CSV with the header address,channel,reason,suppressedAt, " +
      "of which only the first is needed; lines of JSON with the same members; or an address a line.",
    run: importSuppressions,
  },
  {
    name: "suppression export",
    arguments: ["WORKSPACE"],
    options: { channel: CHANNEL },
    about: "Writes a workspace's suppressions as CSV, or with --json as a line of JSON each; import reads both.",
    run: exportSuppressions,
  },
  {
    name: "suppression held",
    arguments: ["[WORKSPACE]"],
    options: {
      apply: { about: "suppress them: the addresses are bad" },
      drop: { about: "forget them: the receiver refused in masses, and the addresses are good" },
      site: { value: "SITE", about: "those of one receiving site alone" },
      workspace: { value: "WORKSPACE", about: "those of one workspace alone" },
      all: { about: "all of them; --apply and --drop need this, or one of the two above" },
    },
    about:
      "Lists hard bounces that have suppressed nobody, because their site refused recipients in masses; --apply or --drop decides on them.",
    run: held,
  },
];

async function held(work: Work): Promise<ReturnType<typeof record>> {
  const { api, given } = work;
  const verb = verbOf(work);
  const [named, option] = [given.optional("WORKSPACE"), given.text("workspace")];
  if (named !== undefined && option !== undefined) throw new UsageError("The workspace is named twice.");
  const wanted = named ?? option;
  const site = given.text("site");
  const isAll = given.isSet("all");
  if (isAll && (wanted !== undefined || site !== undefined))
    throw new UsageError("--all goes with neither a workspace nor --site.");
  if (verb !== null && !isAll && wanted === undefined && site === undefined)
    throw new UsageError(`--${verb} needs --workspace, --site, or --all for every one of them.`);
  const workspaceId = wanted === undefined ? undefined : await findWorkspace(api, wanted);
  if (verb === null) {
    const all = await api.all<Held>("/operator/held-suppressions", { workspaceId, site });
    const old = all.filter(({ hint }) => hint !== undefined).length;
    if (old > 0 && !work.isJson)
      work.terminal.err(
        `${count(old, "of these waits", "of these wait")} for more than 30 days: --apply or --drop decides.`,
      );
    return list(all, HELD_COLUMNS, "No bounces are held: there is nothing to decide.");
  }
  const chosen = {
    ...(workspaceId === undefined ? {} : { workspaceId }),
    ...(site === undefined ? {} : { site }),
    ...(isAll ? { all: true } : {}),
  };
  const done = await api.call<{ applied?: number; dropped?: number }>(
    "POST",
    `/operator/held-suppressions/${verb}`,
    chosen,
  );
  const words =
    verb === "apply"
      ? `${count(done.applied ?? 0, "address is", "addresses are")} suppressed now.`
      : `${count(done.dropped ?? 0, "held bounce")} dropped: their addresses are not suppressed.`;
  return record(done, words);
}

function verbOf({ given }: Work): "apply" | "drop" | null {
  const [isApply, isDrop] = [given.isSet("apply"), given.isSet("drop")];
  if (isApply && isDrop) throw new UsageError("--apply and --drop exclude each other.");
  return isApply ? "apply" : isDrop ? "drop" : null;
}
