// Importing suppressions: a file or pasted addresses, and a report of what became of each line.

import {
  ApiError,
  Button,
  call,
  Dialog,
  ErrorNotice,
  Form,
  formatNumber,
  invalidate,
  Notice,
  t,
  useForm,
  useId,
  useRef,
  useState,
} from "../../../kit.ts";
import { type ImportItem, type ImportLine, readSuppressions } from "./read-lines.ts";
import { SUPPRESSIONS } from "./dialogs.tsx";

/** The API's own limit. */
const BATCH = 500;
const MAX_BYTES = 20_000_000;
const MAX_SHOWN_FAULTS = 50;

type Item = Extract<ImportLine, { item: ImportItem }>;

interface Fault {
  line: number;
  message: string;
}

interface Report {
  imported: number;
  alreadyThere: number;
  faults: Fault[];
  /** Lines that were looked at. */
  done: number;
  /** Where it stopped before its end. */
  stop: Stop | null;
}

interface Stop {
  /** The first line that was not imported, as far as is known. */
  line: number;
  /** The last one of a batch that was sent and not answered: nobody knows whether it was imported. */
  unknownTo: number | null;
  /** Null: somebody stopped it. */
  error: ApiError | null;
}

export function ImportDialog({ close }: { close: () => void }) {
  const words = t().suppressions;
  const [file, setFile] = useState<File | null>(null);
  const [wrong, setWrong] = useState<string | null>(null);
  const [report, setReport] = useState<Report | null>(null);
  const [all, setAll] = useState(0);
  const [fileId, textId] = [useId(), useId()];
  const stopping = useRef(new AbortController());
  const form = useForm(async ({ addresses = "" }) => {
    setWrong(null);
    if (file !== null && file.size > MAX_BYTES) return setWrong(words.importLarge);
    const lines = readSuppressions(file === null ? addresses : await file.text());
    if (lines === null) return setWrong(words.importColumns);
    if (lines.length === 0) return setWrong(words.importNothing);
    setAll(lines.length);
    await importLines(lines, setReport, stopping.current.signal);
  });
  const isDone = report !== null && !form.isBusy;
  if (isDone)
    return (
      <Dialog title={words.reportTitle} close={close} isFirm>
        <ReportView report={report} />
        <div class="form-actions">
          <Button look="primary" onClick={close}>
            {t().common.close}
          </Button>
        </div>
      </Dialog>
    );
  return (
    <Dialog title={words.importTitle} close={close} isFirm={form.isBusy}>
      <Form
        state={form}
        action={words.import}
        cancel={form.isBusy ? () => stopping.current.abort() : close}
        cancelWords={form.isBusy ? words.importStop : undefined}
      >
        <p>{words.importText}</p>
        <div class="field">
          <label htmlFor={fileId}>{words.importFile}</label>
          <input
            id={fileId}
            class="input"
            type="file"
            accept=".csv,.txt,text/csv,text/plain"
            aria-describedby={`${fileId}-hint`}
            onChange={(event) => setFile(event.currentTarget.files?.[0] ?? null)}
          />
          <p class="hint" id={`${fileId}-hint`}>
            {words.importFileHint}
          </p>
        </div>
        <div class="field">
          <label htmlFor={textId}>{words.importPasted}</label>
          <textarea id={textId} name="addresses" class="input" rows={6} spellcheck={false} />
        </div>
        {wrong !== null && (
          <Notice tone="bad">
            <p>{wrong}</p>
          </Notice>
        )}
        {form.isBusy && report !== null && (
          <p role="status">{words.importRunning(formatNumber(report.done), formatNumber(all))}</p>
        )}
      </Form>
    </Dialog>
  );
}

