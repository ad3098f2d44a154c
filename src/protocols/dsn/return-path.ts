// The signed return path (R43): `b+<token>@<host>`, where the token (signed-token.ts) is bound to the recipient. It
// tells which email a bounce speaks of, and nobody else can make one, so a forged bounce suppresses nobody.

import { timingSafeEqual } from "node:crypto";
import { idTime } from "../../platform/uuid.ts";
import { readToken, type SignedToken, writeToken } from "./signed-token.ts";

const PREFIX = "b+"; // with the token 44 of the 64 characters that a local part may have

/** Bounces later than this after acceptance, or after the time that the email was scheduled for, are not believed. */
export const RETURN_PATH_LIFE_MS = 30 * 24 * 3_600_000;

/** The envelope sender of the email `id` to `recipient`; the same for each of its attempts. */
export function returnPath(email: { id: string; recipient: string }, host: string, key: Uint8Array): string {
  return `${PREFIX}${writeToken(email.id, email.recipient, key)}@${host}`;
}

export type ReadReturnPath =
  /** The token's form is right; whether it is genuine needs the recipient of the email `id`: isGenuine. */
  ({ kind: "token" } & SignedToken) | { kind: "other" };

/** Reads the local part of an address that mail came to. */
export function readReturnPath(localPart: string): ReadReturnPath {
  if (localPart.slice(0, PREFIX.length).toLowerCase() !== PREFIX) return { kind: "other" };
  const token = readToken(localPart.slice(PREFIX.length));
  return token === null ? { kind: "other" } : { kind: "token", ...token };
}

/** Whether the time of an email's return path is over; `sendAt` null: it was sent at once. */
export function isReturnPathOver({ id, sendAt }: { id: string; sendAt: number | null }, now: number): boolean {
  return now >= (sendAt ?? idTime(id)) + RETURN_PATH_LIFE_MS;
}

/** Whether `localPart` is that of the return path, in constant time: for an email whose recipient is not known any more. */
export function isLocalPart(localPart: string, path: string): boolean {
  const given = Buffer.from(localPart.toLowerCase());
  const own = Buffer.from(path.slice(0, path.lastIndexOf("@")).toLowerCase());
  return given.length === own.length && timingSafeEqual(given, own);
}
