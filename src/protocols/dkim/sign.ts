/**
 * DKIM signing (RFC 6376, RFC 8463). A message is split once, its body hashed once, and each key
 * then signs the same header fields; RSA runs on the thread pool. There is no way to get an
 * unsigned result: every failure throws, because a message that should be signed and is not must
 * stay in the queue.
 */
import { createHash, type KeyObject, sign } from "node:crypto";
import { freeOctets } from "../../platform/free-octets.ts";
import { canonicalBody, canonicalField, type HeaderField, selectFields, splitMessage } from "./canonicalize.ts";
import { MIN_RSA_BITS } from "./record.ts";
import { MAX_NAME_OCTETS } from "./signature.ts";

/** A private key and the DNS name (`selector._domainkey.domain`) that its public half stands under. */
export interface SigningKey {
  /** A-labels; the `d=` tag. */
  domain: string;
  selector: string;
  algorithm: "rsa-sha256" | "ed25519-sha256";
  privateKey: KeyObject;
}

/** Makes the RSA-SHA256 signature (PKCS #1 v1.5) over `input` with an RSA private key. */
export type RsaSigner = (input: Uint8Array, key: KeyObject) => Promise<Uint8Array> | Uint8Array;

/** On the thread pool. */
export const poolSigner: RsaSigner = (input, key) =>
  new Promise((resolve, reject) => {
    sign("sha256", input, key, (error, made) => (error ? reject(error) : resolve(made)));
  });

/** Listed once more than present, so that none of them can be added or doubled on the way (R58). */
export const OVERSIGNED_FIELDS = [
  "From",
  "Subject",
  "Date",
  "To",
  "Reply-To",
  "Message-ID",
  "MIME-Version",
  "Content-Type",
  "List-Unsubscribe",
  "List-Unsubscribe-Post",
  "Feedback-ID",
  "X-Pombo-Trace",
];

/** The same, where there is one: most messages have none. */
const OVERSIGNED_WHERE_PRESENT = ["Cc"];

/**
 * Listed as often as present. Relays may lawfully add a Content-Transfer-Encoding to a multipart message, which has
 * none; the others are those of RFC 6376 §5.4.1 that a sender may give.
 */
const SIGNED_FIELDS = [
  "Content-Transfer-Encoding",
  "In-Reply-To",
  "References",
  "List-Id",
  "List-Help",
  "List-Subscribe",
  "List-Post",
  "List-Owner",
  "List-Archive",
];

/** Signatures on one message; two are in use. */
const MAX_KEYS = 8;
const FOLD_AT = 76;
const ED25519_SIGNATURE_OCTETS = 64;
const NAME = /^[a-z0-9_](?:[a-z0-9_.-]*[a-z0-9_])?$/i;

/**
 * The DKIM-Signature lines to put in front of `message`, one per key in their order, each with CRLF.
 * @param message exactly the octets that will be sent, CRLF line ends.
 * @param at Unix ms, for `t=`.
 * @throws when there is no key, not exactly one From, or any signature cannot be made.
 */
export async function signMessage(
  message: Uint8Array,
  keys: SigningKey[],
  at: number,
  signRsa: RsaSigner = poolSigner,
): Promise<Uint8Array> {
  if (keys.length === 0 || keys.length > MAX_KEYS)
    throw new Error(`a message is signed with 1 to ${MAX_KEYS} keys, not ${keys.length}`);
  const { fields, body } = splitMessage(message);
  assertSignable(fields);
  const names = signedNames(fields);
  const canonical = canonicalBody(body, "relaxed");
  const bodyHash = createHash("sha256").update(canonical).digest("base64");
  if (canonical.buffer !== message.buffer) freeOctets(new Uint8Array(canonical.buffer));
  const covered = selectFields(fields, names, "relaxed");
  const lines = await Promise.all(
    keys.map(async (key) => {
      const unsigned = unsignedField(key, { names, bodyHash, at });
      const signature = await computeSignature(hashInput(covered, unsigned), key, signRsa);
      return `${unsigned}${foldSignature(signature)}\r\n`;
    }),
  );
  return Buffer.from(lines.join(""), "latin1");
}

/**
 * The input of a signature (RFC 6376 §3.7): the covered fields in canonical form, then the
 * relaxed signature field itself with an empty `b=` and no CRLF.
 */
