// What a million messages for one dead domain cost the others: `script/bench backlog`. Of two equal
// instances one is stopped, gets the million written into its database and is started again; then both
// deliver to another domain, in turns, so that whatever else the machine does meets both alike. A third
// one that nobody uses tells the memory at rest. Exit code 1: a bound was missed or something failed; 2: a
// tool is missing. With --scheduled the million wait for tomorrow, in the lane of the others.

import { Database } from "bun:sqlite";
import { mkdirSync } from "node:fs";
import { createServer, type Socket } from "node:net";
import { join } from "node:path";
import { parseArgs } from "node:util";
import { ensureTools, SMTP_SINK } from "../test/support/peers/packages.ts";
import { findPombo, servePombo, startPombo } from "../test/support/peers/pombo.ts";
import { makeFolder, runProgram, waitUntil, type Cleanup } from "../test/support/peers/process.ts";
import { serveZone } from "../test/support/peers/zone.ts";
import { formatBacklog, judgeBacklog, type BacklogFigures, type Round } from "./backlog-report.ts";
import { quantile } from "./load.ts";
import { BLOCKED_DOMAIN, makeContent, recipient, RECIPIENT_DOMAIN, SENDER_DOMAIN } from "./message.ts";
import { readResident, type Resident } from "./memory.ts";
import { benchZone, measureDelivery, measurePosts, preparePombo, REFUSING_ADDRESS, type Bench } from "./pombo.ts";
import { startProof } from "./proof.ts";
import { describeMachine } from "./report.ts";
import { databaseFile, fill, idOf, insertForEach, type Filled } from "./rows.ts";
import { limitRun } from "./run-limit.ts";
import { startSink } from "./sink.ts";
import { isHeld } from "./table.ts";

const USAGE = `usage: script/bench backlog [options]
  --rows N        messages that wait for the dead domain (1000000)
  --messages N    messages delivered to another domain in each round (5000)
  --rounds N      rounds of delivery without and with the backlog, in turns; the median of the ratios counts (3)
  --seconds N     length of the POST phases (4)
  --scheduled     they are scheduled for tomorrow, for the domain that the others go to; 500 more fall due in one second
  --mute          its MX takes connections and never says a word, instead of refusing them
  --keep          leave the temporary folder
`;
const RUN_LIMIT_MS = 240_000;
/** Emails of one request. */
const BATCH = 100;
const IDLE_MS = 10_000;
/** After a start sites begin anew with few sessions. */
const WARM_UP_MESSAGES = 500;
const HOUR_MS = 3_600_000;
const DAY_MS = 24 * HOUR_MS;
const DUE = 500;
/** They are accepted by then. */
const DUE_IN_MS = 4_000;
const DUE_TIMEOUT_MS = 30_000;
/** The domain died that long ago; what came since waits. */
const DEAD_FOR_MS = 10 * HOUR_MS;

interface Options {
  rows: number;
  messages: number;
  rounds: number;
  seconds: number;
  kind: BacklogFigures["kind"];
  isKept: boolean;
}

await runProgram(async (cleanup) => {
  const options = readOptions(process.argv.slice(2));
  if (!options) {
    console.error(USAGE);
    return 2;
  }
  const trouble = await ensureTools([SMTP_SINK]);
  if (trouble !== null) {
    console.error(trouble);
    return 2;
  }
  const endLimit = limitRun(RUN_LIMIT_MS);
  const figures = await measure(options, cleanup);
  endLimit();
  console.log(formatBacklog(figures));
  return judgeBacklog(figures).every(isHeld) ? 0 : 1;
});

