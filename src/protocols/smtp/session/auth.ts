/**
 * AUTH: telling a server that the operator named who we are (RFC 4954). PLAIN where it is offered,
 * else LOGIN, which never became a standard and is all that some servers have. A server's
 * answer here may repeat what it was sent, so that answers are freed of the credentials before
 * they go on into records and logs.
 */
import type { Unfit } from "./capabilities.ts";
import { cleanReply, makeReply, type Reply } from "../replies/reply.ts";
import { BrokenWire, type Wire } from "./connection.ts";

export interface Credentials {
  username: string;
  password: string;
}

/** Not let in. */
export type AuthRefusal = { kind: "refused"; reply: Reply } | Omit<Unfit, "stage">;

interface Asking {
  wire: Wire;
  credentials: Credentials;
  /** For each answer, in milliseconds. */
  limitMs: number;
}

/** RFC 4954 §4: AUTH is a command like others, and RFC 5321 §4.5.3.1.4 ends those at 512 octets. */
const MAX_COMMAND_BYTES = 512;
/** So much of a secret in an answer is no accident; a server may have cut off the rest. */
const TELLING_CHARACTERS = 8;
const SHORTEST_HIDDEN = 4;
const HIDDEN = "***";

/** Null: let in. `mechanisms` as offered, in upper case. Throws BrokenWire. */
export async function authenticate(asking: Asking, mechanisms: string[]): Promise<AuthRefusal | null> {
  const exchange = mechanisms.includes("PLAIN") ? askPlain : mechanisms.includes("LOGIN") ? askLogin : null;
  if (exchange === null) {
    // RFC 4954 §4: 5.5.4 is said of a mechanism that the server does not have.
    return { kind: "unfit", enhanced: "5.5.4", reason: "the server offers neither AUTH PLAIN nor AUTH LOGIN" };
  }
  const secrets = listSecrets(asking.credentials);
  asking.wire.isSecret = true;
  try {
    const reply = await exchange(asking);
    if (reply.code >= 200 && reply.code < 300) return null;
    if (reply.code < 400) throw new BrokenWire(`AUTH answered with ${reply.code}`);
    const lines = reply.lines.map((line) => hide(line, secrets));
    return { kind: "refused", reply: makeReply(reply.code, lines) };
  } catch (error) {
    // An answer that is none is quoted in the reason.
    throw error instanceof BrokenWire ? new BrokenWire(hide(error.message, secrets)) : error;
  } finally {
    asking.wire.isSecret = false;
  }
}

/** RFC 4616 §2: who to act as (nobody else), who signs in, the password, parted by NUL. */
async function askPlain(asking: Asking): Promise<Reply> {
  const response = plainResponse(asking.credentials);
  const command = `AUTH PLAIN ${response}\r\n`;
  const reply = await ask(asking, command.length <= MAX_COMMAND_BYTES ? command : "AUTH PLAIN\r\n");
  // Some servers ask for what the command held already.
  return reply.code === 334 ? await ask(asking, `${response}\r\n`) : reply;
}

/** Two questions, whose words are not read: every server asks in this order. */
async function askLogin(asking: Asking): Promise<Reply> {
  const { username, password } = asking.credentials;
  let reply = await ask(asking, "AUTH LOGIN\r\n");
  for (const answer of [username, password]) {
    if (reply.code !== 334) return reply;
    reply = await ask(asking, `${base64(answer)}\r\n`);
  }
  return reply;
}

async function ask({ wire, limitMs }: Asking, line: string): Promise<Reply> {
  wire.ask(line, 1, line.startsWith("AUTH ") ? line.split(" ", 2).join(" ").trimEnd() : "…");
  return await wire.next(limitMs, "answer to AUTH");
}

function plainResponse({ username, password }: Credentials): string {
  return base64(`\0${username}\0${password}`);
}

function base64(text: string): string {
  return Buffer.from(text, "utf8").toString("base64");
}

/** Every form in which an answer could hold the credentials, the longest first, in lower case. */
function listSecrets(credentials: Credentials): string[] {
  const { username, password } = credentials;
  return [plainResponse(credentials), base64(password), base64(username), password, username]
    .map((secret) => cleanReply(secret).toLowerCase())
    .filter((secret) => secret.length >= SHORTEST_HIDDEN);
}

/** The text without the secrets, also where it holds only their beginning or writes them in other case. */
function hide(text: string, secrets: string[]): string {
  let shown = text;
  for (const secret of secrets) {
    const beginning = secret.slice(0, TELLING_CHARACTERS);
    const find = (from: number) => shown.toLowerCase().indexOf(beginning, from);
    for (let at = find(0); at !== -1; at = find(at + HIDDEN.length)) {
      const rest = shown.slice(at).toLowerCase();
      let length = beginning.length;
      while (length < secret.length && rest[length] === secret[length]) length += 1;
      shown = shown.slice(0, at) + HIDDEN + shown.slice(at + length);
    }
  }
  return shown;
}
