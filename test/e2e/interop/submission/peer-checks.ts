// The messages of one program: handed in over both ports, delivered, read back, and compared with what it was given.

import { mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import type { Body } from "../../../support/peers/pombo.ts";
import { checkSignatures } from "../../../support/peers/zone.ts";
import { EXPECTED_VERDICTS, waitForStatus } from "../delivery.ts";
import { MX_DOMAIN } from "../mx.ts";
import { fieldsOf, isPlainOnTheWire, openDkimVerdicts, tlsOf } from "../received.ts";
import { readByThree } from "./arrived.ts";
import {
  addressesOf,
  buildMessages,
  MESSAGES_BY_ROLE,
  type Message,
  type Role,
  SENDER_DOMAIN,
  toContent,
  userOf,
} from "./messages.ts";
import { MODES, type Mode, type Peer, type Submit } from "./peers.ts";
import type { World } from "./submission.ts";

interface Copy {
  message: Message;
  role: Role;
  arrived: Buffer;
}

export async function checkPeer(peer: Peer, world: World): Promise<void> {
  const folder = join(world.folder, peer.id);
  mkdirSync(folder);
  const startedAt = performance.now();
  const submit = await peer.prepare(folder);
  if (typeof submit === "string") {
    console.log(`NOT RUN ${peer.name}: ${submit}`);
    return;
  }
  const preparedAt = performance.now();
  const sent: Message[] = [];
  for (const mode of MODES) sent.push(...(await submitAll({ peer, world, folder, mode, submit })));
  const sentAt = performance.now();
  const copies = await collectCopies(peer, world, sent);
  for (const mode of MODES) {
    const ofMode = copies.filter(({ message }) => message.key.startsWith(mode));
    if (ofMode.length > 0) await checkCopies({ peer, world, folder }, `${peer.name}, ${mode}`, ofMode);
  }
  const seconds = (from: number, to: number): string => ((to - from) / 1_000).toFixed(1);
  const times = [seconds(startedAt, preparedAt), seconds(preparedAt, sentAt), seconds(sentAt, performance.now())];
  console.log(`time    ${peer.name}: prepared in ${times[0]} s, handed in in ${times[1]} s, checked in ${times[2]} s`);
}

interface Submitting {
  peer: Peer;
  world: World;
  folder: string;
  mode: Mode;
  submit: Submit;
}

/** @returns those that were taken */
async function submitAll({ peer, world, folder, mode, submit }: Submitting): Promise<Message[]> {
  const { checks, servers } = world;
  const messages = buildMessages({ folder: world.folder, peer: peer.id, mode });
  const file = join(folder, `${mode}.json`);
  writeFileSync(file, JSON.stringify(messages));
  const { exitCode, output } = await submit(file, servers[mode]);
  const taken = messages.filter(({ key }) => new RegExp(`^sent ${key}\\b`, "m").test(output));
  const isAll = exitCode === 0 && taken.length === messages.length;
  checks.claim(`${peer.name}, ${mode}: hands in ${messages.length} messages`, isAll, () => output.slice(-2_000));
  if (peer.showsReply === true) {
    const replies = [...output.matchAll(/250 2\.0\.0 Accepted: [0-9a-f-]{36}( \(5 recipients\))?/g)];
    const seen = [new Set(replies.map(([reply]) => reply)).size, replies.filter(([, count]) => count).length > 0];
    checks.equal(`${peer.name}, ${mode}: is told the id of each, and how many recipients`, seen, [taken.length, true]);
  }
  return taken;
}

async function collectCopies(peer: Peer, { mx, checks }: World, sent: Message[]): Promise<Copy[]> {
  const copies: Copy[] = [];
  for (const role of Object.keys(MESSAGES_BY_ROLE) as Role[]) {
    const user = userOf(peer.id, role);
    const toHim = sent.filter((message) => addressesOf(message).includes(`${user}@${MX_DOMAIN}`));
    const all = toHim.length === 0 ? [] : await mx.allMailOf(user, toHim.length);
    checks.equal(
      `${peer.name}: ${role} gets each message once`,
      all.map(keyOf).toSorted(),
      toHim.map(({ key }) => key).toSorted(),
    );
    for (const message of toHim) {
      const arrived = all.find((each) => keyOf(each) === message.key);
      if (arrived !== undefined) copies.push({ message, role, arrived });
    }
  }
  return copies;
}

const keyOf = (message: Buffer): string => fieldsOf(message, "X-Sample")[0] ?? "";

interface Checking {
  peer: Peer;
  world: World;
  folder: string;
}

async function checkCopies({ peer, world, folder }: Checking, name: string, copies: Copy[]): Promise<void> {
  const { checks, zone } = world;
  const read = await readByThree(
    copies.map(({ arrived }) => arrived),
    folder,
  );
  const differences = copies.flatMap(({ message, role }, i) =>
    Object.entries(read[i] ?? {}).flatMap(([reader, content]) => {
      const wanted = toContent(message, peer.fault);
      return (Object.keys(wanted) as (keyof typeof wanted)[])
        .filter((key) => !Bun.deepEquals(content[key], wanted[key]))
        .map((key) => `${message.key} to ${role}, ${reader}: ${key} is ${JSON.stringify(content[key])}`);
    }),
  );
  checks.equal(`${name}: three readers find what was sent`, differences, []);
  const failing = (isGood: (copy: Copy) => boolean): string[] =>
    copies.filter((copy) => !isGood(copy)).map(({ message, role }) => `${message.key} to ${role}`);
  checks.equal(
    `${name}: over TLS`,
    failing(({ arrived }) => tlsOf(arrived) !== null),
    [],
  );
  checks.equal(
    `${name}: short 7-bit lines`,
    failing(({ arrived }) => isPlainOnTheWire(arrived)),
    [],
  );
  checks.equal(
    `${name}: nothing of blind copies`,
    failing((copy) => !showsBlindCopy(copy)),
    [],
  );
  checks.equal(`${name}: one each of the fields that a message must have`, failing(hasFieldsOnce), []);
  const byOpenDkim = failing(({ arrived }) =>
    areBoth(openDkimVerdicts(arrived, SENDER_DOMAIN).map((each) => each.join(" "))),
  );
  checks.equal(`${name}: OpenDKIM passes both signatures`, byOpenDkim, []);
  const verdicts = await Promise.all(copies.map(({ arrived }) => checkSignatures(arrived, zone)));
  const byMailauth = verdicts.flatMap((each) =>
    areBoth(each.map(({ algorithm, result }) => `${algorithm} ${result}`)) ? [] : [each],
  );
  checks.equal(`${name}: mailauth passes both`, byMailauth, []);
  await checkRecords(world, name, copies);
}

function areBoth(verdicts: string[]): boolean {
  return Bun.deepEquals(verdicts.toSorted(), EXPECTED_VERDICTS);
}

/** A message without what the MX wrote above it. */
function withoutTrace(message: Buffer): string {
  const text = message.toString("latin1");
  return text.slice(text.indexOf("DKIM-Signature:"));
}

function showsBlindCopy({ message, arrived }: Copy): boolean {
  const own = withoutTrace(arrived);
  const isField = fieldsOf(arrived, "Bcc").length > 0;
  return isField || message.bcc.some(({ address }) => own.includes(address));
}

function hasFieldsOnce({ arrived }: Copy): boolean {
  const names = ["From", "To", "Subject", "Date", "Message-ID", "MIME-Version", "Content-Type"];
  return names.every((name) => fieldsOf(arrived, name).length === 1);
}

/** What the API tells of each email. */
async function checkRecords({ api, app, checks }: World, name: string, copies: Copy[]): Promise<void> {
  const faults: string[] = [];
  for (const { message, role, arrived } of copies) {
    const address = addressesOf(message).find((each) => each.includes(`-${role}@`)) ?? "";
    const listed = (await api.expect(200, "GET", `/api/v1/emails?to=${encodeURIComponent(address)}&limit=100`))
      .data as Body[];
    const messageId = fieldsOf(arrived, "Message-ID")[0];
    const ofMessage = listed.filter(({ providerId }) => `<${providerId}>` === messageId);
    const [first] = ofMessage;
    if (ofMessage.length !== 1) {
      faults.push(`${message.key} to ${role}: ${ofMessage.length} emails are listed with its Message-ID`);
      continue;
    }
    const record = await waitForStatus(api, first.id, ["delivered", "bounced", "failed"]);
    const seen = [record.status, record.source, record.to, record.subject, record.kind, record.recipients?.length ?? 1];
    const kind = role === "also" ? "to" : role === "copy" ? "cc" : role;
    const expected = ["delivered", "smtp", address, message.subject, kind, addressesOf(message).length];
    if (!Bun.deepEquals(seen, expected))
      faults.push(`${message.key} to ${role}: ${seen.join()}, not ${expected.join()}`);
    const raw = await fetch(`http://127.0.0.1:${app.port}/api/v1/emails/${first.id}/raw`, {
      headers: { "X-API-Key": api.key },
    });
    const stored = Buffer.from(await raw.arrayBuffer());
    if (raw.status !== 200 || withoutSignatures(stored) !== withoutSignatures(arrived))
      faults.push(`${message.key} to ${role}: /raw, with status ${raw.status}, is not what arrived`);
  }
  checks.equal(`${name}: the API has each, from SMTP and delivered, and its message`, faults, []);
}

/** From the first field that neither the MX nor the signer wrote. */
function withoutSignatures(message: Buffer): string {
  const text = message.toString("latin1");
  const at = text.lastIndexOf("\r\nDKIM-Signature:", text.indexOf("\r\n\r\n"));
  if (at === -1) return text;
  const next = /\r\n(?![ \t])/g;
  next.lastIndex = at + 2;
  return text.slice((next.exec(text)?.index ?? 0) + 2);
}
