// The API's own document, for tests of it.

import { dereference } from "@apidevtools/swagger-parser";
import type { Instance, Json } from "../../support/fakes/instance.ts";

export type Members = Record<string, Json>;

export async function servedBy(pombo: Instance): Promise<Members> {
  return (await pombo.workspace.call("GET", "/api/v1/openapi.json", { key: null })).body;
}

/** The document with what it points to in its place. */
export async function documentOf(pombo: Instance): Promise<Members> {
  return dereference((await servedBy(pombo)) as never);
}

/** Every operation of the document, by `METHOD /path`. */
export function operationsOf(document: Members): Record<string, Members> {
  const operations: Record<string, Members> = {};
  for (const [path, methods] of Object.entries<Members>(document["paths"])) {
    for (const [method, operation] of Object.entries<Members>(methods))
      operations[`${method.toUpperCase()} ${path}`] = operation;
  }
  return operations;
}
