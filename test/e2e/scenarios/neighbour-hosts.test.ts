// A domain with two mail hosts of which the first is dead, mute or mad: the second gets the mail in the
// same attempt, once, and nobody else waits meanwhile.
import { expect, setDefaultTimeout, test } from "bun:test";
import { drop, type Mx, type MxConnection, type MxScript, raw, startMx } from "../../support/fakes/mx.ts";
import { attemptsOf, MINUTE_MS } from "./mail.ts";
import {
  BAD_DOMAIN,
  BAD_HOST,
  badRecords,
  copiesOf,
  countedStall,
  expectHealthyDelivered,
  expectNothingLeft,
  passAttempts,
  passRetry,
  sendRounds,
  startStreet,
  type Street,
  type StreetOptions,
} from "./street.ts";

setDefaultTimeout(60_000);

const BACKUP_HOST = "mx2.bad.test";
const BACKUP_ADDRESS = "127.0.0.3";
/** Nobody listens there. */
const DEAD_ADDRESS = "127.0.0.4";

/** The neighbour with a second, good host. */
async function startPair(options: StreetOptions): Promise<Street & { backup: Mx }> {
  const street = await startStreet(options);
  const backup = await startMx({}, { address: BACKUP_ADDRESS, port: street.pombo.mx.port });
  street.pombo.dns.zone[BACKUP_HOST] = { A: [BACKUP_ADDRESS] };
  street.pombo.dns.zone[BAD_DOMAIN] = {
    MX: [
      [10, BAD_HOST],
      [20, BACKUP_HOST],
    ],
  };
  return {
    ...street,
    backup,
    async [Symbol.asyncDispose]() {
      await backup.close();
      await street[Symbol.asyncDispose]();
    },
  };
}

async function expectAllAtBackup(street: Street & { backup: Mx }): Promise<void> {
  for (const email of await badRecords(street)) {
    expect(email).toMatchObject({ status: "delivered", attempts: 1, possibleDuplicate: false });
    expect(attemptsOf(street.pombo, email.id)).toMatchObject([{ host: BACKUP_HOST, outcome: "delivered" }]);
  }
  expect(copiesOf(street.backup)).toEqual(new Map(street.badIds.map((id) => [id, 1])));
  expect(copiesOf(street.bad)).toEqual(new Map());
}

const AT_ONCE: { what: string; script: MxScript; isDead?: true }[] = [
  { what: "is not there", script: {}, isDead: true },
  { what: "hangs up at once", script: { greeting: drop() } },
  { what: "greets with 554", script: { greeting: "554 5.7.1 No" } },
  { what: "refuses EHLO for now", script: { ehlo: "451 4.3.0 Not now" } },
  { what: "talks nonsense", script: { greeting: raw("HTTP/1.1 200 Ok\r\n\r\n") } },
  { what: "speaks before the handshake", script: { tls: "good", startTls: raw("220 Ready\r\n250 2.0.0 Ok\r\n") } },
  { what: "hangs up at RCPT", script: { rcpt: drop() } },
  { what: "answers RCPT with 354", script: { rcpt: "354 Go on" } },
];

for (const { what, script, isDead } of AT_ONCE) {
  test(`when the first of two hosts ${what}, the second gets the mail in the same attempt, without any time passing`, async () => {
    await using street = await startPair({ bad: script });
    if (isDead === true) street.pombo.dns.zone[BAD_HOST] = { A: [DEAD_ADDRESS] };
    await sendRounds(street);
    await expectHealthyDelivered(street);
    await street.pombo.app.worker.idle();
    await expectAllAtBackup(street);
    if (isDead !== true) expect(street.bad.connections.length).toBeGreaterThan(0);
    await expectNothingLeft(street);
  });
}

test("when the first of two hosts is mute, the second gets the mail after a minute, and nobody else waits for that", async () => {
  const { step, waiting } = countedStall();
  await using street = await startPair({ bad: { greeting: step } });
  await sendRounds(street);
  await expectHealthyDelivered(street);
  expect(copiesOf(street.backup)).toEqual(new Map());
  await passAttempts(street, { stepMs: MINUTE_MS, waiting });
  await expectAllAtBackup(street);
  await expectNothingLeft(street);
});

test("when the first of two hosts loses the answers to the dot, the second is not asked at once; it gets the mail with the next attempt, marked", async () => {
  await using street = await startPair({ bad: { dot: drop() } });
  await sendRounds(street);
  await expectHealthyDelivered(street);
  await passAttempts(street);
  expect(copiesOf(street.backup)).toEqual(new Map());
  street.bad.script = { greeting: drop() };
  await passRetry(street, 2);
  for (const email of await badRecords(street)) {
    expect(email).toMatchObject({ status: "delivered", attempts: 2, possibleDuplicate: true });
  }
  for (const mx of [street.bad, street.backup]) {
    expect(copiesOf(mx)).toEqual(new Map(street.badIds.map((id) => [id, 1])));
  }
  await expectNothingLeft(street);
});

test("when the first of two hosts says 421, the second is left in peace and the mail waits (R25)", async () => {
  await using street = await startPair({ bad: { greeting: "421 4.3.2 Too many connections" } });
  await sendRounds(street);
  await expectHealthyDelivered(street);
  await passAttempts(street);
  for (const email of await badRecords(street)) {
    const lastReply = "421 4.3.2 Too many connections (mx.bad.test)";
    expect(email).toMatchObject({ status: "delivery_delayed", attempts: 1, lastReply });
  }
  const commands = street.backup.connections.flatMap((connection: MxConnection) => connection.commands);
  expect(commands).toEqual([]);
  street.bad.script = {};
  await passRetry(street, 2);
  expect(copiesOf(street.bad)).toEqual(new Map(street.badIds.map((id) => [id, 1])));
  await expectNothingLeft(street);
});
