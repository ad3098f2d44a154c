import { expect, test } from "bun:test";
import { createRawAnswer, type RawDeps } from "../../../../../src/modules/emails/api/raw.ts";
import type { Composed } from "../../../../../src/modules/emails/content/compose.ts";
import { packBody } from "../../../../../src/modules/emails/content/body.ts";
import type { AppError } from "../../../../../src/platform/errors.ts";

const composed = (text: string, preparedBytes: number | null = null): Composed => ({
  ...{ kind: "signed", message: Buffer.from(text), needsSmtpUtf8: false, hasEightBit: false, preparedBytes },
});

/** `files`: the ids of its attachments, null where one is kept no longer. */
function scene(answer: () => Promise<Composed>, files: (number | null)[] = []) {
  const ask = createRawAnswer({
    composer: answer,
    attachments: { listOf: () => files.map((attachmentId) => ({ attachmentId })) },
  } as unknown as RawDeps);
  const rows = (changes: { isErased?: boolean; body?: null } = {}) =>
    ({
      email: { uid: "e1", id: 1, groupId: null, isErased: changes.isErased ?? false },
      body: changes.body === null ? null : { ...packBody({ html: null, text: "a" }), mime: null },
      extra: files.length === 0 ? null : { attachmentBytes: 1 },
      groupUid: null,
    }) as unknown as Parameters<typeof ask>[0];
  return { ask, rows };
}

const codeOf = (answer: Promise<Response>) =>
  answer.then(
    ({ status }) => String(status),
    (error: unknown) => (error as AppError).code,
  );

test.each([
  ["a\r\n.\r\n", null, "a\r\n.\r\n"],
  ["..\r\n", null, "..\r\n"],
  ["..\r\na\r\n...\r\n..x\r\n", 10, ".\r\na\r\n..\r\n.x\r\n"],
  ["a.\r\nb..c\r\n", 10, "a.\r\nb..c\r\n"],
  ["", 10, ""],
])("%j, prepared: %p, is answered without what sending adds", async (text, preparedBytes, expected) => {
  const { ask, rows } = scene(() => Promise.resolve(composed(text, preparedBytes)));
  const response = await ask(rows());
  expect([await response.text(), response.headers.get("content-type")]).toEqual([expected, "message/rfc822"]);
});

test("without its content, erased, or with a file that is kept no longer there is none", async () => {
  const whole = () => Promise.resolve(composed("a"));
  const { ask, rows } = scene(whole);
  expect(await codeOf(ask(rows({ body: null })))).toBe("NOT_FOUND");
  expect(await codeOf(ask(rows({ isErased: true })))).toBe("NOT_FOUND");
  const lost = scene(whole, [1, null]);
  expect(await codeOf(lost.ask(lost.rows()))).toBe("NOT_FOUND");
  const kept = scene(whole, [1, 2]);
  expect(await codeOf(kept.ask(kept.rows()))).toBe("200");
});

test("two at once, of which each makes room for the next, also when it fails", async () => {
  const held = [Promise.withResolvers<Composed>(), Promise.withResolvers<Composed>()];
  let next = 0;
  const { ask, rows } = scene(() => held[next++]?.promise ?? Promise.resolve(composed("a")));
  const [first, second] = [ask(rows()), ask(rows())];
  expect(await codeOf(ask(rows()))).toBe("UNAVAILABLE");
  held[0]?.resolve(composed("a"));
  expect(await codeOf(first)).toBe("200");
  held[1]?.reject(new Error("no memory"));
  await expect(second).rejects.toThrow("no memory");
  expect([await codeOf(ask(rows())), await codeOf(ask(rows()))]).toEqual(["200", "200"]);
});
