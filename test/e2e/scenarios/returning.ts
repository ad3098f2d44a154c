/** A mail server's own report about a message, told to an instance's inbound port as the server would. */
import { openTalk } from "../../support/inbound/kit.ts";
import { group, report } from "../../support/dsn/mails.ts";

/** That nobody has the recipient's mailbox, to its return path; the answer to the dot, or to what was refused before it. "": the connection was lost. */
export async function returnTo(port: number, { from, to }: { from: string; to: string }): Promise<string> {
  try {
    using talk = await openTalk(port);
    for (const line of ["EHLO mx.test", "MAIL FROM:<>", `RCPT TO:<${from}>`, "DATA"]) {
      const reply = await talk.say(line);
      if (!/^[23]/.test(reply)) return reply;
    }
    talk.write(
      report({ groups: [`${group("5.1.1", "550 5.1.1 No such user", "failed", to)}\nRemote-MTA: dns; mx.test`] }),
    );
    return await talk.say(".");
  } catch {
    return "";
  }
}
