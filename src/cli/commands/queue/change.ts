// `pombo queue retry` and `pombo queue drop`. Each request changes a part of the messages and says where to go on, so
// that a terminal sees the progress over a million of them.

import type { QueueChanged } from "../../../modules/operator/queue-schema.ts";
import { readAnswer } from "../../framework/answer.ts";
import { CommandError, UsageError } from "../../framework/definition.ts";
import { KIND_WORDS, KINDS, type QueueFilter, readFilter, readKinds } from "./filter.ts";
import { findMessage } from "../../client/find.ts";
import { toBatches } from "../../client/instance-client.ts";
import { record, type Shown, type Work } from "../../client/operator-command.ts";
import { count, plain } from "../../framework/text.ts";

type Part = typeof QueueChanged.static;
type Counts = Part["changed"];
type Done = Pick<Part, "changed" | "running" | "unknown" | "ended">;

const MAX_IDS = 100;

/** The chosen messages, as the API takes them. */
type Selection = { ids: string[] } | (QueueFilter & { kinds: string[] | undefined; all: true | undefined });

export async function retryMessages(work: Work): Promise<Shown> {
  const done = await change(work, "retry", await readSelection(work, "--all"));
  const what = formatCounts(done.changed);
  const words =
    what === null
      ? "No such message waits for a later attempt."
      : `${what} ${isOne(done.changed) ? "is" : "are"} due now.`;
  return finish(done, [words]);
}

export async function dropMessages(work: Work): Promise<Shown> {
  const { args, terminal, isJson } = work;
  const selection = await readSelection(work, null);
  const counted = await change(work, "drop", selection, { dryRun: true });
  const what = formatCounts(counted.changed);
  if (what === null) return finish(counted, ["No such message waits: nothing was dropped."]);
  if (!args.isSet("yes")) {
    const question = `This drops ${what}: they will not be sent, and their status becomes failed.`;
    if (!terminal.isInteractive || isJson)
      throw new CommandError(`${question} Nothing was dropped. To confirm, repeat the command with --yes.`, 2);
    terminal.err(`${question}${formatRunning(counted.running)}\nType yes to drop them:`);
    if ((await readAnswer(terminal)) !== "yes") throw new CommandError("Nothing was dropped.", 2);
  }
  const done = await change(work, "drop", selection, { reason: args.text("reason") });
  const dropped = formatCounts(done.changed);
  return finish(done, [dropped === null ? "Nothing was dropped." : `${dropped} dropped.`]);
}

/** `allOption`: the option that chooses every message, null: there is none. */
async function readSelection(work: Work, allOption: "--all" | null): Promise<Selection> {
  const { args } = work;
  const ids = args.several("ID");
  const kinds = readKinds(work);
  const options = ["to", "workspace", "queued-before"].filter((name) => args.text(name) !== undefined);
  const isAll = allOption !== null && args.isSet("all");
  if (ids.length > 0) {
    if (options.length + kinds.length > 0 || isAll)
      throw new UsageError("Ids cannot be combined with other options that choose messages.");
    return { ids: await Promise.all(ids.map((id) => findMessage(work.api, id))) };
  }
  if (isAll && options.length > 0)
    throw new UsageError("--all cannot be combined with --to, --workspace or --queued-before.");
  if (options.length === 0 && !isAll)
    throw new UsageError(
      `Choose messages by ids, --to, --workspace or --queued-before; ${allOption ?? "--queued-before now"} means all.`,
    );
  return { ...(await readFilter(work)), kinds: kinds.length === 0 ? undefined : kinds, all: isAll || undefined };
}

/** Sends requests until all is done, and adds up their answers. */
async function change(work: Work, verb: "retry" | "drop", selection: Selection, more: object = {}): Promise<Done> {
  const { api, terminal } = work;
  const done: Done = { changed: none(), running: none(), unknown: [], ended: [] };
  const bodies = "ids" in selection ? toBatches(selection.ids, MAX_IDS).map((ids) => ({ ids })) : [selection];
  for (const body of bodies) {
    let cursor: string | null = null;
    do {
      const request: object = { ...body, ...more, cursor: cursor ?? undefined };
      const part: Part = await api.call<Part>("POST", `/operator/queue/${verb}`, request);
      for (const kind of KINDS) {
        done.changed[kind] += part.changed[kind];
        done.running[kind] += part.running[kind];
      }
      done.unknown.push(...part.unknown);
      done.ended.push(...part.ended);
      cursor = part.next;
      if (cursor !== null && terminal.isInteractive)
        terminal.err(`${formatCounts(done.changed) ?? "nothing"} so far …`);
    } while (cursor !== null);
  }
  return done;
}

/** Unknown ids make it a failure, whatever else was done. */
function finish(done: Done, words: string[]): Shown {
  const lines = [
    ...words,
    ...[formatRunning(done.running).trim()].filter((each) => each !== ""),
    ...(done.ended.length === 0 ? [] : [`No longer waiting: ${done.ended.map(plain).join(", ")}.`]),
    ...(done.unknown.length === 0 ? [] : [`Unknown ids: ${done.unknown.map(plain).join(", ")}.`]),
  ];
  const shown = record(done, lines.join("\n"));
  return shown.kind === "words" && done.unknown.length > 0 ? { ...shown, exitCode: 1 } : shown;
}

function formatRunning(running: Counts): string {
  const what = formatCounts(running);
  if (what === null) return "";
  return ` ${what} ${isOne(running) ? "is" : "are"} being delivered now, and left alone.`;
}

/** "3 emails and 1 SMS"; null: none. */
function formatCounts(counts: Counts): string | null {
  const parts = KINDS.filter((kind) => counts[kind] > 0).map((kind) => {
    const { one, many } = KIND_WORDS[kind];
    return count(counts[kind], one, many);
  });
  return parts.length === 0 ? null : new Intl.ListFormat("en").format(parts);
}

function isOne(counts: Counts): boolean {
  return KINDS.reduce((sum, kind) => sum + counts[kind], 0) === 1;
}

function none(): Counts {
  return { email: 0, sms: 0, webhook: 0 };
}
