import { expect, test } from "bun:test";
import { findLinks, type Operation } from "../../src/api/docs/links.ts";
import type { Members } from "../../src/api/docs/json.ts";

const operation = (method: string, path: string): Operation => ({
  method,
  path,
  value: { operationId: `${method} ${path}`, summary: "x" },
});
const ALL = [
  operation("post", "/things"),
  operation("post", "/things/batch"),
  operation("get", "/things/{id}"),
  operation("post", "/things/{id}/parts"),
  operation("delete", "/things/{id}/parts/{name}"),
  operation("get", "/thingsandmore/{id}"),
];
const made = (...names: string[]): Members => ({
  type: "object",
  properties: Object.fromEntries(names.map((name) => [name, { type: "string" }])),
});
const parametersOf = (from: Operation, data: Members) =>
  Object.fromEntries(
    Object.entries(findLinks(from, data, ALL)).map(([name, link]) => [name, (link as Members)["parameters"]]),
  );

test("what a POST made leads to the operations on it, and no further", () => {
  expect(parametersOf(operation("post", "/things"), made("id", "name"))).toEqual({
    "get /things/{id}": { id: "$response.body#/data/id" },
    "post /things/{id}/parts": { id: "$response.body#/data/id" },
  });
});

test("the first of a batch stands for all", () => {
  expect(parametersOf(operation("post", "/things/batch"), { type: "array", items: made("id") })).toMatchObject({
    "get /things/{id}": { id: "$response.body#/data/0/id" },
  });
});

test("what is under another thing is named with it", () => {
  expect(parametersOf(operation("post", "/things/{id}/parts"), made("name"))).toEqual({
    "delete /things/{id}/parts/{name}": { id: "$request.path.id", name: "$response.body#/data/name" },
  });
});

test("an answer without the name that a path takes, and a GET, lead nowhere", () => {
  expect(parametersOf(operation("post", "/things"), made("status"))).toEqual({});
  expect(parametersOf(operation("get", "/things"), made("id"))).toEqual({});
});
