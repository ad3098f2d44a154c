// The dashboard's table of calls against the OpenAPI document: each is there, with the schemas that it names.

import { expect, test } from "bun:test";
import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { type Json, startInstance } from "../../support/fakes/instance.ts";

const FOLDER = join(import.meta.dir, "../../../src/dashboard/web/api");

const FILES = readdirSync(FOLDER).filter((name) => name.endsWith("calls.ts"));
const SOURCE = FILES.map((name) => readFileSync(join(FOLDER, name), "utf8")).join("\n");

/** The names in the document of the schemas that the table imports. */
async function readSchemaNames(): Promise<Map<string, string>> {
  const names = new Map<string, string>();
  for (const [, clause = "", from = ""] of SOURCE.matchAll(/import type \{([^}]*)\} from "(\.\.\/\.\.[^"]+)"/g)) {
    const module = (await import(join(FOLDER, from))) as Record<string, Json>;
    for (const each of clause.split(",").map((name) => name.trim())) {
      const [name = "", alias = name] = each.split(" as ");
      if (name !== "") names.set(alias, module[name]?.["x-name"] ?? name);
    }
  }
  return names;
}

interface Line {
  name: string;
  /** The schemas of body and data, "[]" behind a list's; null: none, or a type of another form. */
  body: string | null;
  data: string | null;
}

/** `"METHOD /path": { body: Static<typeof X>; data: Static<typeof Y>[] };`, and `List<typeof Y>` for a list by cursor. */
function readLines(names: Map<string, string>): Line[] {
  return [...SOURCE.matchAll(/^ {2}"((?:GET|POST|PUT|PATCH|DELETE) \S+)": ([^;{]+;|\{[\s\S]*?\};)/gm)].map(
    ([, name = "", type = ""]) => {
      const find = (member: string) => {
        const found = new RegExp(`\\b${member}: Static<typeof (\\w+)>(\\[\\])?`).exec(type);
        return found === null ? null : `${names.get(found[1] ?? "")}${found[2] ?? ""}`;
      };
      const list = /^List<typeof (\w+)>/.exec(type)?.[1];
      return { name, body: find("body"), data: list === undefined ? find("data") : `${names.get(list)}[]` };
    },
  );
}

const nameOf = (schema: Json): string | null => schema?.$ref?.split("/").at(-1) ?? null;

/** "Passkey[]" for a list of it. */
function nameData(document: Json, answer: Json): string | null {
  const envelope = answer.content["application/json"].schema;
  const name = nameOf(envelope);
  const { data } = (name === null ? envelope : document.components.schemas[name]).properties;
  return data.items === undefined ? nameOf(data) : `${nameOf(data.items)}[]`;
}

test("each call of the dashboard is an operation, and its types are the schemas of the document", async () => {
  await using pombo = await startInstance();
  const document = (await pombo.workspace.call("GET", "/api/v1/openapi.json", { key: null })).body;
  const lines = readLines(await readSchemaNames());
  expect(lines.length).toBeGreaterThan(20);
  const wrong = lines.flatMap(({ name, body, data }) => {
    const [method = "", path = ""] = name.split(" ");
    const operation = document.paths[path.replace(/:(\w+)/g, "{$1}")]?.[method.toLowerCase()];
    if (operation === undefined) return [`${name}: there is no such operation`];
    const status = Object.keys(operation.responses).find((code) => code.startsWith("2")) ?? "";
    const bodyThere = nameOf(operation.requestBody?.content["application/json"].schema);
    const dataThere = nameData(document, operation.responses[status]);
    return [
      ...(body !== null && body !== bodyThere ? [`${name}: the body is ${bodyThere}, not ${body}`] : []),
      ...(data !== null && data !== dataThere ? [`${name}: the data is ${dataThere}, not ${data}`] : []),
    ];
  });
  expect(wrong).toEqual([]);
});
