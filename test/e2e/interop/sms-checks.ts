// What each SMSC is checked for: what it reads of our texts, what its receipts make of them, how its ids are
// understood, and what comes in from it.

import { Database } from "bun:sqlite";
import { join } from "node:path";
import type { Jsmpp } from "../../support/peers/smscs/jsmpp.ts";
import { textTo } from "../../support/peers/smscs/line.ts";
import type { Smsc } from "../../support/peers/smscs/start.ts";
import type { Api, Body, PomboApp, TomlTable } from "../../support/peers/pombo.ts";
import { waitUntil } from "../../support/peers/process.ts";
import type { Checks } from "./checks.ts";
import type { TextSample } from "./sms-samples.ts";

const FINAL_TIMEOUT_MS = 20_000;
/** So many agreeing receipts make pombo sure of how an SMSC writes its ids. */
const ENOUGH_TO_LEARN = 25;

/** One SMSC as the run knows it. */
export interface Peer<S> {
  name: string;
  smsc: S;
  /** The first digits of the numbers that go to it. */
  prefix: string;
  /** Of its route, what is not usual. */
  route: TomlTable;
  /** Of its link. */
  link: TomlTable;
}

export interface FullPeer extends Peer<Smsc> {
  /** A short code of pombo's at it. */
  code: string;
  /** What pombo has to find out about its ids; null: nothing. */
  ids: "same" | "hex_to_decimal" | "decimal_to_hex" | null;
}

export interface SmsChecks {
  api: Api;
  app: PomboApp;
  checks: Checks;
  samples: TextSample[];
}

/** Every sample, a failure, and enough texts for the ids to be understood; then a text from the other side. */
export async function checkPeer(peer: FullPeer, { api, app, checks, samples }: SmsChecks): Promise<void> {
  const { name, smsc, prefix, code } = peer;
  const short = Array.from({ length: peer.ids === null ? 0 : ENOUGH_TO_LEARN }, (_, nth) => `Mensagem ${nth}`);
  const bodies = [...samples.map(({ body }) => body), ...short, `Responda: Sim, está óptimo. ${name}`];
  const sent = bodies.map((body, index) => ({ body, to: `+${prefix}${String(index * 10 + 1).padStart(7, "0")}` }));
  const failing = { body: "Sem sorte", to: `+${prefix}0000009` };
  const ids = new Map<string, string>();
  for (const { body, to } of [failing, ...sent]) ids.set(to, await text(api, { body, to, from: code }));

  const ends = await Promise.all(sent.map(({ to }) => endOf(api, ids.get(to) ?? "")));
  const states = ends.map(({ status, deliveryState }) => `${status} ${deliveryState}`);
  checks.equal(`${name}: ${states.length} texts are delivered`, [...new Set(states)], ["delivered delivered"]);
  for (const [index, sample] of samples.entries()) {
    const read = textTo(smsc.submits(), sent[index]?.to.slice(1) ?? "");
    const expected = { text: sample.body, parts: sample.parts, isWhole: true };
    checks.equal(`${name}: reads ${sample.name} as it was written`, read, expected);
    checks.equal(`${name}: ${sample.name} costs as much as it has parts`, ends[index]?.credits, sample.parts);
  }
  const failed = await endOf(api, ids.get(failing.to) ?? "");
  const { status, providerErrorCode } = failed;
  checks.equal(`${name}: a text that fails is undelivered`, { status, providerErrorCode }, FAILED);
  const first = smsc.submits().find(({ to }) => to === failing.to.slice(1));
  checks.equal(`${name}: its id is the providerId`, failed.providerId, first?.id);
  if (peer.ids !== null) checks.equal(`${name}: how it writes ids is found out`, learned(app, prefix), peer.ids);
  await checkReply(peer, { api, checks });
  const binds = smsc.lines().flatMap((line) => ("bound" in line ? [line.bound] : []));
  const expected = peer.link["bind"] === "pair" ? ["bind_receiver", "bind_transmitter"] : ["bind_transceiver"];
  checks.equal(`${name}: bound once, as it should be`, binds.toSorted(), expected);
  const answers = smsc.lines().flatMap((line) => ("acknowledged" in line ? [line.acknowledged.status] : []));
  checks.equal(`${name}: all it sent was taken`, [...new Set(answers)], [0]);
}

const FAILED = { status: "undelivered", providerErrorCode: "069" };

