// Mail servers with a fault each: Postfix's smtp-sink with the options that its authors test their own
// client with. Each listens at an address of its own and is the mail host of a domain of its own; it
// writes what it takes to a file, which tells how often each message came.

import { chownSync, existsSync, mkdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import type { Zone } from "../../support/fakes/zone.ts";
import { pathOf } from "../../support/peers/packages.ts";
import { userId } from "../../support/peers/postfix.ts";
import { startProcess, waitForListener, type Cleanup } from "../../support/peers/process.ts";
import { type Sending, waitForStatus } from "./delivery.ts";

const BACKLOG = 100;
/** Attempts whose answer to the dot was lost, before an email is given up. */
const MAX_LOST = 3;

interface Fault {
  /** Also names its domain. */
  name: string;
  options: string[];
  expected: "delivered" | "bounced" | "delayed" | "lost";
  /** How its reply, or what is said in its place, begins. */
  says?: RegExp;
  /** The text of the email; short unless told. */
  text?: string;
}

/** Longer than what goes in one write. */
const LONG_TEXT = `${"x".repeat(70)}\n`.repeat(1_400);
const SOFT = /^450 4\.3\.0 Error: command failed \(/;
const HARD = /^500 5\.3\.0 Error: command failed \(/;
const GONE = /^(the server closed the connection|the connection was lost|read ECONNRESET) \(/;
const CLOSING = /^421 4\.0\.0 Server closing connection \(/;

const fault = (name: string, options: string, rest: Pick<Fault, "expected" | "says" | "text">): Fault => ({
  name,
  options: options.split(" "),
  ...rest,
});

/** The short run's: one of each kind. */
const SMOKE_FAULTS: Fault[] = [
  fault("soft-rcpt", "-r RCPT", { expected: "delayed", says: SOFT }),
  fault("hard-dot", "-f .", { expected: "bounced", says: HARD }),
  fault("gone-at-rcpt", "-q RCPT", { expected: "delayed", says: GONE }),
  fault("gone-at-dot", "-q .", { expected: "lost" }),
  fault("closing-at-data", "-Q DATA", { expected: "delayed", says: CLOSING }),
  fault("no-esmtp", "-e", { expected: "delivered" }),
  // -p, as smtp-sink itself takes the next command while it waits over one.
  fault("slow", "-p -W mail:1 -W .:2", { expected: "delivered" }),
];

const MORE_FAULTS: Fault[] = [
  fault("soft-connect", "-r CONNECT", { expected: "delayed", says: SOFT }),
  fault("soft-mail", "-r MAIL", { expected: "delayed", says: SOFT }),
  fault("soft-data", "-r DATA", { expected: "delayed", says: SOFT }),
  fault("soft-dot", "-r .", { expected: "delayed", says: SOFT }),
  // R14: a refusal on sight is about our address or the server's day.
  fault("hard-connect", "-f CONNECT", { expected: "delayed", says: HARD }),
  // R15: who does not know EHLO is greeted with HELO.
  fault("hard-ehlo", "-f EHLO", { expected: "delivered" }),
  fault("hard-mail", "-f MAIL", { expected: "bounced", says: HARD }),
  fault("hard-rcpt", "-f RCPT", { expected: "bounced", says: HARD }),
  fault("hard-data", "-f DATA", { expected: "bounced", says: HARD }),
  fault("gone-at-connect", "-q CONNECT", { expected: "delayed", says: GONE }),
  fault("gone-at-ehlo", "-q EHLO", { expected: "delayed", says: GONE }),
  fault("gone-at-mail", "-q MAIL", { expected: "delayed", says: GONE }),
  fault("gone-at-data", "-q DATA", { expected: "delayed", says: GONE }),
  fault("closing-at-connect", "-Q CONNECT", { expected: "delayed", says: CLOSING }),
  fault("closing-at-mail", "-Q MAIL", { expected: "delayed", says: CLOSING }),
  fault("closing-at-dot", "-Q .", { expected: "delayed", says: CLOSING }),
  // Refuses in the middle of the message, and reads no further.
  fault("refuses-early", "-A 0", { expected: "bounced", says: /^550 /, text: LONG_TEXT }),
  fault("no-pipelining", "-p", { expected: "delivered" }),
  fault("no-8bitmime", "-8", { expected: "delivered" }),
  fault("no-enhanced-codes", "-E", { expected: "delivered" }),
  fault("pix", "-P", { expected: "delivered" }),
  fault("slow-data", "-w 2", { expected: "delivered" }),
  fault("slow-reader", "-H 2 -T 1024", { expected: "delivered", text: LONG_TEXT }),
];

export interface Sinks {
  readonly faults: Fault[];
  readonly zone: Zone;
  /** How often a message with this Message-ID (without brackets) came to the sink. */
  copies(fault: Fault, messageId: string): number;
}

/** Starts one sink per fault, all on the same port. */
export async function startSinks(options: {
  folder: string;
  port: number;
  isSmoke: boolean;
  cleanup: Cleanup;
}): Promise<Sinks> {
  const { port, cleanup } = options;
  const faults = options.isSmoke ? SMOKE_FAULTS : [...SMOKE_FAULTS, ...MORE_FAULTS];
  const folder = join(options.folder, "sinks");
  mkdirSync(folder);
  // As root it insists on becoming another user, who writes the files.
  chownSync(folder, await userId("nobody"), 0);
  const dumpOf = ({ name }: Fault): string => join(folder, `${name}.mbox`);
  const zone: Zone = {};
  for (const [index, each] of faults.entries()) {
    const address = `127.0.1.${index + 1}`;
    zone[domainOf(each)] = { MX: [[10, `mx.${domainOf(each)}`]] };
    zone[`mx.${domainOf(each)}`] = { A: [address] };
    const command = [pathOf("smtp-sink"), "-u", "nobody", "-h", `mx.${domainOf(each)}`, "-D", dumpOf(each)];
    const logFile = join(options.folder, `sink-${each.name}.log`);
    const process = startProcess({
      command: [...command, ...each.options, `${address}:${port}`, String(BACKLOG)],
      logFile,
    });
    cleanup.add(() => process.stop());
    await waitForListener(port, address);
  }
  return {
    faults,
    zone,
    copies(each, messageId) {
      const dump = existsSync(dumpOf(each)) ? readFileSync(dumpOf(each), "latin1") : "";
      return dump.split("\n").filter((line) => line === `Message-ID: <${messageId}>`).length;
    },
  };
}

/** Sends one email to each, and checks what becomes of it and how often it came. */
export async function checkSinks({ api, checks, sender, sinks }: Sending & { sinks: Sinks }): Promise<void> {
  const sent = new Map<Fault, string>();
  for (const each of sinks.faults) {
    await checks.group(`${each.name}: accepted`, async () => {
      const email = { from: sender, to: `user@${domainOf(each)}`, subject: each.name, text: each.text ?? "Olá\n" };
      sent.set(each, (await api.expect(202, "POST", "/api/v1/emails", email)).data.id);
    });
  }
  for (const [each, id] of sent) {
    await checks.group(each.name, async () => {
      const last = { delivered: "delivered", bounced: "bounced", delayed: "delivery_delayed", lost: "failed" }[
        each.expected
      ];
      const finals = ["delivered", "bounced", "failed", ...(each.expected === "delayed" ? ["delivery_delayed"] : [])];
      const record = await waitForStatus(api, id, finals);
      const isLost = each.expected === "lost";
      const seen = { status: record.status, possibleDuplicate: record.possibleDuplicate };
      checks.equal(`${each.name}: ${each.expected}`, seen, { status: last, possibleDuplicate: isLost });
      const said: string = record.failedReason ?? record.lastReply ?? "";
      if (each.says !== undefined) checks.claim(`${each.name}: told why`, each.says.test(said), () => said);
      const copies = { delivered: 1, bounced: 0, delayed: 0, lost: MAX_LOST }[each.expected];
      // What it refuses at the dot it has written down before.
      const isCounted = isLost || !each.options.includes(".");
      if (isCounted) checks.equal(`${each.name}: copies`, sinks.copies(each, record.providerId), copies);
    });
  }
}

function domainOf({ name }: Fault): string {
  return `${name}.sink.test`;
}
