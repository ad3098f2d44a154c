// Finds a workspace, a domain, a mail or a message by its id, the beginning of its id, or its name.

import type { TraceCandidate } from "../../modules/operator/trace-schema.ts";
import type { InboxEntry } from "../../modules/inbound-mail/operator-schema.ts";
import { isId } from "../../platform/uuid.ts";
import { CommandError } from "../framework/definition.ts";
import { labelledLines, plain } from "../framework/text.ts";
import type { OperatorApi } from "./instance-client.ts";

/** A shorter one would match by chance: an id begins with its time. */
const MIN_PREFIX = 8;
const MAX_SHOWN = 10;

interface Candidate {
  id: string;
  /** Absent: it is found by its id only. */
  name?: string;
  /** Tells it from the others. */
  about: string;
}

interface Words {
  /** "workspace" */
  what: string;
  listBy: string;
}

function isIdPrefix(wanted: string): boolean {
  return wanted.length >= MIN_PREFIX && /^[0-9a-f-]+$/i.test(wanted);
}

/** The id of the candidate that matches. Throws CommandError when none or several do. */
function choose(wanted: string, all: readonly Candidate[], words: Words): string {
  const prefix = isIdPrefix(wanted) ? wanted.toLowerCase() : null;
  const found = all.filter(({ id, name }) => name === wanted || (prefix !== null && id.startsWith(prefix)));
  const [only] = found;
  const { what, listBy } = words;
  if (only === undefined) {
    const orName = all.some(({ name }) => name !== undefined) ? ", or its exact name" : "";
    throw new CommandError(
      `There is no ${what} ${plain(JSON.stringify(wanted))}. Give its id, at least the first ${MIN_PREFIX} characters of its id${orName}; ${listBy} lists them.`,
    );
  }
  if (found.length === 1) return only.id;
  throw new CommandError(
    `${plain(JSON.stringify(wanted))} matches several ${what}s; give the id:\n${formatCandidates(found)}`,
  );
}

function formatCandidates(found: readonly Candidate[]): string {
  const lines = labelledLines(found.slice(0, MAX_SHOWN).map(({ id, about }) => [id, plain(about)]));
  return found.length > MAX_SHOWN ? `${lines}\n  and ${found.length - MAX_SHOWN} more` : lines;
}

async function listWorkspaces(api: OperatorApi): Promise<Candidate[]> {
  const all = await api.all<{ id: string; name: string }>("/operator/workspaces");
  return all.map(({ id, name }) => ({ id, name, about: name }));
}

export async function findWorkspace(api: OperatorApi, wanted: string): Promise<string> {
  if (isId(wanted)) return wanted.toLowerCase();
  return choose(wanted, await listWorkspaces(api), { what: "workspace", listBy: "pombo workspace list" });
}

/** For a command that names none. Throws CommandError unless there is exactly one. */
export async function findOnlyWorkspace(api: OperatorApi): Promise<string> {
  const all = await listWorkspaces(api);
  const [only] = all;
  if (only === undefined)
    throw new CommandError("There are no workspaces yet. Create one with pombo workspace create NAME.");
  if (all.length === 1) return only.id;
  throw new CommandError(`There are several workspaces; choose one with --workspace:\n${formatCandidates(all)}`);
}

/** Of those in `all`, by address or id. */
export function findUser<User extends { id: string; email: string; name: string }>(all: User[], wanted: string): User {
  const candidates = all.map(({ id, email, name }) => ({ id, name: email, about: `${email} ${name}` }));
  // Addresses are stored in lower case.
  const id = choose(wanted.toLowerCase(), candidates, { what: "user", listBy: "pombo user list" });
  const user = all.find((each) => each.id === id);
  if (user === undefined) throw new Error("the id that was chosen is none of those to choose from");
  return user;
}

/** `workspaceId`: only a domain of this workspace. */
export async function findDomain(api: OperatorApi, wanted: string, workspaceId?: string): Promise<string> {
  if (isId(wanted)) return wanted.toLowerCase();
  const all = await api.all<{ id: string; domain: string; workspaceId: string; status: string }>("/operator/domains", {
    workspaceId,
  });
  const candidates = all.map((each) => ({
    id: each.id,
    name: each.domain,
    about: `${each.domain} of workspace ${each.workspaceId}, ${each.status}`,
  }));
  // Domains are stored in lower case.
  return choose(wanted.toLowerCase(), candidates, { what: "domain", listBy: "pombo domain list" });
}

export async function findMail(api: OperatorApi, wanted: string): Promise<string> {
  if (isId(wanted)) return wanted.toLowerCase();
  const all = await api.all<typeof InboxEntry.static>("/operator/inbox");
  const candidates = all.map(({ id, from, subject }) => ({ id, about: [from, subject].join("  ") }));
  return choose(wanted, candidates, { what: "mail", listBy: "pombo inbox" });
}

/** An email, an SMS, or an event whose calls wait. */
export async function findMessage(api: OperatorApi, wanted: string): Promise<string> {
  if (isId(wanted)) return wanted.toLowerCase();
  const all = isIdPrefix(wanted)
    ? await api.call<(typeof TraceCandidate.static)[]>("GET", `/operator/trace?find=${wanted}&events=true`)
    : [];
  const candidates = all.map(({ id, kind, status, to }) => ({ id, about: `${kind}  ${status}  ${to}` }));
  return choose(wanted, candidates, { what: "message", listBy: "pombo queue list" });
}
