// Finds a workspace or domain by its id, the beginning of its id, or its name.

import { isId } from "../../platform/uuid.ts";
import { CommandError } from "../framework/definition.ts";
import type { OperatorApi } from "./instance-client.ts";
import { plain } from "../framework/text.ts";

/** A shorter one would match by chance: an id begins with its time. */
const MIN_PREFIX = 8;
const MAX_SHOWN = 10;

export interface Candidate {
  id: string;
  name: string;
}

/** The id of the candidate that matches. Throws CommandError when none or several do. */
function choose(wanted: string, candidates: Iterable<Candidate>, words: { what: string; listBy: string }): string {
  const prefix = wanted.toLowerCase();
  const isPrefix = prefix.length >= MIN_PREFIX && /^[0-9a-f-]+$/.test(prefix);
  const found: Candidate[] = [];
  for (const candidate of candidates) {
    if (candidate.name === wanted || (isPrefix && candidate.id.startsWith(prefix))) found.push(candidate);
  }
  const [only] = found;
  const { what, listBy } = words;
  if (only === undefined) {
    throw new CommandError(
      `There is no ${what} ${plain(JSON.stringify(wanted))}. Give its id, at least the first ${MIN_PREFIX} characters of its id, or its exact name; ${listBy} lists them.`,
    );
  }
  if (found.length === 1) return only.id;
  const shown = found.slice(0, MAX_SHOWN).map(({ id, name }) => `  ${id}  ${plain(name)}`);
  const more = found.length > MAX_SHOWN ? [`  and ${found.length - MAX_SHOWN} more`] : [];
  throw new CommandError(
    [`${plain(JSON.stringify(wanted))} matches several ${what}s; give the id:`, ...shown, ...more].join("\n"),
  );
}

export async function findWorkspace(api: OperatorApi, wanted: string): Promise<string> {
  if (isId(wanted)) return wanted.toLowerCase();
  const all = await api.all<Candidate>("/operator/workspaces");
  return choose(wanted, all, { what: "workspace", listBy: "pombo workspace list" });
}

export async function findDomain(api: OperatorApi, wanted: string): Promise<string> {
  if (isId(wanted)) return wanted.toLowerCase();
  const all = await api.all<{ id: string; domain: string }>("/operator/domains");
  const candidates = all.map(({ id, domain }) => ({ id, name: domain }));
  // Domains are stored in lower case.
  return choose(wanted.toLowerCase(), candidates, { what: "domain", listBy: "pombo domain list" });
}
