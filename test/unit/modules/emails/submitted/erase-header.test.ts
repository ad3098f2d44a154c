import { expect, test } from "bun:test";
import { eraseFromHeader } from "../../../../../src/modules/emails/submitted/erase-header.ts";

const ADDRESS = "maria@example.com";
const erase = (header: string) => eraseFromHeader(header, ADDRESS);

test("the address goes with its name, and the others stay", () => {
  expect(erase('To: "Maria, da Silva" <Maria@Example.com>,\r\n\tJoao <joao@example.com>\r\n')).toBe(
    "To: Joao <joao@example.com>\r\n",
  );
  expect(erase("Cc: joao@example.com, maria@example.com, ana@example.com\r\n")).toBe(
    "Cc: joao@example.com, ana@example.com\r\n",
  );
});

test("a field that nobody is left in goes: an empty one is none", () => {
  expect(erase("To: maria@example.com\r\nSubject: a\r\n")).toBe("Subject: a\r\n");
  expect(erase("Cc: Team: maria@example.com;\r\n")).toBe("");
});

test("fields without it stay octet for octet, odd ones too", () => {
  const header = "to:  joao@example.com ,ana@example.com\r\nX-A:\r\n\tb \r\nSubject: Maria\r\nDate: x\r\n";
  expect(erase(header)).toBe(header);
});

test("another field that names it goes, however it is written; From stays", () => {
  expect(erase("X-Customer: id=MARIA@example.com\r\nX-Other: maria@example.org\r\n")).toBe(
    "X-Other: maria@example.org\r\n",
  );
  expect(erase("X-Folded: a\r\n <maria@example.com>\r\nReply-To: Maria <maria@example.com>\r\n")).toBe("");
  expect(erase("Subject: =?utf-8?Q?for_maria=40example.com?=\r\n")).toBe("");
  expect(erase("From: Maria <maria@example.com>\r\n")).toBe("From: Maria <maria@example.com>\r\n");
});

test("one that ends as another begins is not taken for it", () => {
  const header = "To: ana.maria@example.com, maria@example.com.mz\r\n";
  expect(erase(header)).not.toContain("undefined");
  expect(erase(header)).toBe(header);
});

test("names beyond ASCII of the others are still theirs, and addresses beyond ASCII too", () => {
  expect(erase("To: =?utf-8?q?Jo=C3=A3o?= <joao@example.com>, maria@example.com\r\n")).toMatch(
    /^To: =\?utf-8\?.+\?= <joao@example\.com>\r\n$/i,
  );
  expect(erase("To: joão@example.com, maria@example.com\r\n")).toBe("To: joão@example.com\r\n");
  expect(eraseFromHeader("To: joão@example.com, ana@example.com\r\n", "joão@example.com")).toBe(
    "To: ana@example.com\r\n",
  );
});

test("what a reader needs to show and thread the message stays", () => {
  const header =
    'Message-ID: <x.maria@example.com>\r\nContent-Type: multipart/mixed; boundary="maria@example.com"\r\n' +
    "References: <maria@example.com>\r\nDate: x\r\n";
  expect(erase(header)).toBe(header);
});

test("somebody else's name does not hold it either", () => {
  expect(erase('To: "for maria@example.com" <joao@example.com>\r\n')).toBe("To: joao@example.com\r\n");
  expect(erase("Reply-To: info@example.com, maria@example.com\r\n")).toBe("Reply-To: info@example.com\r\n");
});
