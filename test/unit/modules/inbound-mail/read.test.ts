import { expect, test } from "bun:test";
import type { Report } from "../../../../src/protocols/dsn/parse-report.ts";
import { createReportReader, type GivenReport } from "../../../../src/modules/inbound-mail/read-report.ts";
import { ThreadGone } from "../../../../src/platform/worker-threads/worker-thread.ts";
import { mail } from "../../../support/dsn/mails.ts";

const LETTER = { bytes: mail({ text: "one" }), recipient: null };
const OTHER = { bytes: mail({ text: "two" }), recipient: null };
const REPORT: Report = { kind: "auto_reply" };

/** A thread that answers as a test says. */
function start(answer: (given: GivenReport) => Promise<Report>) {
  const told: (string | undefined)[] = [];
  const running = { now: 0, most: 0 };
  const read = createReportReader(
    {
      async call(given) {
        running.most = Math.max(running.most, ++running.now);
        try {
          return await answer(given);
        } finally {
          running.now -= 1;
        }
      },
    },
    { event: (name, fields = {}) => void told.push(`${name} ${String(fields["again"])}`), error: () => undefined },
  );
  return { read, told, running };
}

test("a message that ends the thread is put off once, and unreadable the second time; others are read", async () => {
  const { read, told } = start(({ bytes }) =>
    bytes === LETTER.bytes ? Promise.reject(new ThreadGone("it died", true)) : Promise.resolve(REPORT),
  );
  await expect(read(LETTER)).rejects.toThrow("it died");
  expect(await read(OTHER)).toEqual({ kind: "report", report: REPORT });
  expect(await read(LETTER)).toEqual({ kind: "unreadable" });
  // Also when what came of that could not be kept, and it comes once more.
  expect(await read(LETTER)).toEqual({ kind: "unreadable" });
  expect(told).toEqual(["inbound.unparsed false", "inbound.unparsed true", "inbound.unparsed true"]);
});

test("a message that the reader throws at is treated so too", async () => {
  const { read } = start(() => Promise.reject(new Error("a bug")));
  await expect(read(LETTER)).rejects.toThrow("a bug");
  expect(await read(LETTER)).toEqual({ kind: "unreadable" });
});

test("that there is no thread at the moment says nothing of a message, however often", async () => {
  const { read, told } = start(() => Promise.reject(new ThreadGone("there is no thread now", false)));
  for (let time = 0; time < 3; time++) await expect(read(LETTER)).rejects.toThrow("no thread");
  expect(told).toEqual([]);
});

test("messages are read one at a time, so that one that hangs is lost alone", async () => {
  const { read, running } = start(async ({ bytes }) => {
    await new Promise<void>((next) => setImmediate(next));
    if (bytes === OTHER.bytes) throw new ThreadGone("it does not answer", true);
    return REPORT;
  });
  const settled = await Promise.allSettled([read(LETTER), read(OTHER), read(LETTER), read(LETTER)]);
  expect(settled.map(({ status }) => status)).toEqual(["fulfilled", "rejected", "fulfilled", "fulfilled"]);
  expect(running.most).toBe(1);
});

test("what cannot be read is remembered within a bound", async () => {
  const { read } = start(() => Promise.reject(new ThreadGone("it died", true)));
  const numbered = (n: number) => ({ bytes: Buffer.from(`message ${n}`), recipient: null });
  for (let n = 0; n <= 1_000; n++) await expect(read(numbered(n))).rejects.toThrow();
  await expect(read(numbered(0))).rejects.toThrow();
  expect(await read(numbered(1_000))).toEqual({ kind: "unreadable" });
});
