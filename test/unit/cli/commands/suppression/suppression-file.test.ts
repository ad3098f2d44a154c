import { expect, test } from "bun:test";
import { type ImportLine, readImport } from "../../../../../src/cli/commands/suppression/file.ts";

const bytes = (text: string) => new TextEncoder().encode(text);

function lines(text: string | Uint8Array): ImportLine[] {
  const read = readImport(typeof text === "string" ? bytes(text) : text);
  if (read.kind === "fault") throw new Error(read.message);
  return read.lines;
}

function fault(text: string | Uint8Array): string {
  const read = readImport(typeof text === "string" ? bytes(text) : text);
  return read.kind === "fault" ? read.message : "none";
}

const MARIA = {
  address: "maria@example.com",
  channel: "email",
  reason: "complaint",
  suppressedAt: "2026-01-31T08:15:00.000Z",
};
const ROW = "maria@example.com,email,complaint,2026-01-31T08:15:00.000Z";

test.each([
  `address,channel,reason,suppressedAt\r\n${ROW}\r\n`,
  `\ufeffaddress,channel,reason,suppressedAt\n${ROW}\n`,
  'SuppressedAt , "REASON",Address,channel\n2026-01-31T08:15:00.000Z,complaint,maria@example.com,"email"',
  `${JSON.stringify(MARIA)}\r\n`,
  `\ufeff${JSON.stringify(MARIA)}`,
])("CSV in any order of columns and lines of JSON, with and without a byte order mark: %j", (text) => {
  expect(lines(text).map((line) => ("item" in line ? line.item : line))).toEqual([MARIA]);
});

test("what a column leaves empty is left out, and so are blank lines", () => {
  expect(lines("address,channel,reason\n\na@x.test,,\n  \nb@x.test,sms,manual\n")).toEqual([
    { line: 3, item: { address: "a@x.test" } },
    { line: 5, item: { address: "b@x.test", channel: "sms", reason: "manual" } },
  ]);
});

test("an address a line needs no header", () => {
  expect(lines('\n a@x.test \r\n"b c"@x.test\n')).toEqual([
    { line: 2, item: { address: "a@x.test" } },
    { line: 3, fault: expect.stringContaining("quotation mark") },
  ]);
  expect(lines("a@x.test\nb@x.test,email\n")).toEqual([
    { line: 1, item: { address: "a@x.test" } },
    { line: 2, fault: "it has 2 values where an address is expected" },
  ]);
  expect(lines('"""b c""@x.test"\n')).toEqual([{ line: 1, item: { address: '"b c"@x.test' } }]);
});

test("faulty lines of JSON are known by their number", () => {
  expect(lines('{"address":"a@x.test"}\n{"address":\n[]\nnull\n\n{"x":1}')).toEqual([
    { line: 1, item: { address: "a@x.test" } },
    { line: 2, fault: "it is not JSON" },
    { line: 3, fault: "it is not a JSON object" },
    { line: 4, fault: "it is not a JSON object" },
    { line: 6, item: { x: 1 } },
  ]);
});

test.each(["email", "E-Mail", "email_address", "recipient"])(
  "a file of another service may say %s for the address",
  (name) => {
    expect(lines(`reason,${name}\nmanual,a@x.test\n`)).toEqual([
      { line: 2, item: { reason: "manual", address: "a@x.test" } },
    ]);
    expect(lines(`${name}\na@x.test\n`)).toEqual([{ line: 2, item: { address: "a@x.test" } }]);
    expect(lines(`{"${name}": "a@x.test"}`)).toEqual([{ line: 1, item: { address: "a@x.test" } }]);
  },
);

test("bytes that are no UTF-8 make their line faulty", () => {
  const latin1 = Buffer.from("a@x.test\njo\u00e3o@x.test\n", "latin1");
  expect(lines(latin1)).toEqual([
    { line: 1, item: { address: "a@x.test" } },
    { line: 2, fault: "it holds bytes that are not UTF-8" },
  ]);
});

test("a file that cannot be understood as a whole is refused with what to do", () => {
  expect(fault(Buffer.from("\ufeffaddress\r\n", "utf16le"))).toBe("The file is UTF-16. Save it as UTF-8.");
  expect(fault("email,created\nx,y\n")).toBe(
    'line 1: there is no column "created"; there are address, channel, reason, suppressedAt, list',
  );
  expect(fault("name,created\nx,y\n")).toBe(
    "line 1: the first line must name the columns, separated by commas: address,channel,reason,suppressedAt,list, of which only address is required",
  );
  expect(fault("address;channel\nx;y\n")).toContain("separated by commas");
  expect(fault("\naddress,when\n")).toBe(
    'line 2: there is no column "when"; there are address, channel, reason, suppressedAt, list',
  );
  expect(fault("address,Address\n")).toBe("line 1: a column is named twice");
  expect(fault('address\n"a@x.test\nb@x.test\n')).toBe("line 2: a quotation mark is opened and never closed");
});

test("a line with too few or too many values is faulty", () => {
  expect(lines("address,channel\na@x.test\nb@x.test,email,manual\n")).toEqual([
    { line: 2, fault: "it has 1 value where address,channel is expected" },
    { line: 3, fault: "it has 3 values where address,channel is expected" },
  ]);
});

test("an empty file has no lines", () => {
  for (const text of ["", "\n\n", "address\n", "\ufeff"]) expect(lines(text)).toEqual([]);
});
