import { AppError } from "../../platform/errors.ts";
import { validationError } from "../../platform/http/errors.ts";
import { comparableAddress, parseAddress, toAsciiDomain } from "../../protocols/mime/address.ts";
import type { WorkspaceStore } from "../workspaces/store.ts";
import { type RowFilter, type Kind, KINDS } from "./queue-store.ts";

// What an operator means by "those to example.com" or "those of this workspace": which queues, and which rows.

export interface QueueFilter {
  to?: string;
  workspaceId?: string;
  queuedBefore?: string;
  kinds?: Kind[];
}

export interface ResolvedFilter {
  kinds: Kind[];
  choice: RowFilter;
  /** For the log. */
  words: Record<string, string>;
}

type To = { kind: Kind } & Pick<RowFilter, "destination" | "address" | "number">;

const NOWHERE = { destination: null, address: null, number: null };

/** Throws for a workspace that is not there, and for a recipient that the queue asked for cannot have. */
export function readChoice(
  given: QueueFilter,
  { workspaces }: { workspaces: Pick<WorkspaceStore, "byUid"> },
): ResolvedFilter {
  const { to, workspaceId, queuedBefore } = given;
  const workspace = workspaceId === undefined ? null : workspaces.byUid(workspaceId.toLowerCase());
  if (workspace === undefined)
    throw new AppError("NOT_FOUND", "There is no workspace with this workspaceId", { field: "workspaceId" });
  const recipient = to === undefined ? null : readRecipient(to);
  const { destination, address, number } = recipient ?? NOWHERE;
  const before = queuedBefore === undefined ? null : Date.parse(queuedBefore);
  return {
    kinds: kindsOf(given, recipient),
    choice: { workspaceId: workspace?.id ?? null, destination, address, number, before },
    words: wordsOf(given),
  };
}

function kindsOf({ kinds }: QueueFilter, recipient: To | null): Kind[] {
  const wanted = KINDS.filter((kind) => kinds === undefined || kinds.includes(kind));
  if (recipient === null) return wanted;
  if (wanted.includes(recipient.kind)) return [recipient.kind];
  const what = recipient.kind === "sms" ? "a phone number, and no text is asked for" : "no phone number";
  throw validationError([
    {
      path: ["to"],
      message: `is ${what}`,
      hint: "A domain, address or relay chooses emails, a number texts; calls of webhooks are chosen by their workspace.",
    },
  ]);
}

/** `+25884…` a number or its beginning, `a@b.c` one recipient, else a domain, or a relay as the queue shows it. */
function readRecipient(to: string): To {
  if (/^\+\d+$/.test(to)) return { ...NOWHERE, kind: "sms", number: to };
  const parsed = to.includes("@") ? parseAddress(to) : null;
  if (parsed?.kind === "mailbox") return { ...NOWHERE, kind: "email", address: comparableAddress(parsed.mailbox) };
  return { ...NOWHERE, kind: "email", destination: toAsciiDomain(to) ?? to.toLowerCase() };
}

function wordsOf({ to, workspaceId, queuedBefore, kinds }: QueueFilter): Record<string, string> {
  return {
    ...(to === undefined || to.includes("@") || to.startsWith("+") ? {} : { destination: to }),
    ...(workspaceId === undefined ? {} : { workspace: workspaceId.toLowerCase() }),
    ...(queuedBefore === undefined ? {} : { queuedBefore }),
    ...(kinds === undefined ? {} : { kinds: kinds.join(",") }),
  };
}
