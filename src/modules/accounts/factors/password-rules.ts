// Which passwords are refused (NIST SP 800-63B-4 §3.1.1.2: length counts, and no kinds of characters are asked for).

import common from "./common-passwords.txt" with { type: "text" };

const MIN_LENGTH = 12;
/** Where nothing else is asked for at a sign-in. */
const MIN_LENGTH_ALONE = 15;
/** A shorter name may be part of a good password by chance. */
const MIN_NAME = 4;

export interface PasswordOwner {
  email: string;
  /** Of the person, their workspaces and the server. */
  names: readonly string[];
  hasSecondFactor: boolean;
}

/** Follows the member's name; null: the password is good enough. */
export function findPasswordFault(password: string, owner: PasswordOwner): string | null {
  const least = owner.hasSecondFactor ? MIN_LENGTH : MIN_LENGTH_ALONE;
  if ([...password.normalize("NFC")].length < least) return `must have at least ${least} characters`;
  const plain = toPlain(password);
  const [mailbox = ""] = owner.email.split("@");
  const known = [owner.email, mailbox, ...owner.names].map(toPlain).filter((name) => name.length >= MIN_NAME);
  // The name, and less beside it than a good password has itself.
  if (known.some((name) => plain.includes(name) && plain.length - name.length < MIN_LENGTH / 2))
    return "must not be the address, or the name of a person, workspace or server, with little beside it";
  return isCommon(plain) ? "must not be one that many people have, or a pattern that is easily guessed" : null;
}

/** Fewer different characters are a pattern. */
const MIN_DIFFERENT = 5;

/** Words that many have as a password, and long passwords that many have (the lists of zxcvbn, MIT). Split when the first password is set. */
let commonWords: Set<string> | null = null;

/** Of a plain text: a common password, also with digits around it or several times over, or characters that follow each other. */
function isCommon(plain: string): boolean {
  commonWords ??= new Set(common.split("\n"));
  const core = plain.replaceAll(/^\d+|\d+$/g, "");
  const repeated = /^(.+?)\1+$/.exec(core)?.[1] ?? core;
  if (commonWords.has(plain) || commonWords.has(core) || commonWords.has(repeated)) return true;
  return new Set(plain).size < MIN_DIFFERENT || isRun(plain);
}

/** As 1234567890123 and zyxwvutsrqponm. */
function isRun(plain: string): boolean {
  const codes = [...plain].map((character) => character.codePointAt(0) ?? 0);
  const steps = codes.slice(1).map((code, index) => code - (codes[index] ?? 0));
  // From 9 it goes on with 0, and from 0 with 9.
  return steps.every((step) => step === 1 || step === -9) || steps.every((step) => step === -1 || step === 9);
}

/** Letters and digits only, without accents. */
function toPlain(text: string): string {
  return text
    .normalize("NFKD")
    .toLowerCase()
    .replaceAll(/[^\p{L}\p{N}]/gu, "");
}
