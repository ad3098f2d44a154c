// Addresses that people paste or choose as a file.

import { expect, test } from "bun:test";
import { readSuppressions } from "../../../src/dashboard/web/pages/workspace/suppressions/read-lines.ts";

/** The items by their lines, or the fault of a line. */
function read(text: string) {
  return readSuppressions(text)?.map((each) => [each.line, "item" in each ? each.item : each.fault]);
}

test("one address a line; empty lines count and say nothing", () => {
  expect(read("ana@example.com\r\n\r\n  rui@example.com \r+258841234567")).toEqual([
    [1, { address: "ana@example.com" }],
    [3, { address: "rui@example.com" }],
    [4, { address: "+258841234567", channel: "sms" }],
  ]);
  expect(read("")).toEqual([]);
  expect(read("\n \n")).toEqual([]);
});

test("a header names the columns, in any order and in the words of other services; other columns are left out", () => {
  const item = { address: "ana@example.com", reason: "complaint" };
  expect(read("reason,Email,name\ncomplaint,ana@example.com,Ana")).toEqual([[2, item]] as never);
  expect(read("address\nana@example.com")).toEqual([[2, { address: "ana@example.com" }]]);
  expect(read("address,suppressedAt\nana@example.com,")).toEqual([[2, { address: "ana@example.com" }]]);
  expect(read("name,age\nAna,33")).toBeUndefined();
});

test.each([",", ";", "\t"])("columns behind %j, also with the mark of UTF-8", (separator) => {
  const text = `\ufeffaddress,list\nana@example.com,news`.replaceAll(",", separator);
  expect(read(text)).toEqual([[2, { address: "ana@example.com", list: "news" }]]);
});

test("values in quotes hold separators, quotes and lines, and those behind them keep their number", () => {
  expect(read('address,list\n"a,b@example.com","x""y"\n"a\nb@example.com",z\nrui@example.com,w')).toEqual([
    [2, { address: "a,b@example.com", list: 'x"y' }],
    [3, { address: "a\nb@example.com", list: "z" }],
    [5, { address: "rui@example.com", list: "w" }],
  ]);
});

test("a fault is that of its line only", () => {
  expect(read('address,list\nana@example.com\n"rui@example.com"x,news\nmaria@example.com,news')).toEqual([
    [2, "values"],
    [3, "quote"],
    [4, { address: "maria@example.com", list: "news" }],
  ]);
  expect(read('address\n"ana@example.com')).toEqual([[2, "quote"]]);
});

test("what an export guards against spreadsheets is itself again", () => {
  expect(read("address,channel\n'+258841234567,sms\n''=a@example.com,email")).toEqual([
    [2, { address: "+258841234567", channel: "sms" }],
    [3, { address: "'=a@example.com", channel: "email" }],
  ]);
});

test("a million lines are read in one pass", () => {
  expect(readSuppressions("a@example.com\n".repeat(1_000_000))?.length).toBe(1_000_000);
});
