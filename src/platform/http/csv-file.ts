// A list as a CSV file, written as fast as its reader takes it.

/** RFC 4180: a line ends with CRLF. */
const CSV_LINE_END = "\r\n";

interface CsvFile {
  filename: string;
  /** The first line, without its end. */
  header: string;
  /** A few milliseconds' work, in one turn of the event loop. It may find nothing and still not be the last. */
  readPiece: () => { lines: string[]; isLast: boolean };
  /** Before each piece. Throws when whoever asked for it may not read any more: the file breaks off. */
  requireReader: () => void;
}

const encoder = new TextEncoder();

export function answerCsv(file: CsvFile): Response {
  return new Response(streamCsv(file), {
    headers: {
      "cache-control": "no-store",
      "x-content-type-options": "nosniff",
      "content-type": "text/csv; charset=utf-8; header=present",
      "content-disposition": `attachment; filename="${file.filename}"`,
    },
  });
}

function streamCsv({ header, readPiece, requireReader }: CsvFile): ReadableStream<Uint8Array> {
  let isWanted = true;
  return new ReadableStream<Uint8Array>(
    {
      start: (controller) => controller.enqueue(encoder.encode(header + CSV_LINE_END)),
      async pull(controller) {
        while (isWanted) {
          // What this server does for others comes between two pieces.
          await new Promise((resolve) => setImmediate(resolve));
          requireReader();
          const { lines, isLast } = readPiece();
          if (lines.length > 0) controller.enqueue(encoder.encode(lines.map((line) => line + CSV_LINE_END).join("")));
          if (isLast) return controller.close();
          if (lines.length > 0) return;
        }
      },
      cancel() {
        isWanted = false;
      },
    },
    { highWaterMark: 1 },
  );
}

/** As `suppressions-2026-11-24.csv`. */
export function nameCsv(list: string, now: number): string {
  return `${list}-${new Date(now).toISOString().slice(0, 10)}.csv`;
}