async function measure(options: Options, cleanup: Cleanup): Promise<BacklogFigures> {
  const folder = makeFolder("bench", cleanup, options.isKept);
  const machine = describeMachine(folder);
  const sink = await startSink(folder, cleanup);
  const zone = benchZone();
  const dns = await serveZone(zone);
  cleanup.add(() => dns.close());
  const { kind } = options;
  const mute = kind === "mute" ? await startMute(sink.port) : null;
  cleanup.add(() => mute?.hangUp());

  say("an instance that nobody uses …");
  const idle = await measureIdle(subfolder(folder, "idle"), cleanup);
  say("two instances that are used …");
  const proof = startProof(folder, sink.port, cleanup);
  const common = { dnsPort: dns.port, zone, sink, proof, cleanup };
  const plain = await preparePombo({ folder: subfolder(folder, "plain"), ...common });
  const loaded = await preparePombo({ folder: subfolder(folder, "loaded"), ...common });
  const isScheduled = kind === "scheduled";
  const uid = await acceptOne(loaded, isScheduled);
  await stop(loaded, mute);

  say(`writing ${options.rows} messages that wait …`);
  const write = isScheduled ? writeScheduled : writeBacklog;
  const filled = await write(loaded.app.dataFolder, uid, options.rows);
  say(`${filled.rows} in ${filled.seconds.toFixed(0)} s; starting again …`);
  const startedAt = performance.now();
  loaded.app = await servePombo(loaded.app, cleanup);
  const startMs = performance.now() - startedAt;
  const { pid } = loaded.app.process;
  const atStart = readResident(pid);
  await measureDelivery(loaded, WARM_UP_MESSAGES, "html+text");

  const rounds: Round[] = [];
  for (let round = 1; round <= options.rounds; round++) {
    say(`${options.messages} messages without the backlog, then with it: round ${round} of ${options.rounds} …`);
    const without = await measureDelivery(plain, options.messages, "html+text");
    rounds.push({ without, behind: await measureDelivery(loaded, options.messages, "html+text") });
  }
  say("POST to the dead domain …");
  const posts = {
    without: await measurePosts(plain, 1, options.seconds),
    behind: await measurePosts(loaded, 1, options.seconds),
  };
  const dueToDeliveredMs = isScheduled ? await measureDue(loaded) : null;
  const busy = readResident(pid);
  const plainBusy = readResident(plain.app.process.pid);
  await Bun.sleep(IDLE_MS);
  const after = readResident(pid);
  await stop(loaded, mute);
  const left = countBacklog(loaded.app.dataFolder, uid);
  if (left.waiting < options.rows) throw new Error(`${options.rows} messages waited, ${left.waiting} are left`);
  const resident = { idle, plainBusy, atStart, busy, after };
  const app = findPombo().what;
  const { attempts } = left;
  return { machine, app, kind, rounds, posts, filled, startMs, resident, attempts, dueToDeliveredMs };
}

function subfolder(folder: string, name: string): string {
  const made = join(folder, name);
  mkdirSync(made);
  return made;
}

/** The memory of an instance without a workspace, ready and some seconds later. */
async function measureIdle(folder: string, cleanup: Cleanup): Promise<[ready: Resident, later: Resident]> {
  const part = cleanup.part();
  try {
    const app = await startPombo({ folder, hostname: `pombo.${SENDER_DOMAIN}`, cleanup: part, settings: {} });
    const ready = readResident(app.process.pid);
    await Bun.sleep(IDLE_MS);
    return [ready, readResident(app.process.pid)];
  } finally {
    await part.close();
  }
}

interface Mute {
  /** Ends all its connections. */
  hangUp(): void;
}

/** The dead domain's MX as a machine that takes connections and does nothing else. */
async function startMute(port: number): Promise<Mute> {
  const sockets = new Set<Socket>();
  const server = createServer((socket) => {
    sockets.add(socket);
    socket.on("error", () => socket.destroy()).on("close", () => sockets.delete(socket));
  });
  await new Promise<void>((resolve) => server.listen(port, REFUSING_ADDRESS, resolve));
  return { hangUp: () => sockets.forEach((socket) => socket.destroy()) };
}

/** A stop waits for running sessions: those with the mute server would wait for minutes. */
async function stop(bench: Bench, mute: Mute | null): Promise<void> {
  const stopped = bench.app.process.stop();
  mute?.hangUp();
  await stopped;
}

/** The email whose rows are multiplied; its id. */
async function acceptOne(bench: Bench, isScheduled: boolean): Promise<string> {
  const email = isScheduled
    ? { ...makeEmail(bench, RECIPIENT_DOMAIN), sendAt: new Date(Date.now() + DAY_MS).toISOString() }
    : makeEmail(bench, BLOCKED_DOMAIN);
  return (await bench.api.expect(202, "POST", "/api/v1/emails", email)).data.id;
}

function makeEmail(bench: Bench, domain: string) {
  const { subject, html, text } = makeContent(0, "html+text");
  const to = recipient(bench.nextNumber++, domain);
  return { from: `Loja Bench <loja@${SENDER_DOMAIN}>`, to, subject, html, text };
}

/** Emails whose times lie evenly in one second, some seconds ahead; how late each is delivered. */
async function measureDue(bench: Bench): Promise<{ p50: number; p99: number }> {
  say(`${DUE} emails due in one second …`);
  const from = Date.now() + DUE_IN_MS;
  const emails = Array.from({ length: DUE }, (_, index) => ({
    ...makeEmail(bench, RECIPIENT_DOMAIN),
    sendAt: new Date(from + Math.floor((index * 1_000) / DUE)).toISOString(),
  }));
  const accepted: { id: string }[] = [];
  for (let index = 0; index < DUE; index += BATCH) {
    const batch = { emails: emails.slice(index, index + BATCH) };
    accepted.push(...(await bench.api.expect(202, "POST", "/api/v1/emails/batch", batch)).data);
  }
  if (Date.now() >= from) throw new Error("the emails were accepted too late to be due later");
  await Bun.sleep(from + 1_000 - Date.now());
  const lateMs: number[] = [];
  for (const { id } of accepted) {
    await waitUntil("an email that is due is delivered", DUE_TIMEOUT_MS, async () => {
      const { sendAt, deliveredAt } = (await bench.api.expect(200, "GET", `/api/v1/emails/${id}`)).data;
      if (deliveredAt === null) return false;
      lateMs.push(Date.parse(deliveredAt) - Date.parse(sendAt));
      return true;
    });
  }
  if (Math.min(...lateMs) < 0) throw new Error("an email was delivered before its time");
  return { p50: quantile(lateMs, 0.5), p99: quantile(lateMs, 0.99) };
}

