import { expect, test } from "bun:test";
import { mkdtempSync, rmSync, statSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { openTexts, type PhoneText } from "../../../../src/sandbox/smsc/message-store.ts";

function arrived(changes: Partial<PhoneText> = {}): PhoneText {
  const usual = { from: "Loja", to: "+258841234567", body: "Bom dia", segments: 1, encoding: "gsm7" } as const;
  return { ...usual, receivedAt: 1, direction: "in", reference: null, ...changes };
}

test("texts are listed newest first, those of one phone alone when asked, those it wrote too when asked", () => {
  const texts = openTexts(":memory:");
  texts.add(arrived({ body: "one" }));
  texts.add(arrived({ body: "other phone", to: "+258820000001" }));
  texts.add(arrived({ body: "back", from: "+258841234567", to: "84000", direction: "out" }));
  texts.add(arrived({ body: "two" }));
  const bodies = (filter: Parameters<typeof texts.list>[0]) => texts.list(filter).map(({ body }) => body);
  expect(bodies({})).toEqual(["two", "other phone", "one"]);
  expect(bodies({ phone: "+258841234567" })).toEqual(["two", "one"]);
  expect(bodies({ phone: "+258841234567", withOut: true })).toEqual(["two", "back", "one"]);
  expect(bodies({ limit: 1 })).toEqual(["two"]);
  expect(texts.list({ limit: 1 })).toEqual([{ ...arrived({ body: "two" }), id: "4" }]);
});

test("the oldest leave when there are too many, and ids are not used again after all were deleted", () => {
  const texts = openTexts(":memory:", 3);
  for (let nth = 1; nth <= 5; nth += 1) texts.add(arrived({ body: String(nth) }));
  expect(texts.list().map(({ body }) => body)).toEqual(["5", "4", "3"]);
  expect(texts.clear(0)).toBe(3);
  texts.add(arrived({ body: "again" }));
  expect(texts.list().map(({ id }) => id)).toEqual(["6"]);
});

test("a file keeps its texts, for its owner alone", () => {
  const folder = mkdtempSync(join(tmpdir(), "pombo-texts-"));
  const file = join(folder, "texts.db");
  const texts = openTexts(file);
  texts.add(arrived({ body: "<b>ã</b>\n" }));
  texts.close();
  const again = openTexts(file);
  expect(again.list().map(({ body }) => body)).toEqual(["<b>ã</b>\n"]);
  again.close();
  expect(statSync(file).mode & 0o777).toBe(0o600);
  rmSync(folder, { recursive: true });
});
