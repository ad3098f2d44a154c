import { expect, test } from "bun:test";
import {
  type GivenContent,
  prepareContent,
  type StoredBody,
  unpackBody,
} from "../../../../../src/modules/emails/content/body.ts";
import { createPreparer } from "../../../../../src/modules/emails/content/prepare-thread.ts";
import {
  answerCalls,
  type Calls,
  ThreadClient,
  type ThreadPort,
} from "../../../../../src/platform/worker-threads/worker-thread.ts";

const LONG = { html: "<p>Olá</p>".repeat(50_000), text: "Olá" };
const SHORT = { html: "<p>Olá</p>", text: "Olá" };

function lineThat(does: "answers" | "dies") {
  const seen: Calls[] = [];
  const line = new ThreadClient<GivenContent, StoredBody>({
    open: () => {
      const listeners: Record<string, (event: never) => void> = {};
      const port: ThreadPort = {
        postMessage(message) {
          seen.push(message);
          void answerCalls(message, prepareContent).then((answers) => {
            if (does === "dies") listeners["error"]?.(new Event("error") as never);
            else listeners["message"]?.({ data: structuredClone(answers) } as never);
          });
        },
        addEventListener: (type: string, listener: (event: never) => void) => (listeners[type] = listener),
        terminate: () => undefined,
        unref: () => undefined,
      };
      return port;
    },
    report: () => undefined,
  });
  return { line, seen };
}

test("a short email is prepared here, a long one on the thread, with the same result", async () => {
  const { line, seen } = lineThat("answers");
  const prepare = createPreparer(line);
  expect((await prepare([SHORT])).map(unpackBody)).toEqual([SHORT]);
  expect(seen).toHaveLength(0);
  expect((await prepare([LONG])).map(unpackBody)).toEqual([LONG]);
  expect(seen).toHaveLength(1);
});

test("many short ones of one turn go to the thread", async () => {
  const { line, seen } = lineThat("answers");
  const prepare = createPreparer(line);
  const email = { html: "<p>Olá</p>".repeat(1_000), text: "Olá" };
  const made = await Promise.all(Array.from({ length: 60 }, () => prepare([email])));
  expect(made.flat().map(unpackBody)).toEqual(Array.from({ length: 60 }, () => email));
  expect(seen.length).toBeGreaterThan(0);
});

test("of long ones the thread is given no more than it needs at once", async () => {
  const { line, seen } = lineThat("answers");
  const long = { html: "<p>Olá</p>".repeat(80_000), text: "Olá" };
  const brief = { html: "<p>Olá</p>".repeat(4_000), text: "Olá" };
  const emails = [...Array.from({ length: 3 }, () => long), ...Array.from({ length: 20 }, () => brief)];
  expect((await createPreparer(line)(emails)).map(unpackBody)).toEqual(emails);
  expect(seen.map(({ inputs }) => inputs.length)).toEqual([1, 1, 1, 6, 6, 6, 2]);
});

test("when the thread dies the email is prepared here", async () => {
  const { line } = lineThat("dies");
  expect((await createPreparer(line)([LONG, LONG])).map(unpackBody)).toEqual([LONG, LONG]);
});

test("a missing text is made from the html, an empty one is none", async () => {
  const prepare = createPreparer(lineThat("answers").line);
  const made = await prepare([
    { html: "<p>Olá</p>", text: undefined },
    { html: "<p>Olá</p>", text: "" },
    { html: "", text: "Olá" },
  ]);
  expect(made.map(unpackBody)).toEqual([
    { html: "<p>Olá</p>", text: "Olá" },
    { html: "<p>Olá</p>", text: null },
    { html: null, text: "Olá" },
  ]);
});
