// A mail server whose TLS is broken, in every way that one can be: its mail goes in clear where that is
// allowed (R17), never after bytes that came before the handshake (R16), and nobody else notices.
import { expect, setDefaultTimeout, test } from "bun:test";
import { type Answer, drop, type MxConnection, type MxScript, raw, stall, type Step } from "../../support/fakes/mx.ts";
import { attemptsOf, deliver, MINUTE_MS } from "./mail.ts";
import {
  BAD_DOMAIN,
  badRecords,
  copiesOf,
  expectDeliveredOnceMended,
  expectHealthyDelivered,
  expectNothingLeft,
  passAttempts,
  sendRounds,
  startStreet,
  type Street,
} from "./street.ts";

setDefaultTimeout(60_000);

/** Under TLS only. */
const secretly =
  (answer: Answer): Step =>
  (_command, { isTls }) =>
    isTls ? answer : "250-mx.bad.test\n250-PIPELINING\n250 STARTTLS";

interface Broken {
  what: string;
  script: MxScript;
  /** How long it is waited for, where it is. */
  stepMs?: number;
}

const BROKEN: Broken[] = [
  { what: "offers TLS and refuses it", script: { tls: "good", startTls: "454 4.7.0 TLS not available" } },
  { what: "answers the client's hello with clear text", script: { tls: "garbage" } },
  { what: "hangs up on the client's hello", script: { tls: "drop" } },
  { what: "never answers the client's hello", script: { tls: "stall" }, stepMs: MINUTE_MS },
  // As a server does that wants a certificate of its client, under TLS 1.3: the handshake has ended by then.
  { what: "hangs up right after the handshake", script: { tls: "good", ehlo: secretly(drop()) } },
  { what: "says nothing after the handshake", script: { tls: "good", ehlo: secretly(stall()) }, stepMs: 5 * MINUTE_MS },
];

for (const { what, script, stepMs } of BROKEN) {
  test(`a server that ${what} gets its mail in clear, once, in the first attempt, and nobody else waits for it`, async () => {
    await using street = await startStreet({ bad: script });
    await sendRounds(street);
    await expectHealthyDelivered(street);
    const waiting = () => (stepMs === undefined ? [] : street.bad.connections.filter(isStuckInTls));
    if (stepMs !== undefined) expect(copiesOf(street.bad)).toEqual(new Map());
    await passAttempts(street, { waiting, ...(stepMs === undefined ? {} : { stepMs }) });
    await expectAllInClear(street);
    await expectNothingLeft(street);
    // Remembered: the next connection does not try.
    const earlier = street.bad.connections.length;
    await deliver(street.pombo, `last@${BAD_DOMAIN}`);
    const later = street.bad.connections.slice(earlier).map(({ commands }) => commands.includes("STARTTLS"));
    expect(later).toEqual([false]);
    expect(street.bad.messages).toHaveLength(street.badIds.length + 1);
  });
}

function isStuckInTls({ commands, isClosed, isTls, messages }: MxConnection): boolean {
  return !isClosed && messages.length === 0 && (isTls || commands.at(-1) === "STARTTLS");
}

async function expectAllInClear(street: Street): Promise<void> {
  for (const email of await badRecords(street)) {
    expect(email).toMatchObject({ status: "delivered", attempts: 1, possibleDuplicate: false });
    expect(attemptsOf(street.pombo, email.id)).toMatchObject([{ tls: null, outcome: "delivered" }]);
  }
  expect(copiesOf(street.bad)).toEqual(new Map(street.badIds.map((id) => [id, 1])));
}

for (const { what, script } of [
  { what: "fails in the handshake", script: { tls: "garbage" } },
  { what: "is out of order for now", script: { tls: "good", startTls: "454 4.7.0 TLS not available" } },
] satisfies { what: string; script: MxScript }[]) {
  test(`a server that requires TLS, which ${what}, bounces nothing: its mail goes under TLS, once, when that works`, async () => {
    const mail: Step = (_command, { isTls }) =>
      isTls ? "250 2.1.0 Ok" : "530 5.7.0 Must issue a STARTTLS command first";
    await using street = await startStreet({ bad: { ...script, mail } });
    await sendRounds(street);
    await expectHealthyDelivered(street);
    await passAttempts(street);
    for (const email of await badRecords(street)) {
      expect(email).toMatchObject({ status: "delivery_delayed", attempts: 1, bounce: null, possibleDuplicate: false });
      expect(email.lastReply).toMatch(
        /^(454 4\.7\.0 TLS not available|TLS failed, and without it the server says: 530 )/,
      );
    }
    await expectDeliveredOnceMended(street, { script: { tls: "good", mail } });
    expect(street.bad.messages.every(({ isTls }) => isTls)).toBe(true);
    await expectNothingLeft(street);
  });
}

for (const injected of ["250 2.0.0 Ok\r\n", "x", "250-mx.evil\r\n250-PIPELINING\r\n250 Ok\r\n"]) {
  test(`bytes before the handshake (${JSON.stringify(injected)}) end the session: nothing is sent, in clear or not, until they stop`, async () => {
    await using street = await startStreet({ bad: { tls: "good", startTls: raw(`220 Ready\r\n${injected}`) } });
    await sendRounds(street);
    await expectHealthyDelivered(street);
    await passAttempts(street);
    for (const email of await badRecords(street)) {
      expect(email).toMatchObject({ status: "delivery_delayed", attempts: 1, possibleDuplicate: false });
      expect(email.lastReply).toMatch(
        /^(bytes in clear after the answer to STARTTLS|unasked: 250 .*) \(mx\.bad\.test\)$/,
      );
      expect(attemptsOf(street.pombo, email.id)).toMatchObject([{ stage: "starttls", category: "bad_connection" }]);
    }
    for (const { commands, isTls } of street.bad.connections) {
      expect(isTls).toBe(false);
      expect(commands.map((line) => line.split(" ")[0] ?? "")).toEqual(["EHLO", "STARTTLS"]);
    }
    await expectDeliveredOnceMended(street);
    await expectNothingLeft(street);
  });
}
