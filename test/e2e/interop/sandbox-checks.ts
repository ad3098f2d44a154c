// The sandbox's own mail server, which pombo's users try their code against, under a client that is not
// ours: swaks, with and without TLS and PIPELINING, with the magic recipients, and hanging up half-way.

import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { systemClock } from "../../../src/platform/clock.ts";
import { openInbox, type StoredMessage } from "../../../src/sandbox/mx/inbox.ts";
import { startSandboxMx } from "../../../src/sandbox/mx/server.ts";
import { createFakeResolver, type Zone } from "../../support/fakes/resolver.ts";
import { pathOf } from "../../support/peers/packages.ts";
import { run, type Cleanup, type Finished } from "../../support/peers/process.ts";
import type { Checks } from "./checks.ts";

const SENDER = "a@peer.test";
/** swaks(1), EXIT CODES. */
const RCPT_REFUSED = 24;

/** `message`: signed, with keys that are in the zone. */
export async function checkSandbox(options: {
  folder: string;
  message: string;
  zone: Zone;
  checks: Checks;
  cleanup: Cleanup;
}): Promise<void> {
  const { folder, checks, cleanup } = options;
  const file = join(folder, "sandbox.eml");
  writeFileSync(file, options.message);
  const inbox = openInbox(join(folder, "sandbox.db"));
  const { txt } = createFakeResolver(options.zone);
  const mx = await startSandboxMx({ inbox, lookupTxt: txt, clock: systemClock });
  cleanup.add(async () => {
    await mx.close();
    inbox.close();
  });
  const swaks = (to: string, ...more: string[]): Promise<Finished> => {
    const server = ["--server", `127.0.0.1:${mx.port}`, "--from", SENDER, "--to", to];
    return run([pathOf("swaks"), ...server, "--data", `@${file}`, ...more]);
  };
  const keptFor = (to: string): StoredMessage[] => inbox.list().filter((message) => message.to === to);
  const checkKept = async (name: string, user: string, tls: RegExp | null, ...more: string[]): Promise<void> => {
    const { exitCode, output } = await swaks(`${user}@example.test`, ...more);
    checks.claim(`sandbox: takes mail ${name}`, exitCode === 0, () => output);
    const kept = keptFor(`${user}@example.test`);
    const seen = kept.map((message) => [
      message.envelopeFrom,
      message.dkim,
      tls?.test(message.tls ?? "") ?? message.tls === null,
    ]);
    checks.equal(`sandbox: keeps it once ${name}, as it was signed`, seen, [[SENDER, "pass", true]]);
  };

  await checkKept("in clear", "clear", null);
  await checkKept("over TLS", "tls", /^TLSv1\.3$/, "--tls");
  await checkKept("over TLS, with PIPELINING", "pipelining", /^TLSv1\.3$/, "--tls", "--pipeline");
  await checkKept("after HELO", "helo", null, "--protocol", "SMTP");

  const bounced = await swaks("bounce@example.test", "--tls");
  checks.equal("sandbox: bounce@ is refused at RCPT", bounced.exitCode, RCPT_REFUSED);
  checks.claim("sandbox: bounce@ is told 550 5.1.1", /<\S* 550 5\.1\.1 /.test(bounced.output), () => bounced.output);
  const partly = await swaks("one@example.test,bounce@example.test,two@example.test", "--pipeline");
  checks.claim("sandbox: of three recipients two are taken", partly.exitCode === 0, () => partly.output);
  checks.equal(
    "sandbox: one copy each",
    [keptFor("one@example.test"), keptFor("two@example.test")].map((each) => each.length),
    [1, 1],
  );
  const tries: number[] = [];
  for (let nth = 0; nth < 3; nth++) tries.push((await swaks("defer@example.test")).exitCode);
  checks.equal("sandbox: defer@ is taken at the third try", tries, [RCPT_REFUSED, RCPT_REFUSED, 0]);

  for (const moment of ["MAIL", "RCPT", "DATA"]) await swaks("gone@example.test", "--drop-after", moment);
  await swaks("gone@example.test", "--quit-after", "RCPT");
  checks.equal("sandbox: keeps nothing of a client that hung up", keptFor("gone@example.test"), []);
  await checkKept("after all that", "last", /^TLSv1\.3$/, "--tls");
}
