// `pombo suppression …`: suppressed recipients, and held bounces that wait for the operator's decision.

import { CSV_HEADER_LINE, toCsvLine } from "../../../modules/suppressions/csv.ts";
import type { HeldSuppression } from "../../../modules/suppressions/operator-schema.ts";
import type { Suppression } from "../../../modules/suppressions/schema.ts";
import { UsageError } from "../../framework/definition.ts";
import { findWorkspace } from "../../client/find.ts";
import { list, type OperatorCommand, record, type Shown, type Work } from "../../client/operator-command.ts";
import { importSuppressions } from "./import.ts";
import type { Column } from "../../framework/table.ts";
import { count, jsonLine } from "../../framework/text.ts";

type SuppressionEntry = typeof Suppression.static;
type Held = typeof HeldSuppression.static;

const COLUMNS: Column<SuppressionEntry>[] = [
  { title: "ADDRESS", of: ({ address }) => address },
  { title: "CHANNEL", of: ({ channel }) => channel },
  { title: "REASON", of: ({ reason }) => reason },
  { title: "SUPPRESSED", of: ({ suppressedAt }) => suppressedAt, kind: "time" },
  { title: "LIST", of: ({ list: name }) => name },
];

const HELD_COLUMNS: Column<Held>[] = [
  { title: "ADDRESS", of: ({ address }) => address },
  { title: "SITE", of: ({ site }) => site },
  { title: "REASON", of: ({ reason }) => reason },
  { title: "CHANNEL", of: ({ channel }) => channel },
  { title: "HELD", of: ({ heldAt }) => heldAt, kind: "time" },
  { title: "WORKSPACE", of: ({ workspaceId }) => workspaceId, kind: "id" },
];

const CHANNEL = { value: "CHANNEL", about: "only email, or only sms" };

export const SUPPRESSION_COMMANDS: OperatorCommand[] = [
  {
    name: "suppression list",
    arguments: ["WORKSPACE"],
    options: { channel: CHANNEL },
    about: "List the recipients that get no messages from a workspace, newest first.",
    async run({ api, args }) {
      const id = await findWorkspace(api, args.argument("WORKSPACE"));
      const channel = args.text("channel");
      const all = await api.all<SuppressionEntry>(`/operator/workspaces/${id}/suppressions`, { channel });
      return list(all, COLUMNS, "Nobody is suppressed. Add a list with pombo suppression import WORKSPACE FILE.");
    },
  },
  {
    name: "suppression import",
    arguments: ["WORKSPACE", "FILE"],
    options: { "skip-invalid": { about: "skip faulty lines, instead of importing nothing" } },
    about:
      "Suppress the addresses of a file (- reads standard input): CSV with the header address,channel,reason,suppressedAt,list, " +
      "of which only the first is required; lines of JSON with the same members; or one address a line.",
    run: importSuppressions,
  },
  {
    name: "suppression export",
    arguments: ["WORKSPACE"],
    options: { channel: CHANNEL },
    about: "Write a workspace's suppressions as CSV, or with --json as lines of JSON; import reads both.",
    run: exportSuppressions,
  },
  {
    name: "suppression held",
    arguments: ["[WORKSPACE]"],
    options: {
      apply: { about: "suppress the addresses: they are bad" },
      drop: { about: "discard the bounces: the site refused everybody, and the addresses are good" },
      site: { value: "SITE", about: "only those of one receiving site" },
      workspace: { value: "WORKSPACE", about: "only those of one workspace" },
      all: { about: "all of them; --apply and --drop need --all, --workspace or --site" },
    },
    about:
      "List hard bounces that suppressed nobody, because their site refused recipients in masses. Decide on them with --apply or --drop.",
    run: held,
  },
];

async function held(work: Work): Promise<Shown> {
  const { api, args } = work;
  const verb = readVerb(work);
  const [named, option] = [args.optional("WORKSPACE"), args.text("workspace")];
  if (named !== undefined && option !== undefined) throw new UsageError("The workspace is given twice.");
  const wanted = named ?? option;
  const site = args.text("site");
  const isAll = args.isSet("all");
  if (isAll && (wanted !== undefined || site !== undefined))
    throw new UsageError("--all cannot be combined with a workspace or --site.");
  if (verb !== null && !isAll && wanted === undefined && site === undefined)
    throw new UsageError(`--${verb} needs --workspace, --site or --all.`);
  const workspaceId = wanted === undefined ? undefined : await findWorkspace(api, wanted);
  if (verb === null) {
    const all = await api.all<Held>("/operator/held-suppressions", { workspaceId, site });
    const old = all.filter(({ hint }) => hint !== undefined).length;
    if (old > 0 && !work.isJson)
      work.terminal.err(
        `${count(old, "of these is", "of these are")} older than 30 days: decide with --apply or --drop.`,
      );
    return list(all, HELD_COLUMNS, "No bounces are held.");
  }
  const body = { workspaceId, site, all: isAll || undefined };
  const done = await api.call<{ applied?: number; dropped?: number }>(
    "POST",
    `/operator/held-suppressions/${verb}`,
    body,
  );
  const words =
    verb === "apply"
      ? `${count(done.applied ?? 0, "address is", "addresses are")} now suppressed.`
      : `${count(done.dropped ?? 0, "held bounce")} dropped: their addresses are not suppressed.`;
  return record(done, words);
}

function readVerb({ args }: Work): "apply" | "drop" | null {
  const [isApply, isDrop] = [args.isSet("apply"), args.isSet("drop")];
  if (isApply && isDrop) throw new UsageError("--apply and --drop cannot be combined.");
  return isApply ? "apply" : isDrop ? "drop" : null;
}

/** `pombo suppression export`: page by page, and no faster than the reader takes them. */
async function exportSuppressions({ api, args, terminal, isJson }: Work): Promise<Shown> {
  const id = await findWorkspace(api, args.argument("WORKSPACE"));
  // RFC 4180: a line ends with CRLF. The terminal adds the LF.
  const line = (text: string) => `${text}\r`;
  const pages = api.pages<SuppressionEntry>(`/operator/workspaces/${id}/suppressions`, {
    channel: args.text("channel"),
  });
  let isFirst = true;
  for await (const page of pages) {
    const lines = page.map((each) => (isJson ? jsonLine(each) : line(toCsvLine(each))));
    if (isFirst && !isJson) lines.unshift(line(CSV_HEADER_LINE));
    isFirst = false;
    if (lines.length > 0) terminal.out(lines.join("\n"));
    await terminal.flushed();
  }
  return { kind: "shown" };
}
