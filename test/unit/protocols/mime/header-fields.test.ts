import { expect, test } from "bun:test";
import { removeFields, splitFields, unfold } from "../../../../src/protocols/mime/header-fields.ts";

const HEADER =
  "From: a@b.test\r\nSubject :  Hello\r\n\tworld\r\n  again \r\nX-Empty:\r\nList-Unsubscribe: <x>,\r\n <y>\r\n";

test("each field has all of its lines, and together they are the header", () => {
  const fields = splitFields(HEADER);
  expect(fields.map(({ name }) => name)).toEqual(["From", "Subject", "X-Empty", "List-Unsubscribe"]);
  expect(fields.map(({ raw }) => raw).join("")).toBe(HEADER);
  expect(fields.map(unfold)).toEqual(["a@b.test", "Hello\tworld  again", "", "<x>, <y>"]);
});

test("an empty header has none", () => {
  expect(splitFields("")).toEqual([]);
});

test("fields go by their names, with all of their lines", () => {
  expect(removeFields(HEADER, /^(?:list-unsubscribe|subject)$/i)).toBe("From: a@b.test\r\nX-Empty:\r\n");
  expect(removeFields(HEADER, /^none$/)).toBe(HEADER);
});
