// The schemas of a send's mailboxes, and what its recipients may be together.

import { RECIPIENT_KINDS } from "../../../platform/db/schema/schema.ts";
import { type FieldError, hinted, oneOrMore, text } from "../../../platform/http/request-schemas.ts";
import { comparableAddress, type ParsedMailbox, parseMailbox } from "../../../protocols/mime/address.ts";
import { parseGiven, type RecipientKind } from "./mailboxes.ts";

export const MAX_ADDRESS = 255;
/** Of one email, in `to`, `cc` and `bcc` together. */
export const MAX_RECIPIENTS = 50;
export const MAX_REPLY_TO = 10;

export function addressFault(parsed: ParsedMailbox): string | null {
  if (parsed.kind === "mailbox") return null;
  return `is not a usable address: ${parsed.message.charAt(0).toLowerCase()}${parsed.message.slice(1)}`;
}

/** Servers without SMTPUTF8 would refuse every email from there (RFC 6531); the domain is written as A-labels. */
function senderFault(parsed: ParsedMailbox): string | null {
  if (parsed.kind === "fault" || !/[^\0-\x7f]/.test(parsed.mailbox.localPart)) return addressFault(parsed);
  return "must be ASCII before the @: many mail servers take nothing with another sender's address";
}

export const sender = text(
  {
    minLength: 1,
    maxLength: MAX_ADDRESS,
    description:
      "A bare address, ASCII before the @, or `Name <address>`. Its domain must be verified in the workspace.",
    examples: ["Loja <loja@example.com>"],
  },
  (value) => senderFault(parseMailbox(value)),
);

function mailboxes(description: string, examples: string[], { maxItems = MAX_RECIPIENTS, findFault = addressFault }) {
  const one = text({ minLength: 1, maxLength: MAX_ADDRESS, examples: ["maria@example.net"] }, (value) =>
    findFault(parseGiven(value)),
  );
  const list = oneOrMore(one, { maxItems, description, examples });
  return hinted(list, (value) =>
    typeof value === "string" && /@.*[,;].*@/.test(value) ? "Give several addresses as an array." : null,
  );
}

const EACH = "Each is a bare address or `Name <address>`.";

export const to = mailboxes(
  `The recipient, or an array of 1 to ${MAX_RECIPIENTS}. ${EACH} \`to\`, \`cc\` and \`bcc\` hold at most ${MAX_RECIPIENTS} together, each address once.`,
  ["maria@example.net"],
  {},
);
export const cc = mailboxes(`Further recipients, whom all see. ${EACH}`, ["Contas <contas@example.net>"], {});
export const bcc = mailboxes(`Further recipients, whom nobody sees. ${EACH}`, ["arquivo@example.net"], {});
export const replyTo = mailboxes(
  `Where answers go, up to ${MAX_REPLY_TO}. Each is a bare address or \`Name <address>\`, ASCII before the @.`,
  ["ajuda@example.com"],
  { maxItems: MAX_REPLY_TO, findFault: senderFault },
);

/** Faults of the recipients together; members that are at fault themselves are passed over. */
export function findRecipientFaults(item: Partial<Record<RecipientKind, unknown>>): FieldError[] {
  if (item.cc === undefined && item.bcc === undefined && !Array.isArray(item.to)) return [];
  const all = RECIPIENT_KINDS.flatMap((kind) => listGiven(item[kind], kind));
  if (all.length > MAX_RECIPIENTS) {
    const isOwnFault = RECIPIENT_KINDS.some((kind) => listGiven(item[kind], kind).length > MAX_RECIPIENTS);
    const message = `has ${all.length} recipients together with cc and bcc: at most ${MAX_RECIPIENTS} are allowed`;
    return isOwnFault ? [] : [{ path: ["to"], message }];
  }
  const seen = new Map<string, string>();
  return all.flatMap(({ path, given }) => {
    const parsed = typeof given === "string" ? parseGiven(given) : null;
    if (parsed?.kind !== "mailbox") return [];
    const address = comparableAddress(parsed.mailbox);
    const earlier = seen.get(address);
    if (earlier !== undefined) return [{ path, message: `is the same address as ${earlier}` }];
    seen.set(address, typeof path[1] === "number" ? `${path[0]}[${path[1]}]` : `${path[0]}`);
    return [];
  });
}

function listGiven(value: unknown, kind: RecipientKind): { path: (string | number)[]; given: unknown }[] {
  if (Array.isArray(value)) return value.map((given: unknown, index) => ({ path: [kind, index], given }));
  return value === undefined ? [] : [{ path: [kind], given: value }];
}
