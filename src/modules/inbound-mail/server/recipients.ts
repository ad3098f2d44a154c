/**
 * Finds the destination of an inbound recipient: signed return paths of emails sent from here, the addresses that
 * unsubscribe, the one for complaints, and the two mailboxes that every mail host has. Every other address is unknown, however it is written:
 * local parts are compared as a whole, so that no percent sign, exclamation mark or quotation leads on. Pure; the email
 * of a return path is looked up by a function that is passed in.
 */
import { domainToASCII } from "node:url";
import { isLocalPart, isReturnPathOver, readReturnPath } from "../../../protocols/dsn/return-path.ts";
import { isGenuine } from "../../../protocols/dsn/signed-token.ts";
import type { Destination } from "../inbound-message.ts";

/** Why an address is no recipient. The client gets the same reply for all. */
export type RecipientRefusal =
  /** At a host that is not ours: an attempt at relaying, or a misdirected message. */
  | "foreign"
  /** Nobody's address at a host of ours. */
  | "unknown"
  /** A return path that was not made here for this email. */
  | "forged"
  /** A return path whose time is over. */
  | "expired";

export interface SentEmail {
  /** In the form compared (comparableAddress). */
  recipientAddress: string;
  /** The whole return path as it was fixed when the email was accepted. */
  returnPath: string;
  /** Its recipient was erased, and `recipientAddress` is nobody's. */
  isErased: boolean;
  /** Null: it was sent at once. */
  sendAt: number | null;
}

export interface RouteDeps {
  hostname: string;
  bounceHost: string;
  returnPathKey: Uint8Array;
  /** The email that a local part unsubscribes from; null: it was not made here for that. */
  readUnsubscribe: (localPart: string) => string | null;
  /** By the id; undefined when there is no such email. May throw, and so does `route` then. */
  find: (emailUid: string) => SentEmail | undefined;
}

/** RFC 2142 §2, §5. */
const MAILBOXES = ["postmaster", "abuse"] as const;
const COMPLAINTS = "fbl";

/** The destination of mail to `address`, as RCPT names it; `now` in Unix ms. */
export function route(address: string, deps: RouteDeps, now: number): Destination | RecipientRefusal {
  const at = address.lastIndexOf("@");
  // RFC 5321 §4.5.1: postmaster may stand without a domain.
  const local = (at < 0 ? address : address.slice(0, at)).toLowerCase();
  if (at < 0) return local === "postmaster" ? { kind: "person", mailbox: "postmaster" } : "unknown";
  const host = domainToASCII(address.slice(at + 1));
  const token = readReturnPath(local);
  if (token.kind === "token") return routeToken(token, { local, host, now }, deps);
  const isOwn = host === deps.hostname || host === deps.bounceHost;
  if (!isOwn) return "foreign";
  if (local === COMPLAINTS && host === deps.bounceHost) return { kind: "complaint" };
  const unsubscribed = host === deps.bounceHost ? deps.readUnsubscribe(local) : null;
  if (unsubscribed !== null)
    return deps.find(unsubscribed) === undefined ? "unknown" : { kind: "unsubscribe", emailUid: unsubscribed };
  const mailbox = MAILBOXES.find((name) => name === local);
  return mailbox === undefined ? "unknown" : { kind: "person", mailbox };
}

function routeToken(
  token: { id: string; mac: Uint8Array },
  { local, host, now }: { local: string; host: string; now: number },
  { find, returnPathKey, bounceHost }: RouteDeps,
): Destination | RecipientRefusal {
  const email = find(token.id);
  if (email === undefined) return "unknown";
  if (isReturnPathOver({ ...email, id: token.id }, now)) return "expired";
  const isOurs = email.isErased
    ? isLocalPart(local, email.returnPath)
    : isGenuine(token, email.recipientAddress, returnPathKey);
  if (!isOurs) return "forged";
  // The host is that of the email, which stays what it was when the domain's records change; or the one that
  // a customer's CNAME leads to, since some servers put that in its place (RFC 1123 §5.2.2 asked for it).
  const isItsOwn = `${local}@${host}` === email.returnPath.toLowerCase();
  if (!isItsOwn && host !== bounceHost) return "foreign";
  return { kind: "bounce", emailUid: token.id };
}
