// kill -9 while texts go out, again and again, and the SMSC's own journal against the database afterwards: nothing
// that was answered with 202 is lost; what the SMSC read twice was in flight at a kill, is never more than a window
// for each, and says so; texts of several parts are never sent twice.
import { Database } from "bun:sqlite";
import { join } from "node:path";
import { expect, setDefaultTimeout, test } from "bun:test";
import type { Delivery } from "../../support/peers/smsc/codec.ts";
import { type SmscHandle, startSmsc } from "../../support/peers/smsc/client.ts";
import { waitUntil } from "../../support/peers/process.ts";
import { judge } from "../../support/texting/judge.ts";
import { within } from "./child.ts";
import { bugsOf, call, createWorld, type Served, type World } from "./world.ts";

const ROUNDS = Number(process.env["ROUNDS"] ?? 4);
const WINDOW = 10;
const CUSTOMERS = 5;
const CREDITS = 1_000_000;
const ROUND_LIMIT_MS = 30_000;
const DRAIN_LIMIT_MS = 120_000;
/** With more than this behind, one customer goes on alone: what is left at the end is to be sent in a minute. */
const MAX_OPEN = 500;
/** Each round, beside the receipts. */
const TEXTS_IN = 150;
/** So that kills find segments without their answers. */
const ANSWER_MS = 15;

setDefaultTimeout((ROUNDS + 4) * ROUND_LIMIT_MS);

test("after kill -9 at any moment no text is lost, and what may have come twice is marked", async () => {
  await using smsc = await startSmsc({
    script: {
      answerDelayMs: ANSWER_MS,
      receipts: { tlvs: ["receipted_message_id", "message_state", "user_message_reference"] },
    },
  });
  const settings = {
    sms: { lost_response_wait: "2s" },
    "[sms.routes]": { name: "vodacom" },
    "[sms.routes.links]": {
      name: "vodacom-a",
      host: "127.0.0.1",
      port: smsc.port,
      tls: "none",
      system_id: "loja",
      password: "segredo",
      window: WINDOW,
      rate: 10_000,
    },
  };
  await using world = await createWorld({ mxPort: 9, settings });
  await furnish(world);
  const accepted = new Map<string, string>();
  for (let round = 0; round < ROUNDS; round += 1) {
    await using served = await world.serve();
    const isOver = { value: false };
    const customers = openTexts(world.dataDir) > MAX_OPEN ? 1 : CUSTOMERS;
    const senders = Array.from({ length: customers }, (_, index) =>
      send({ served, world, isOver, index, round, accepted }),
    );
    const { submits } = (await smsc.state()).counters;
    await smsc.deliver("loja", ...textsOf(round));
    await within(ROUND_LIMIT_MS, "submits", smsc.until({ submits: submits + 30 + Math.floor(Math.random() * 300) }));
    served.signal("SIGKILL");
    isOver.value = true;
    expect(await served.ended).toEqual({ code: null, signal: "SIGKILL" });
    await Promise.all(senders);
    expect(bugsOf(served)).toEqual([]);
  }
  await using last = await world.serve();
  try {
    await waitUntil("all texts have an end", DRAIN_LIMIT_MS, () => openTexts(world.dataDir) === 0);
  } catch (error) {
    const open = JSON.stringify(read(world.dataDir, OPEN_SEGMENTS));
    throw new Error(`${open} of ${accepted.size} texts\n${last.stdout().slice(-2_000)}`, { cause: error });
  }
  await smsc.untilAtMost({ waiting: 0, unacknowledged: 0 });
  last.signal("SIGTERM");
  expect(await last.ended).toEqual({ code: 0, signal: null });
  expect(bugsOf(last)).toEqual([]);
  await judgeAll(smsc, world.dataDir, accepted);
});

/** What subscribers write: what is taken and not acknowledged at the kill comes again. */
function textsOf(round: number): Delivery[] {
  return Array.from({ length: TEXTS_IN }, (_, nth) => ({
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
  served: Served;
  world: World;
  isOver: { value: boolean };
  index: number;
  round: number;
  /** Body by id. */
  accepted: Map<string, string>;
}

async function send({ served, world, isOver, index, round, accepted }: Sending): Promise<void> {
  for (let count = 0; !isOver.value; count += 1) {
    const isLong = count % 7 === 6;
    const body = `T${round}-${index}-${count} ${isLong ? "parte ".repeat(40) : "fim"}`;
    const to = `+25884${String(round * 100_000 + index * 10_000 + count).padStart(7, "0")}`;
    try {
      const answer = await call(served.url, world.key, { method: "POST", path: "/api/v1/sms", body: { to, body } });
      if (answer.status === 202) accepted.set(answer.body.data.id, body);
    } catch {
      // The kill took the answer.
    }
  }
}

async function furnish(world: World): Promise<void> {
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

function read<T>(dataDir: string, query: string): T[] {
  using database = new Database(join(dataDir, "pombo.db"), { readonly: true });
  return database.query<T, []>(query).all();
}

function openTexts(dataDir: string): number {
  const [row] = read<{ n: number }>(
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
const OPEN_SEGMENTS = `SELECT message.status, segment.state, segment.receipt_state, segment.parts > 1 AS isLong, COUNT(*) AS n
  FROM sms_message AS message JOIN sms_segment AS segment ON segment.message_id = message.id
  WHERE message.status IN ('queued', 'sending', 'sent') GROUP BY 1, 2, 3, 4`;

async function judgeAll(smsc: SmscHandle, dataDir: string, accepted: Map<string, string>): Promise<void> {
  const verdict = await judge({
    smscs: [smsc],
    read: (query) => read(dataDir, query),
    accepted: accepted.keys(),
    isSomeUnanswered: true,
    window: WINDOW,
    credits: CREDITS,
  });
  expect(verdict.broken).toEqual([]);
  expect(verdict.marked).toBeLessThanOrEqual(WINDOW * ROUNDS);
  const texts = read<Ended>(dataDir, "SELECT segments, status, failure_category AS category FROM sms_message");
  const received = read<{ body: string }>(dataDir, "SELECT body FROM sms_inbound").map(({ body }) => body);
  expect([received.length, new Set(received).size]).toEqual([ROUNDS * TEXTS_IN, ROUNDS * TEXTS_IN]);
  const others = texts.filter(({ status }) => status !== "delivered");
  // A text of one part is delivered, whatever happened to it; one of several is given up where nobody knew of a part.
  expect(others.filter(({ segments, category }) => segments === 1 || category !== "outcome_unknown")).toEqual([]);
  console.log(
    `sms-kill: ${accepted.size} accepted, ${texts.length} stored, ${verdict.submits} submits, ${ROUNDS} kills, ${verdict.marked} marked, ` +
      `${verdict.doubled} read twice, ${others.length} of several parts given up, most unanswered ${verdict.mostUnanswered}`,
  );
}
