// A mail server that never stops talking: endless lines, an endless line, a hundred thousand replies, a
// banner of 10 MB, in clear and under TLS. The process it talks to hangs up, stays small, keeps
// delivering everybody else's mail, and brings the talker its own once it has calmed down.
import { expect, setDefaultTimeout, test } from "bun:test";
import { readdirSync, readFileSync } from "node:fs";
import { flood, type Mx, type MxScript, startMx } from "../../support/fakes/mx.ts";
import { waitUntil } from "../../support/peers/process.ts";
import { startCountingMx } from "./counting-mx.ts";
import { copiesOf } from "./street.ts";
import { bugsOf, call, createWorld, DESTINATIONS, emailTo, type Served, type World } from "./world.ts";

setDefaultTimeout(180_000);

const LIMIT_MS = 20_000;
/** On a slow machine a host may have failed so often by then that it is left alone for a minute. */
const MENDED_LIMIT_MS = 80_000;
const BAD_ADDRESS = "127.0.0.2";
/** To the talker, and to everybody else, with each of its ways to talk. */
const PER_FLOOD = { bad: 2, healthy: 20 };
/** An unbounded buffer takes in a gigabyte of loopback in the same time. */
const GROWTH_LIMIT_MB = 64;
/** What this test holds open to the API. */
const OWN_CONNECTIONS = 4;
/** The thread that checkpoints: two for its event loop, and one of the database that SQLite keeps. */
const THREAD_FILES = 3;
const BANNER_BYTES = 10_000_000;
const REPLIES = 100_000;

const line = "250 2.0.0 Ok\r\n";
const FLOODS: { what: string; script: MxScript; reason: string | null }[] = [
  {
    what: "a greeting of lines without end",
    script: { greeting: flood("220-hello\r\n", Infinity) },
    reason: "a reply of more than 100 lines",
  },
  {
    what: "a greeting of one line without end",
    script: { greeting: flood("y".repeat(1_000), Infinity) },
    reason: "a reply line of more than 2048 bytes",
  },
  {
    what: "a banner of 10 MB",
    script: { greeting: flood(`220-${"y".repeat(70)}\r\n`, BANNER_BYTES) },
    reason: "a reply of more than 100 lines",
  },
  {
    what: "a hundred thousand replies to EHLO",
    script: { ehlo: flood(line, REPLIES * line.length) },
    reason: "unasked: 250 2.0.0 Ok",
  },
  {
    what: "an answer to MAIL without end",
    script: { mail: flood("250-2.1.0 Ok\r\n", Infinity) },
    reason: "a reply of more than 100 lines",
  },
  {
    what: "an answer to RCPT without end, under TLS",
    script: { tls: "good", rcpt: flood("250-2.1.5 Ok\r\n", Infinity) },
    reason: "a reply of more than 100 lines",
  },
  {
    what: "bytes without end in the place of TLS",
    script: { tls: "good", startTls: flood("220 Ready\r\n", Infinity) },
    reason: "unasked: 220 Ready",
  },
  // The first of them is the answer, and counts.
  { what: "acceptances without end", script: { dot: flood(line, Infinity) }, reason: null },
];