async function checkReply({ name, code }: FullPeer, { api, checks }: Pick<SmsChecks, "api" | "checks">): Promise<void> {
  let bodies: string[] = [];
  await waitUntil(`a text from ${name}`, FINAL_TIMEOUT_MS, async () => {
    const { data } = await api.expect(200, "GET", "/api/v1/sms/inbound");
    const own = (data as { to: string; body: string }[]).filter(({ to }) => to === code);
    bodies = own.map(({ body }) => body);
    return bodies.length > 0;
  });
  checks.equal(`${name}: a text of a subscriber comes in`, bodies, [`Sim, está óptimo. ${name}`]);
}

/** One that gives every text the same id, and no receipts. */
export async function checkSilent(
  { name, prefix, smsc }: Peer<Smsc & { shortMessages(): Buffer[] }>,
  { api, checks }: SmsChecks,
): Promise<void> {
  const bodies = ["Bom dia", "Olé: 5 €", "Não há"];
  const numbers = bodies.map((_, index) => `+${prefix}${String(index).padStart(7, "0")}`);
  const ids = await Promise.all(numbers.map((to, index) => text(api, { to, body: bodies[index] ?? "", from: "Loja" })));
  const ends = await Promise.all(ids.map((id) => endOf(api, id)));
  const seen = ends.map(({ status, deliveryState, providerId }) => `${status} ${deliveryState} ${providerId}`);
  checks.equal(`${name}: texts are sent, their delivery unknown`, [...new Set(seen)], ["sent unknown 123456789"]);
  const expected = ["426f6d20646961", "4f6c 05 3a 20 35 20 1b65", "004e 00e3 006f 0020 0068 00e1"];
  checks.equal(
    `${name}: reads the bytes of GSM 03.38 and UTF-16`,
    smsc
      .shortMessages()
      .map((bytes) => bytes.toString("hex"))
      .toSorted(),
    expected.map((hex) => hex.replaceAll(" ", "")).toSorted(),
  );
  // It forks for a connection and keeps it open itself: pombo would have to wait, in vain, for it to be closed.
  await smsc.stop();
}

/** One whose ids are random, that knows no failures, and shows texts in ASCII alone. */
export async function checkJava({ name, prefix, smsc }: Peer<Jsmpp>, { api, app, checks }: SmsChecks): Promise<void> {
  const short = Array.from({ length: ENOUGH_TO_LEARN }, (_, nth) => `Mensagem ${nth}`);
  const bodies = [...short, "Texto comprido de duas partes, ".repeat(6)];
  const numbers = bodies.map((_, index) => `+${prefix}${String(index).padStart(7, "0")}`);
  const ids: string[] = [];
  for (const [index, to] of numbers.entries()) {
    ids.push(await text(api, { to, body: bodies[index] ?? "", from: "Loja" }));
  }
  const ends = await Promise.all(ids.map((id) => endOf(api, id)));
  const states = ends.map(({ status, deliveryState }) => `${status} ${deliveryState}`);
  checks.equal(`${name}: ${states.length} texts are delivered`, [...new Set(states)], ["delivered delivered"]);
  const idOf = new Map(smsc.texts().map(({ text: read, id }) => [read, id]));
  const wrong = short.filter((body, index) => idOf.get(body) !== ends[index]?.providerId);
  checks.equal(`${name}: reads texts as they were written, and its ids are our providerIds`, wrong, []);
  checks.equal(`${name}: how it writes ids is found out`, learned(app, prefix), "decimal_to_hex");
}

async function text(api: Api, body: { to: string; body: string; from: string }): Promise<string> {
  return (await api.expect(202, "POST", "/api/v1/sms", body)).data.id;
}

/** The record once nothing more comes. */
async function endOf(api: Api, id: string): Promise<Body> {
  let record: Body = null;
  const isOver = async () => {
    record = (await api.expect(200, "GET", `/api/v1/sms/${id}`)).data;
    return !["queued", "sending"].includes(record.status) && !["pending", "enroute"].includes(record.deliveryState);
  };
  try {
    await waitUntil("the end of a text", FINAL_TIMEOUT_MS, isOver);
  } catch (error) {
    throw new Error(`a text has no end: ${JSON.stringify(record)}`, { cause: error });
  }
  return record;
}

function learned({ dataFolder }: PomboApp, prefix: string): string | undefined {
  using database = new Database(join(dataFolder, "pombo.db"), { readonly: true });
  const query = database.query<{ value: string }, [string]>("SELECT value FROM smpp_learned WHERE route = ?");
  return query.get(`to-${prefix}`)?.value;
}
