// Which queues and rows a request means: those to example.com, those of a workspace, and so on.

import { AppError } from "../../platform/errors.ts";
import { validationError } from "../../platform/http/errors.ts";
import type { RowFilter } from "../../platform/queue/queue-admin.ts";
import { comparableAddress, parseAddress, toAsciiDomain } from "../../protocols/mime/address.ts";
import type { WorkspaceStore } from "../workspaces/store.ts";

export const KINDS = ["email", "sms", "webhook"] as const;
export type Kind = (typeof KINDS)[number];

/** As a request gives it. */
export interface QueueFilter {
  to?: string;
  workspaceId?: string;
  queuedBefore?: string;
  kinds?: Kind[];
}

export interface ResolvedFilter {
  kinds: Kind[];
  rows: RowFilter;
  /** For the log; addresses and numbers are left out. */
  logged: Record<string, string>;
}

type Recipient = { kind: Kind } & Pick<RowFilter, "destination" | "address" | "number">;

const ANY_RECIPIENT = { destination: null, address: null, number: null };

/** Throws for a workspace that does not exist, and for a recipient that the queues asked for cannot have. */
export function resolveFilter(
  filter: QueueFilter,
  { workspaces }: { workspaces: Pick<WorkspaceStore, "byUid"> },
): ResolvedFilter {
  const { to, workspaceId, queuedBefore } = filter;
  const workspace = workspaceId === undefined ? null : workspaces.byUid(workspaceId.toLowerCase());
  if (workspace === undefined)
    throw new AppError("NOT_FOUND", "There is no workspace with this workspaceId", { field: "workspaceId" });
  const recipient = to === undefined ? null : parseRecipient(to);
  const { destination, address, number } = recipient ?? ANY_RECIPIENT;
  const before = queuedBefore === undefined ? null : Date.parse(queuedBefore);
  return {
    kinds: resolveKinds(filter, recipient),
    rows: { workspaceId: workspace?.id ?? null, destination, address, number, before },
    logged: toLogFields(filter),
  };
}

function resolveKinds({ kinds }: QueueFilter, recipient: Recipient | null): Kind[] {
  const wanted = KINDS.filter((kind) => kinds === undefined || kinds.includes(kind));
  if (recipient === null) return wanted;
  if (wanted.includes(recipient.kind)) return [recipient.kind];
  const what = recipient.kind === "sms" ? "a phone number, but kinds does not include sms" : "not a phone number";
  throw validationError([
    {
      path: ["to"],
      message: `is ${what}`,
      hint: "A domain, address or relay chooses emails, a number chooses SMS; choose webhook calls by workspaceId.",
    },
  ]);
}

/** `+25884…` a number or its beginning, `a@b.c` one recipient, else a domain, or a relay as the queue shows it. */
function parseRecipient(to: string): Recipient {
  if (/^\+\d+$/.test(to)) return { ...ANY_RECIPIENT, kind: "sms", number: to };
  const parsed = to.includes("@") ? parseAddress(to) : null;
  if (parsed?.kind === "mailbox")
    return { ...ANY_RECIPIENT, kind: "email", address: comparableAddress(parsed.mailbox) };
  return { ...ANY_RECIPIENT, kind: "email", destination: toAsciiDomain(to) ?? to.toLowerCase() };
}

function toLogFields({ to, workspaceId, queuedBefore, kinds }: QueueFilter): Record<string, string> {
  return {
    ...(to === undefined || to.includes("@") || to.startsWith("+") ? {} : { destination: to }),
    ...(workspaceId === undefined ? {} : { workspace: workspaceId.toLowerCase() }),
    ...(queuedBefore === undefined ? {} : { queuedBefore }),
    ...(kinds === undefined ? {} : { kinds: kinds.join(",") }),
  };
}
