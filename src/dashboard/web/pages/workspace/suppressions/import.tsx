// Importing suppressions: a file or pasted addresses, and a report of what became of each line.

import {
  ApiError,
  Button,
  call,
  Dialog,
  Form,
  formatNumber,
  invalidate,
  Notice,
  t,
  useForm,
  useId,
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
}

export function ImportDialog({ close }: { close: () => void }) {
  const words = t().suppressions;
  const [file, setFile] = useState<File | null>(null);
  const [wrong, setWrong] = useState<string | null>(null);
  const [report, setReport] = useState<Report | null>(null);
  const [all, setAll] = useState(0);
  const [fileId, textId] = [useId(), useId()];
  const form = useForm(async ({ addresses = "" }) => {
    setWrong(null);
    if (file !== null && file.size > MAX_BYTES) return setWrong(words.importLarge);
    const lines = readSuppressions(file === null ? addresses : await file.text());
    if (lines === null) return setWrong(words.importColumns);
    if (lines.length === 0) return setWrong(words.importNothing);
    setAll(lines.length);
    await importLines(lines, setReport);
  });
  const isDone = report !== null && !form.isBusy;
  if (isDone)
    return (
      <Dialog title={words.reportTitle} close={close} isFirm>
        <ReportView report={report} isCut={form.error !== null} />
        <div class="form-actions">
          <Button look="primary" onClick={close}>
            {t().common.close}
          </Button>
        </div>
      </Dialog>
    );
  return (
    <Dialog title={words.importTitle} close={close}>
      <Form state={form} action={words.import} cancel={close}>
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

function ReportView({ report: { imported, alreadyThere, faults }, isCut }: { report: Report; isCut: boolean }) {
  const words = t().suppressions;
  const shown = faults.slice(0, MAX_SHOWN_FAULTS);
  return (
    <div class="prose" role="status">
      {isCut && (
        <Notice tone="bad">
          <p>{words.reportCut}</p>
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

/** Throws ApiError where it cannot go on; what was imported before stays. */
async function importLines(lines: ImportLine[], report: (report: Report) => void): Promise<void> {
  const words = t().suppressions;
  const sum: Report = { imported: 0, alreadyThere: 0, faults: [], done: 0 };
  const items: Item[] = [];
  for (const line of lines) {
    if ("item" in line) items.push(line);
    else sum.faults.push({ line: line.line, message: line.fault === "quote" ? words.faultQuote : words.faultValues });
  }
  sum.done = sum.faults.length;
  report({ ...sum });
  for (let at = 0; at < items.length; at += BATCH) {
    const batch = items.slice(at, at + BATCH);
    await importBatch(batch, sum);
    sum.done += batch.length;
    report({ ...sum, faults: sum.faults.toSorted((a, b) => a.line - b.line) });
  }
  invalidate(SUPPRESSIONS);
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
