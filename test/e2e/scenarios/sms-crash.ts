/** SMS under kills: sending, receiving, and the invariants over the SMSC's journal and the database. */
import { Database } from "bun:sqlite";
import { expect } from "bun:test";
import { join } from "node:path";
import type { Delivery } from "../../support/peers/smsc/codec.ts";
import { type SmscHandle, startSmsc } from "../../support/peers/smsc/client.ts";
import { judge } from "../../support/texting/judge.ts";
import { call, type World } from "./world.ts";

const WINDOW = 10;
const CREDITS = 1_000_000;
/** So that kills find segments without their answers. */
const ANSWER_MS = 15;
/** Each round, beside the receipts. */
const INBOUND_PER_ROUND = 150;

export function startSlowSmsc(): Promise<SmscHandle & AsyncDisposable> {
  return startSmsc({
    script: {
      answerDelayMs: ANSWER_MS,
      receipts: { tlvs: ["receipted_message_id", "message_state", "user_message_reference"] },
    },
  });
}

/** Tables of the configuration. */
export function buildSmsSettings(port: number) {
  return {
    sms: { lost_response_wait: "2s" },
    "[sms.routes]": { name: "vodacom" },
    "[sms.routes.links]": {
      name: "vodacom-a",
      host: "127.0.0.1",
      port,
      tls: "none",
      system_id: "loja",
      password: "segredo",
      window: WINDOW,
      rate: 10_000,
    },
  };
}

/** What subscribers write: what is taken and not acknowledged at the kill comes again. */
export function buildInboundSms(round: number): Delivery[] {
  return Array.from({ length: INBOUND_PER_ROUND }, (_, nth) => ({
    command: "deliver_sm",
    from: `25886${String(round * 10_000 + nth).padStart(7, "0")}`,
    to: "84000",
    esmClass: 0,
    dataCoding: 0,
    bytes: Buffer.from(`Resposta ${round} ${nth}`).toString("hex"),
    isPayload: false,
    tlvs: [],
  }));
}

interface Sending {
  url: string;
  world: World;
  isOver: { value: boolean };
  index: number;
  round: number;
  /** Body by id. */
  accepted: Map<string, string>;
}

export async function sendSms({ url, world, isOver, index, round, accepted }: Sending): Promise<void> {
  for (let count = 0; !isOver.value; count += 1) {
    const isLong = count % 7 === 6;
    const body = `T${round}-${index}-${count} ${isLong ? "parte ".repeat(40) : "fim"}`;
    const to = `+25884${String(round * 100_000 + index * 10_000 + count).padStart(7, "0")}`;
    try {
      const answer = await call(url, world.key, { method: "POST", path: "/api/v1/sms", body: { to, body } });
      if (answer.status === 202) accepted.set(answer.body.data.id, body);
    } catch {
      // The kill took the answer.
    }
  }
}

/** A sender id and credits. */
export async function grantSmsRights(world: World): Promise<void> {
  await using served = await world.serve();
  const { url } = served;
  const list = await call(url, world.operatorKey, { path: "/api/v1/operator/workspaces" });
  const path = `/api/v1/operator/workspaces/${list.body.data[0].id}`;
  await call(url, world.operatorKey, { method: "POST", path: `${path}/sender-ids`, body: { name: "Loja" } });
  const answer = await call(url, world.operatorKey, {
    method: "POST",
    path: `${path}/credits`,
    body: { amount: CREDITS },
  });
  if (answer.status >= 300) throw new Error(JSON.stringify(answer.body));
  served.signal("SIGTERM");
  await served.ended;
}

export function readRows<T>(dataDir: string, query: string): T[] {
  using database = new Database(join(dataDir, "pombo.db"), { readonly: true });
  return database.query<T, []>(query).all();
}

export function countUnfinishedSms(dataDir: string): number {
  const [row] = readRows<{ n: number }>(
    dataDir,
    "SELECT COUNT(*) AS n FROM sms_message WHERE status IN ('queued', 'sending', 'sent')",
  );
  return row?.n ?? 0;
}

interface Ended {
  segments: number;
  status: string;
  category: string | null;
}

/** What the texts that have no end wait for. */
export const OPEN_SEGMENTS = `SELECT message.status, segment.state, segment.receipt_state, segment.parts > 1 AS isLong, COUNT(*) AS n
  FROM sms_message AS message JOIN sms_segment AS segment ON segment.message_id = message.id
  WHERE message.status IN ('queued', 'sending', 'sent') GROUP BY 1, 2, 3, 4`;

/** `kills`: so many times was a window lost. */
export async function checkSmsInvariants(
  { smsc, dataDir, accepted }: { smsc: SmscHandle; dataDir: string; accepted: Map<string, string> },
  kills: number,
): Promise<void> {
  const verdict = await judge({
    smscs: [smsc],
    read: (query) => readRows(dataDir, query),
    accepted: accepted.keys(),
    isSomeUnanswered: true,
    window: WINDOW,
    credits: CREDITS,
  });
  expect(verdict.broken).toEqual([]);
  expect(verdict.marked).toBeLessThanOrEqual(WINDOW * kills);
  const texts = readRows<Ended>(dataDir, "SELECT segments, status, failure_category AS category FROM sms_message");
  const received = readRows<{ body: string }>(dataDir, "SELECT body FROM sms_inbound").map(({ body }) => body);
  expect([received.length, new Set(received).size]).toEqual([kills * INBOUND_PER_ROUND, kills * INBOUND_PER_ROUND]);
  const others = texts.filter(({ status }) => status !== "delivered");
  // A text of one part is delivered, whatever happened to it; one of several is given up where nobody knew of a part.
  expect(others.filter(({ segments, category }) => segments === 1 || category !== "outcome_unknown")).toEqual([]);
  console.log(
    `texts: ${accepted.size} accepted, ${texts.length} stored, ${verdict.submits} submits, ${kills} kills, ${verdict.marked} marked, ` +
      `${verdict.doubled} read twice, ${others.length} of several parts given up, most unanswered ${verdict.mostUnanswered}`,
  );
}