function writeBacklog(dataFolder: string, uid: string, rows: number): Promise<Filled> {
  const createdTo = Date.now() - 60_000;
  const copies = {
    uid,
    rows,
    createdFrom: createdTo - DEAD_FOR_MS,
    createdTo,
    recipient: `printf('b%09d@${BLOCKED_DOMAIN}', n.i)`,
  };
  return fill(dataFolder, copies, (made) =>
    // All of them due at once: the most that a lane can be asked to hold back.
    insertForEach(
      made,
      idOf(made.database, uid),
      `INSERT INTO email_queue (id, lane_id, workspace_id, domain_id, created_at, next_at, expires_at)
       SELECT email.id, q.lane_id, email.workspace_id, email.domain_id, email.created_at, email.created_at, email.created_at + q.expires_at - t.created_at
       FROM $NUMBERS AS n CROSS JOIN email ON email.id = $first + n.i, email_queue AS q, email AS t
       WHERE q.id = $template AND t.id = $template`,
    ),
  );
}

/** From tomorrow on, one each 86 ms or so. */
function writeScheduled(dataFolder: string, uid: string, rows: number): Promise<Filled> {
  const createdTo = Date.now() - 60_000;
  const copies = {
    uid,
    rows,
    createdFrom: createdTo - DEAD_FOR_MS,
    createdTo,
    recipient: `printf('b%09d@${RECIPIENT_DOMAIN}', n.i)`,
  };
  return fill(dataFolder, copies, async (made) => {
    const template = idOf(made.database, uid);
    const step = Math.max(1, Math.floor(DAY_MS / rows));
    await insertForEach(
      made,
      template,
      `INSERT INTO email_queue (id, lane_id, workspace_id, domain_id, created_at, next_at, send_at, expires_at)
       SELECT email.id, q.lane_id, email.workspace_id, email.domain_id, email.created_at, q.send_at + n.i * ${step},
         q.send_at + n.i * ${step}, q.expires_at + n.i * ${step}
       FROM $NUMBERS AS n CROSS JOIN email ON email.id = $first + n.i, email_queue AS q WHERE q.id = $template`,
    );
    made.database.run(
      "UPDATE email SET send_at = (SELECT send_at FROM email_queue WHERE email_queue.id = email.id) WHERE id >= ?",
      [made.first],
    );
  });
}

/** What waits as the first email does in the stopped instance, and how many attempts were made at it. */
function countBacklog(dataFolder: string, uid: string): { waiting: number; attempts: number } {
  using database = new Database(databaseFile(dataFolder), { readonly: true });
  const row = database
    .query<{ waiting: number; attempts: number }, [number]>(
      `SELECT COUNT(*) AS waiting, SUM(attempts) AS attempts FROM email_queue
       WHERE lane_id = (SELECT lane_id FROM email_queue WHERE id = ?)`,
    )
    .get(idOf(database, uid));
  return row ?? { waiting: 0, attempts: 0 };
}

function readOptions(args: string[]): Options | null {
  try {
    const { values } = parseArgs({
      args,
      options: {
        rows: { type: "string" },
        messages: { type: "string" },
        rounds: { type: "string" },
        seconds: { type: "string" },
        mute: { type: "boolean" },
        scheduled: { type: "boolean" },
        keep: { type: "boolean" },
      },
    });
    const options: Options = {
      rows: Number(values.rows ?? 1_000_000),
      messages: Number(values.messages ?? 5000),
      rounds: Number(values.rounds ?? 3),
      seconds: Number(values.seconds ?? 4),
      kind: values.scheduled === true ? "scheduled" : values.mute === true ? "mute" : "refused",
      isKept: values.keep === true,
    };
    const { rows, messages, rounds, seconds } = options;
    return [rows, messages, rounds, seconds].every((number) => number >= 1) ? options : null;
  } catch {
    return null;
  }
}

/** Progress goes to standard error, so that standard output is the report alone. */
function say(line: string): void {
  console.error(line);
}