function ReportView({ report: { imported, alreadyThere, faults, stop } }: { report: Report }) {
  const words = t().suppressions;
  const shown = faults.slice(0, MAX_SHOWN_FAULTS);
  return (
    <div class="prose" role="status">
      {stop?.error && <ErrorNotice error={stop.error} />}
      {stop !== null && (
        <Notice tone="slow">
          <p>
            {stop.unknownTo === null
              ? words.reportStopped(formatNumber(stop.line))
              : words.reportUnknown(formatNumber(stop.line), formatNumber(stop.unknownTo))}
          </p>
          <p>{words.reportAgain}</p>
        </Notice>
      )}
      <p>{words.reportImported(formatNumber(imported))}</p>
      {alreadyThere > 0 && <p>{words.reportThere(formatNumber(alreadyThere))}</p>}
      {faults.length > 0 && <p>{words.reportFaults(formatNumber(faults.length))}</p>}
      {shown.length > 0 && (
        <ul>
          {shown.map(({ line, message }) => (
            <li key={`${line} ${message}`}>
              {words.reportLine(formatNumber(line))} <bdi>{message}</bdi>
            </li>
          ))}
        </ul>
      )}
      {faults.length > shown.length && <p>{words.reportMore(formatNumber(faults.length - shown.length))}</p>}
    </div>
  );
}

/** What was imported before it stops stays. */
async function importLines(lines: ImportLine[], tell: (report: Report) => void, stopping: AbortSignal): Promise<void> {
  const words = t().suppressions;
  const sum: Report = { imported: 0, alreadyThere: 0, faults: [], done: 0, stop: null };
  const items: Item[] = [];
  for (const line of lines) {
    if ("item" in line) items.push(line);
    else sum.faults.push({ line: line.line, message: line.fault === "quote" ? words.faultQuote : words.faultValues });
  }
  sum.done = sum.faults.length;
  const report = () => tell({ ...sum, faults: sum.faults.toSorted((a, b) => a.line - b.line) });
  report();
  for (let at = 0; at < items.length && sum.stop === null; at += BATCH) {
    const batch = items.slice(at, at + BATCH);
    sum.stop = await tryBatch(batch, sum, stopping);
    if (sum.stop === null) sum.done += batch.length;
    report();
  }
  invalidate(SUPPRESSIONS);
}

/** Null: it was imported. */
async function tryBatch(batch: Item[], sum: Report, stopping: AbortSignal): Promise<Stop | null> {
  const [first, last] = [batch[0]?.line ?? 0, batch.at(-1)?.line ?? 0];
  if (stopping.aborted) return { line: first, unknownTo: null, error: null };
  try {
    await importBatch(batch, sum);
    return null;
  } catch (error) {
    if (!(error instanceof ApiError)) throw error;
    return { line: first, unknownTo: isAnswer(error) ? null : last, error };
  }
}

/** The server's own word that it did nothing; without it the batch may be there. */
function isAnswer({ status }: ApiError): boolean {
  return status >= 400 && status < 500;
}

/** A batch is imported whole or not at all: it is sent again without the lines that the server refused. */
async function importBatch(batch: Item[], sum: Report): Promise<void> {
  if (batch.length === 0) return;
  try {
    const body = { suppressions: batch.map(({ item }) => item) };
    const { data } = await call("POST /api/v1/suppressions/import", { body });
    sum.imported += data.imported;
    sum.alreadyThere += data.alreadyThere;
  } catch (error) {
    if (!(error instanceof ApiError)) throw error;
    if (error.status === 429 && error.retryAfterS !== null) {
      await wait(error.retryAfterS);
      return importBatch(batch, sum);
    }
    const faults = findFaults(error, batch);
    if (faults === null) throw error;
    sum.faults.push(...faults.values());
    await importBatch(
      batch.filter(({ line }) => !faults.has(line)),
      sum,
    );
  }
}

/** By their lines; null: the error is not about lines. */
function findFaults({ items }: ApiError, batch: Item[]): Map<number, Fault> | null {
  const faults = new Map<number, Fault>();
  for (const { path, message } of items) {
    const index = /^suppressions\[(\d+)\]/.exec(path ?? "")?.[1];
    const line = index === undefined ? undefined : batch[Number(index)]?.line;
    if (line === undefined) return null;
    if (!faults.has(line)) faults.set(line, { line, message });
  }
  return faults.size > 0 ? faults : null;
}

function wait(seconds: number): Promise<void> {
  return new Promise((resolve) => setTimeout(resolve, seconds * 1_000));
}
