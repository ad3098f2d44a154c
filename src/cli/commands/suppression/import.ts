// `pombo suppression import`: reads the whole file, checks every line as the API does, then sends them in batches. It
// can be repeated: an address that is on the list already stays as it is.

import { createReadStream } from "node:fs";
import { TypeCompiler } from "@sinclair/typebox/compiler";
import { systemClock } from "../../../platform/clock.ts";
import { type ErrorItem, getErrorMessage } from "../../../platform/errors.ts";
import { validationError } from "../../../platform/http/errors.ts";
import { findFieldErrors } from "../../../platform/http/request-schemas.ts";
import { suppressionImport } from "../../../modules/suppressions/operator-schema.ts";
import { CommandError } from "../../framework/definition.ts";
import { findWorkspace } from "../../client/find.ts";
import { type OperatorApi, ApiError, formatError, toBatches } from "../../client/instance-client.ts";
import { record, type Shown, type Work } from "../../client/operator-command.ts";
import { type ImportLine, readImport } from "./file.ts";
import { count, plain } from "../../framework/text.ts";

/** The API's own limit. */
const BATCH = 500;
/** Over a million addresses. */
const MAX_BYTES = 64 * 1024 * 1024;

type Item = Extract<ImportLine, { item: unknown }>;
type Fault = Extract<ImportLine, { fault: string }>;

export async function importSuppressions(work: Work): Promise<Shown> {
  const { api, args, terminal } = work;
  // Before the first request: an instance should not wait for a person who types the addresses.
  const read = readImport(await readBytes(args.argument("FILE"), work));
  if (read.kind === "fault") throw new CommandError(`Nothing was imported: ${plain(read.message)}.`);
  const { items, faults } = check(read.lines);
  const isSkipping = args.isSet("skip-invalid");
  const report = (faulty: readonly Fault[]) => {
    if (faulty.length > 0) terminal.err(faulty.map(formatFault).join("\n"));
  };
  report(faults);
  const skipped = findLines(faults).size;
  if (skipped > 0 && !isSkipping) throw refused(skipped);
  const id = await findWorkspace(api, args.argument("WORKSPACE"));
  const sum = { imported: 0, alreadyThere: 0, skipped };
  try {
    for (const batch of toBatches(items, BATCH)) {
      const done = await send(api, id, batch, isSkipping);
      report(done.faults);
      sum.imported += done.imported;
      sum.alreadyThere += done.alreadyThere;
      sum.skipped += findLines(done.faults).size;
    }
  } catch (error) {
    if (!(error instanceof CommandError) || sum.imported === 0) throw error;
    throw new CommandError(
      `${error.message}\nBefore that, ${count(sum.imported, "address was", "addresses were")} imported. Correct this, and import the same file again.`,
    );
  }
  return record(sum, formatSum(sum));
}

/** Checks every line as the API does, so that a faulty one is known before any is sent. */
function check(lines: readonly ImportLine[]): { items: Item[]; faults: Fault[] } {
  const checker = TypeCompiler.Compile(suppressionImport(() => systemClock.now()));
  const faults: Fault[] = lines.filter((line) => "fault" in line);
  const items: Item[] = [];
  for (const batch of toBatches(
    lines.filter((line) => "item" in line),
    BATCH,
  )) {
    const body = { suppressions: batch.map(({ item }) => item) };
    const found = checker.Check(body)
      ? []
      : toFaults(validationError(findFieldErrors(checker, body)).items ?? [], batch);
    if (found === null) throw new Error("a fault of an import that belongs to no line");
    const faulty = findLines(found);
    for (const item of batch) if (!faulty.has(item.line)) items.push(item);
    for (const fault of found) faults.push(fault);
  }
  return { items, faults: faults.sort((a, b) => a.line - b.line) };
}

function findLines(faults: readonly Fault[]): Set<number> {
  return new Set(faults.map(({ line }) => line));
}

function formatFault({ line, fault }: Fault): string {
  return `line ${line}: ${plain(fault)}${fault.endsWith(".") ? "" : "."}`;
}

function formatSum({ imported, alreadyThere, skipped }: Omit<Sent, "faults"> & { skipped: number }): string {
  const there = alreadyThere === 0 ? "" : `; ${count(alreadyThere, "was", "were")} on the list already`;
  const left = skipped === 0 ? "" : `; ${count(skipped, "faulty line", "faulty lines")} skipped`;
  return `${count(imported, "address", "addresses")} imported${there}${left}.`;
}

function refused(faults: number): CommandError {
  return new CommandError(
    `Nothing was imported. Correct ${faults === 1 ? "this line" : `these ${faults.toLocaleString("en")} lines`}, or skip them with --skip-invalid.`,
  );
}

interface Sent {
  imported: number;
  alreadyThere: number;
  faults: Fault[];
}

/** Sends a batch; with `isSkipping` again without the items that the API refused. */
async function send(api: OperatorApi, id: string, items: Item[], isSkipping: boolean): Promise<Sent> {
  const none = { imported: 0, alreadyThere: 0 };
  if (items.length === 0) return { ...none, faults: [] };
  try {
    const suppressions = items.map(({ item }) => item);
    const done = await api.call<typeof none>("POST", `/operator/workspaces/${id}/suppressions/import`, {
      suppressions,
    });
    return { imported: done.imported, alreadyThere: done.alreadyThere, faults: [] };
  } catch (error) {
    const faults = error instanceof ApiError ? toFaults(error.items, items) : null;
    if (faults === null) throw error;
    if (!isSkipping) throw new CommandError(faults.map(formatFault).join("\n"));
    const faulty = findLines(faults);
    const good = items.filter(({ line }) => !faulty.has(line));
    const rest = await send(api, id, good, isSkipping);
    return { ...rest, faults: [...faults, ...rest.faults] };
  }
}

/** The faults of a batch by line; null if one belongs to no line. */
function toFaults(errors: readonly ErrorItem[], items: readonly Item[]): Fault[] | null {
  const faults: Fault[] = [];
  for (const error of errors) {
    const index = /^suppressions\[(\d+)\]/.exec(error.path ?? "")?.[1];
    const line = index === undefined ? undefined : items[Number(index)]?.line;
    if (line === undefined) return null;
    faults.push({ line, fault: formatError(error) });
  }
  return faults.length > 0 ? faults : null;
}

async function readBytes(file: string, { terminal }: Work): Promise<Uint8Array> {
  const chunks: Uint8Array[] = [];
  let length = 0;
  try {
    const source: AsyncIterable<Uint8Array> = file === "-" ? terminal.input() : createReadStream(file);
    for await (const chunk of source) {
      length += chunk.byteLength;
      if (length > MAX_BYTES) throw new CommandError(`${plain(file)} is larger than 64 MiB: split it.`);
      chunks.push(chunk);
    }
  } catch (error) {
    if (error instanceof CommandError) throw error;
    throw new CommandError(`${plain(file)} cannot be read (${plain(getErrorMessage(error))}).`);
  }
  return Buffer.concat(chunks);
}
