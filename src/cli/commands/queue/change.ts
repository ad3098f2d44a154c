import { isId } from "../../../platform/uuid.ts";
import type { QueueChanged } from "../../../modules/operator/queue-schema.ts";
import { CommandError, UsageError } from "../../framework/failure.ts";
import { type Choice, choiceOf, kindsOf } from "./filter.ts";
import { record, type Shown, type Work } from "../../client/operator-command.ts";
import { count, plain } from "../../framework/text.ts";

// `pombo queue retry` and `pombo queue drop`. The instance does a part with each call, and says where to go on: a
// million messages take their time, and a terminal sees how far it is.

type Part = typeof QueueChanged.static;
type Counts = Part["changed"];
type Done = Pick<Part, "changed" | "running" | "unknown" | "ended">;

/** Ids that one call takes. */
const IDS = 100;
const KINDS = ["email", "sms", "webhook"] as const;
const NOUNS = { email: "email", sms: "text", webhook: "webhook call" };

/** What is meant, as the API takes it. */
interface Meant extends Choice {
  ids?: string[];
  kinds?: string[];
  all?: true;
}

export async function retryMessages(work: Work): Promise<Shown> {
  const { given } = work;
  const meant = await meantBy(work, "--all");
  if (given.isSet("all")) {
    if (Object.keys(meant).some((name) => name !== "kinds"))
      throw new UsageError("--all goes with nothing that says which.");
    meant.all = true;
  }
  const done = await change(work, "retry", meant);
  const what = numbered(done.changed);
  const words =
    what === null
      ? "Nothing of that waits for a later attempt."
      : `${what} ${isOne(done.changed) ? "is" : "are"} due now.`;
  return finish(done, [words]);
}

export async function dropMessages(work: Work): Promise<Shown> {
  const { given, terminal, isJson } = work;
  const meant = await meantBy(work, null);
  const reason = given.text("reason");
  const counted = await change(work, "drop", meant, { dryRun: true });
  const what = numbered(counted.changed);
  if (what === null) return finish(counted, ["Nothing of that waits: nothing was dropped."]);
  if (!given.isSet("yes")) {
    const question = `This drops ${what}: they become failed, and are not sent.`;
    if (!terminal.isInteractive || isJson)
      throw new CommandError(`${question} Nothing was dropped. To confirm, repeat the command with --yes.`, 2);
    terminal.err(`${question}${runningWords(counted.running)}\nType yes to drop them:`);
    if ((await answerOf(work)) !== "yes") throw new CommandError("Nothing was dropped.", 2);
  }
  const done = await change(work, "drop", meant, reason === undefined ? {} : { reason });
  const dropped = numbered(done.changed);
  return finish(done, [dropped === null ? "Nothing was dropped." : `${dropped} dropped.`]);
}

async function meantBy(work: Work, everything: string | null): Promise<Meant> {
  const { given } = work;
  const ids = given.several("ID");
  const wrong = ids.find((id) => !isId(id));
  if (wrong !== undefined)
    throw new UsageError(`${plain(JSON.stringify(wrong))} is no id: pombo queue list and pombo trace show them whole.`);
  const kinds = kindsOf(work);
  const options = ["to", "workspace", "queued-before"].filter((name) => given.text(name) !== undefined);
  if (ids.length > 0) {
    if (options.length + kinds.length > 0)
      throw new UsageError("Ids say exactly which messages are meant: give nothing beside them.");
    return { ids };
  }
  const isAll = everything !== null && given.isSet("all");
  if (options.length === 0 && !isAll) {
    const all = everything ?? "--queued-before now";
    throw new UsageError(
      `Say which messages are meant: ids, --to, --workspace, --queued-before, or ${all} for every one.`,
    );
  }
  return { ...(await choiceOf(work)), ...(kinds.length === 0 ? {} : { kinds }) };
}

/** Calls until all is done; what was done in all. */
async function change(work: Work, verb: "retry" | "drop", meant: Meant, more: object = {}): Promise<Done> {
  const { api, terminal } = work;
  const done: Done = { changed: none(), running: none(), unknown: [], ended: [] };
  const bodies = meant.ids === undefined ? [meant] : shares(meant.ids).map((ids) => ({ ids }));
  for (const body of bodies) {
    let cursor: string | null = null;
    do {
      const given: object = { ...body, ...more, ...(cursor === null ? {} : { cursor }) };
      const part: Part = await api.call<Part>("POST", `/operator/queue/${verb}`, given);
      for (const kind of KINDS) {
        done.changed[kind] += part.changed[kind];
        done.running[kind] += part.running[kind];
      }
      done.unknown.push(...part.unknown);
      done.ended.push(...part.ended);
      cursor = part.next;
      if (cursor !== null && terminal.isInteractive) terminal.err(`${numbered(done.changed) ?? "nothing"} so far …`);
    } while (cursor !== null);
  }
  return done;
}

/** What was done is said; ids that nothing has are a failure all the same. */
function finish(done: Done, words: string[]): Shown {
  const said = [
    ...words,
    ...[runningWords(done.running).trim()].filter((each) => each !== ""),
    ...(done.ended.length === 0 ? [] : [`Nothing waits any more of ${done.ended.map(plain).join(", ")}.`]),
    ...(done.unknown.length === 0 ? [] : [`Nothing has the id ${done.unknown.map(plain).join(", ")}.`]),
  ];
  const shown = record(done, said.join("\n"));
  return shown.kind === "words" && done.unknown.length > 0 ? { ...shown, exitCode: 1 } : shown;
}

function runningWords(running: Counts): string {
  const what = numbered(running);
  if (what === null) return "";
  return ` ${what} ${isOne(running) ? "is" : "are"} being delivered at this moment and left alone.`;
}

/** "3 emails and 1 text"; null: none. */
function numbered(counts: Counts): string | null {
  const parts = KINDS.filter((kind) => counts[kind] > 0).map((kind) => count(counts[kind], NOUNS[kind]));
  return parts.length === 0 ? null : new Intl.ListFormat("en").format(parts);
}

function isOne(counts: Counts): boolean {
  return KINDS.reduce((sum, kind) => sum + counts[kind], 0) === 1;
}

/** The first line of standard input. */
async function answerOf({ terminal }: Work): Promise<string> {
  let text = "";
  const decoder = new TextDecoder();
  for await (const bytes of terminal.input()) {
    text += decoder.decode(bytes, { stream: true });
    if (text.includes("\n")) break;
  }
  return (text.split("\n")[0] ?? "").trim().toLowerCase();
}

function shares(ids: string[]): string[][] {
  return Array.from({ length: Math.ceil(ids.length / IDS) }, (_, index) => ids.slice(index * IDS, (index + 1) * IDS));
}

function none(): Counts {
  return { email: 0, sms: 0, webhook: 0 };
}