test("a mail server that floods is hung up on: nobody else waits, nothing grows, and its mail comes when it stops", async () => {
  await using healthy = await startCountingMx();
  await using world = await createWorld({ mxPort: healthy.port, settings: { email: { retry_schedule: ["5s"] } } });
  const bad = await startMx({}, { address: BAD_ADDRESS, port: healthy.port });
  try {
    await using served = await world.serve();
    // What it needs for mail at all, TLS included, is no growth.
    bad.script = { tls: "good" };
    const atStart = openFiles(served);
    const sent = [...(await sendPair(served, world, "warm-up"))];
    await waitUntil("the first mail", LIMIT_MS, () => {
      return bad.messages.length === PER_FLOOD.bad && healthy.distinct === PER_FLOOD.healthy;
    });
    for (const connection of bad.connections) connection.drop();
    const before = peakMegabytes(served);

    for (const { what, script, reason } of FLOODS) {
      const earlier = { bad: bad.connections.length, healthy: healthy.distinct };
      bad.script = script;
      const ids = await sendPair(served, world, what);
      sent.push(...ids);
      await waitUntil(`the healthy mail beside ${what}`, LIMIT_MS, () => {
        return healthy.distinct === earlier.healthy + PER_FLOOD.healthy;
      });
      for (const id of ids) await expectTold(served, world, { id, what, reason });
      expect({ what, isTried: bad.connections.length > earlier.bad }).toEqual({ what, isTried: true });
      await waitUntil(`the end of the connections with ${what}`, LIMIT_MS, () => {
        return bad.connections.slice(0, -2).every(({ isClosed }) => isClosed);
      });
    }
    expect(peakMegabytes(served) - before).toBeLessThan(GROWTH_LIMIT_MB);

    bad.script = {};
    await waitUntil("all mail to the mended server", MENDED_LIMIT_MS, () => copiesOf(bad).size === sent.length);
    for (const id of sent) await expectTold(served, world, { id, what: "the end", reason: null });
    expect(copiesOf(bad)).toEqual(new Map(sent.map((id) => [id, 1])));
    expect(healthy.arrivals).toHaveLength(healthy.distinct);
    await waitUntil("the end of all connections", LIMIT_MS, () => allClosed(bad) && healthy.openConnections === 0);
    expect(openFiles(served)).toBeLessThanOrEqual(atStart + OWN_CONNECTIONS + THREAD_FILES);
    expect(bugsOf(served)).toEqual([]);
    served.signal("SIGTERM");
    expect(await served.ended).toEqual({ code: 0, signal: null });
  } finally {
    await bad.close();
  }
});

/** Mail to the talker, its ids, and to everybody else in between. */
async function sendPair(served: Served, world: World, subject: string): Promise<string[]> {
  const ids: string[] = [];
  const send = async (to: string) => {
    const reply = await call(served.url, world.key, {
      method: "POST",
      path: "/api/v1/emails",
      body: emailTo(to, subject),
    });
    expect(reply.status).toBe(202);
    return reply.body.data.id as string;
  };
  for (let n = 0; n < PER_FLOOD.bad; n += 1) {
    // A mail host of its own each: what is tried again of the one does not hold up the first try of the next.
    const domain = `${subject.toLowerCase().replaceAll(/[^a-z]/g, "")}${n}.test`;
    world.dns.zone[domain] = { MX: [[10, `mx.${domain}`]] };
    world.dns.zone[`mx.${domain}`] = { A: [BAD_ADDRESS] };
    ids.push(await send(`user@${domain}`));
    for (let m = 0; m < PER_FLOOD.healthy / PER_FLOOD.bad; m += 1) {
      await send(`user${m}@${DESTINATIONS[m % DESTINATIONS.length]}`);
    }
  }
  return ids;
}

/** Its record tells what the server did; null: it was delivered. */
async function expectTold(
  served: Served,
  world: World,
  { id, what, reason }: { id: string; what: string; reason: string | null },
): Promise<void> {
  let email: { status: string; lastReply: string | null; possibleDuplicate: boolean } | undefined;
  const isTold = async () => {
    email = (await call(served.url, world.key, { path: `/api/v1/emails/${id}` })).body.data;
    return reason === null ? email?.status === "delivered" : (email?.lastReply?.startsWith(reason) ?? false);
  };
  await waitUntil(`${reason ?? "delivered"} after ${what}`, LIMIT_MS, isTold);
  expect({ what, isDuplicate: email?.possibleDuplicate }).toEqual({ what, isDuplicate: false });
  if (reason !== null) expect(["sending", "delivery_delayed"]).toContain(email?.status ?? "");
}

function allClosed(mx: Mx): boolean {
  return mx.connections.every(({ isClosed }) => isClosed);
}

/** The most memory that the process has held until now. */
function peakMegabytes({ pid }: Served): number {
  const status = readFileSync(`/proc/${pid}/status`, "latin1");
  return Number(/^VmHWM:\s+(\d+) kB$/m.exec(status)?.[1]) / 1024;
}

function openFiles({ pid }: Served): number {
  return readdirSync(`/proc/${pid}/fd`).length;
}