export function hashInput(covered: string, unsigned: string): Uint8Array {
  return Buffer.from(covered + canonicalField(unsigned, "relaxed"), "latin1");
}

/** The signature over `input`. @throws when the key does not fit its algorithm or cannot sign. */
export async function computeSignature(
  input: Uint8Array,
  key: SigningKey,
  signRsa: RsaSigner = poolSigner,
): Promise<Uint8Array> {
  const { algorithm, privateKey } = key;
  const kind = algorithm === "ed25519-sha256" ? "ed25519" : "rsa";
  if (privateKey.type !== "private" || privateKey.asymmetricKeyType !== kind)
    throw new Error(`the key of ${keyName(key)} is not a private key of the kind ${kind}`);
  if (kind === "ed25519") {
    // RFC 8463 §3: PureEdDSA over the SHA-256 hash. 16 µs: not worth the way to the thread pool.
    const signature = sign(null, createHash("sha256").update(input).digest(), privateKey);
    if (signature.length !== ED25519_SIGNATURE_OCTETS)
      throw new Error(`signing with ${keyName(key)} gave ${signature.length} octets`);
    return signature;
  }
  const signature = await signRsa(input, privateKey);
  if (signature.length * 8 < MIN_RSA_BITS)
    throw new Error(`the key of ${keyName(key)} is shorter than ${MIN_RSA_BITS} bits`);
  return signature;
}

/** The `h=` list for these fields. */
function signedNames(fields: HeaderField[]): string[] {
  const counts = new Map<string, number>();
  for (const { name } of fields) counts.set(name, (counts.get(name) ?? 0) + 1);
  const present = (name: string) => counts.get(name.toLowerCase()) ?? 0;
  return [
    ...[...OVERSIGNED_FIELDS, ...OVERSIGNED_WHERE_PRESENT.filter(present)].flatMap((name) =>
      Array<string>(present(name) + 1).fill(name),
    ),
    ...SIGNED_FIELDS.flatMap((name) => Array<string>(present(name)).fill(name)),
  ];
}

function assertSignable(fields: HeaderField[]): void {
  // RFC 6376 §5.4: From must be signed; RFC 5322 §3.6: there is exactly one.
  if (fields.filter(({ name }) => name === "from").length !== 1)
    throw new Error("a message to sign needs exactly one From field");
  for (const { name, raw } of fields) {
    // A line that another hop repairs is not the one that was signed.
    if (name === "" || /\r(?!\n)|(?<!\r)\n/.test(raw)) throw new Error("a message to sign has a malformed header line");
  }
}

/** The field up to and with `b=`, folded. */
function unsignedField(key: SigningKey, over: { names: string[]; bodyHash: string; at: number }): string {
  const { domain, selector, algorithm } = key;
  if (!NAME.test(domain) || !NAME.test(selector) || keyName(key).length > MAX_NAME_OCTETS)
    throw new Error(`not a DKIM key name: ${JSON.stringify(keyName(key))}`);
  if (!Number.isFinite(over.at)) throw new Error(`not a time: ${over.at}`);
  const pieces = [
    "DKIM-Signature:",
    " v=1;",
    ` a=${algorithm};`,
    " c=relaxed/relaxed;",
    ` d=${domain};`,
    ` s=${selector};`,
    ` t=${Math.floor(over.at / 1000)};`,
    ` bh=${over.bodyHash};`,
    // RFC 6376 §3.5: white space may stand on either side of a colon in h=.
    ...over.names.map((name, i) => `${i === 0 ? " h=" : ""}${name}${i === over.names.length - 1 ? ";" : ":"}`),
  ];
  let folded = "";
  let column = 0;
  for (const piece of pieces) {
    const isFull = column > 0 && column + piece.length > FOLD_AT;
    if (isFull) folded += piece.startsWith(" ") ? "\r\n" : "\r\n ";
    column = (isFull ? Number(!piece.startsWith(" ")) : column) + piece.length;
    folded += piece;
  }
  return `${folded}\r\n b=`;
}

function foldSignature(signature: Uint8Array): string {
  const base64 = Buffer.from(signature).toString("base64");
  return base64.match(/.{1,72}/g)?.join("\r\n ") ?? "";
}

function keyName({ selector, domain }: { selector: string; domain: string }): string {
  return `${selector}._domainkey.${domain}`;
}
