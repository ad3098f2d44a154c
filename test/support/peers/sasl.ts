// A password file of Cyrus SASL for a private Postfix.

import { chownSync } from "node:fs";
import { join } from "node:path";
import { pathOf } from "./packages.ts";
import { userId } from "./postfix.ts";
import { mustRun } from "./process.ts";

/** One account, in a file below `folder` that only Postfix reads. @returns the file */
export async function makeAccount(
  folder: string,
  { username, password, realm }: { username: string; password: string; realm: string },
): Promise<string> {
  const passwords = join(folder, "sasldb2");
  // The password is read from the input.
  const set = `printf %s "$PASSWORD" | "$TOOL" -p -c -f "$FILE" -u "$REALM" "$NAME"`;
  const env = { PASSWORD: password, TOOL: pathOf("saslpasswd2"), FILE: passwords, REALM: realm, NAME: username };
  await mustRun(["sh", "-c", set], env);
  chownSync(passwords, await userId("postfix"), 0);
  return passwords;
}
