// Which passwords are refused (NIST SP 800-63B-4 §3.1.1.2: length counts, and no kinds of characters are asked for).

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
  return null;
}

/** Letters and digits only, without accents. */
function toPlain(text: string): string {
  return text
    .normalize("NFKD")
    .toLowerCase()
    .replaceAll(/[^\p{L}\p{N}]/gu, "");
}
