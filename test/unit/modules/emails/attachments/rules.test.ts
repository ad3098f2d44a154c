import { expect, test } from "bun:test";
import {
  chooseContentType,
  contentIdFault,
  contentTypeFault,
  filenameFault,
} from "../../../../../src/modules/emails/attachments/rules.ts";
import { attachmentHeader } from "../../../../../src/protocols/mime/attachment.ts";

const FILE = { filename: "a.pdf", contentType: "application/pdf", contentId: null };

const FILENAMES: [name: string, isGood: boolean][] = [
  ["fatura.pdf", true],
  ["Factura nº 7 – Março.pdf", true],
  ["请款单.xlsx", true],
  ["...pdf", true],
  ["a/b.pdf", false],
  ["..\\b.pdf", false],
  ["..", false],
  ["   ", false],
  ["a\r\nBcc: x@y", false],
  ["a\0.pdf", false],
  ["a\u2028.pdf", false],
  ["\u202Efdp.exe", false],
  ["a\u2066b.pdf", false],
  ["a\u007f.pdf", false],
  ["50% =? off.txt", true],
  ["=?utf-8?Q?a=2Fb?=", false],
];

test.each(FILENAMES)("the filename %j: %p", (name, isGood) => {
  expect(filenameFault(name) === null).toBe(isGood);
});

const TYPES: [type: string, isGood: boolean][] = [
  ["application/pdf", true],
  ["text/csv; charset=utf-8", true],
  ['text/calendar; method=REQUEST; charset="utf-8"', true],
  ["application/vnd.openxmlformats-officedocument.spreadsheetml.sheet", true],
  ["message/rfc822", true],
  ['text/plain ; charset="utf-8";format=flowed', true],
  ["pdf", false],
  ["", false],
  ["application/", false],
  ["application/pdf;", false],
  // The composer knows no more white space than this.
  ["text/plain;  charset=utf-8", false],
  [" text/plain ", true],
  ["application/pdf\r\nX: y", false],
  ["application/pdf; a", false],
  ['application/pdf; a="b', false],
  ["application/pdf; name=other.pdf", false],
  ["application/pdf; Name*0=other", false],
  ["multipart/mixed; boundary=x", false],
  ["Multipart/Alternative", false],
  [`text/${"x".repeat(300)}`, false],
  ["text/pläin", false],
  // A composer that could not write it would keep its email for ever.
  [" multipart/mixed", false],
  ["text/csv;  charset=utf-8", false],
  ["text/csv  ; charset=utf-8", false],
  ["text/csv; charset=utf-8  ; header=present", false],
  ['text/csv; charset="utf-8" ;header=present', true],
  [" text/csv ; charset=utf-8 ", true],
];

test.each(TYPES)("the content type %j: %p", (type, isGood) => {
  expect(contentTypeFault(type) === null).toBe(isGood);
  const compose = () => attachmentHeader({ ...FILE, contentType: chooseContentType(type, "a.pdf") }, false);
  if (isGood) expect(compose()).toContain("Content-Type: ");
});

const IDS: [id: string, isGood: boolean][] = [
  ["logo", true],
  ["logo.1@example.com", true],
  ["<logo@example.com>", false],
  ["logo@", false],
  ["lo go", false],
  ["a@b@c", false],
  ["a\r\nb", false],
  ["ü", false],
  ["x".repeat(250), true],
  ["x".repeat(251), false],
];

test.each(IDS)("the content id %j: %p", (id, isGood) => {
  expect(contentIdFault(id) === null).toBe(isGood);
  if (isGood) expect(attachmentHeader({ ...FILE, contentId: id }, true)).toContain(id);
});

test.each([
  [undefined, "fatura.PDF", "application/pdf"],
  [undefined, "logo.png", "image/png"],
  [undefined, "dados.csv", "text/csv"],
  [undefined, "semnome", "application/octet-stream"],
  [undefined, "x.constructor", "application/octet-stream"],
  [undefined, "mail.eml", "application/octet-stream"],
  ["message/rfc822", "mail.eml", "application/octet-stream"],
  ["Message/Partial; id=1", "x", "application/octet-stream"],
  [" text/csv; charset=iso-8859-1 ", "x.pdf", "text/csv; charset=iso-8859-1"],
])("the type %p of %j is sent as %j", (given, filename, sent) => {
  expect(chooseContentType(given, filename)).toBe(sent);
});

test("whatever passes can be composed", () => {
  for (const [filename] of FILENAMES.filter(([, isGood]) => isGood))
    for (const [contentType] of TYPES.filter(([, isGood]) => isGood))
      for (const [contentId] of IDS.filter(([, isGood]) => isGood)) {
        const type = chooseContentType(contentType, filename);
        expect(() => attachmentHeader({ filename, contentType: type, contentId }, true)).not.toThrow();
      }
});
