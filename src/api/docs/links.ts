import { isMembers, type Members } from "./json.ts";

/** One operation of the document and where it is. */
export interface Operation {
  method: string;
  path: string;
  value: Members;
}

/**
 * The links of a POST's answer: the path of another operation names what it created, as GET /emails/{id} has the `id` of
 * POST /emails. `data` is the schema of its answer's data.
 */
export function findLinks(from: Operation, data: Members, all: Operation[]): Members {
  if (from.method !== "post") return {};
  const base = from.path.replace(/\/batch$/, "");
  const item = data["type"] === "array" ? data["items"] : data;
  const place = data["type"] === "array" ? "#/data/0" : "#/data";
  const made = isMembers(item) && isMembers(item["properties"]) ? Object.keys(item["properties"]) : [];
  const links: Members = {};
  for (const { path, value } of all) {
    const { operationId } = value;
    const name = path.startsWith(`${base}/{`) ? (/^\{([^}]+)\}/.exec(path.slice(base.length + 1))?.[1] ?? null) : null;
    if (name === null || !made.includes(name) || typeof operationId !== "string") continue;
    // A longer path has parameters that are not in the answer.
    if (path.slice(base.length).split("{").length > 2) continue;
    const parameters: Members = { [name]: `$response.body${place}/${name}` };
    for (const [, around = ""] of base.matchAll(/\{([^}]+)\}/g)) parameters[around] = `$request.path.${around}`;
    links[operationId] = { operationId, parameters, description: value["summary"] ?? operationId };
  }
  return links;
}
