// What the removal of a million old emails costs: `script/bench retention`. Their database is opened here first: each
// batch is timed by the wall and by the thread's processor time, and the bytes that it writes to the log are counted, which
// go to a replica. Then an instance removes more while it and an equal one without old emails deliver in turns.

import { Database } from "bun:sqlite";
import { mkdirSync } from "node:fs";
import { join } from "node:path";
import { parseArgs } from "node:util";
import { ensureTools, SMTP_SINK } from "../test/support/peers/packages.ts";
import { findPombo, servePombo } from "../test/support/peers/pombo.ts";
import { makeFolder, runProgram, waitUntil, type Cleanup } from "../test/support/peers/process.ts";
import { serveZone } from "../test/support/peers/zone.ts";
import { benchZone, measureDelivery, preparePombo, type Bench } from "./pombo.ts";
import { startProof } from "./proof.ts";
import { measureRemoval, measureShrink } from "./removal.ts";
import { describeMachine } from "./report.ts";
import { formatRetention, judgeRetention, type RetentionFigures } from "./retention-report.ts";
import { databaseFile, fill, idOf, insertForEach, type Filled } from "./rows.ts";
import { limitRun } from "./run-limit.ts";
import { startSink } from "./sink.ts";
import { isHeld } from "./table.ts";

const USAGE = `usage: script/bench retention [options]
  --rows N        old emails (1000000)
  --messages N    messages delivered in each round (5000)
  --rounds N      rounds without and with the removal, in turns; the median of the ratios counts (3)
  --seconds N     for how long batches are timed (30)
  --keep          leave the temporary folder
`;
const RUN_LIMIT_MS = 360_000;
const DAY_MS = 86_400_000;
/** [records] retention, over how many days the written emails were accepted, and how many of them are old. */
const RETENTION_DAYS = 400;
const SPAN_DAYS = 125;
const OLD_SHARE = 0.8;
/** The first pass comes a minute after a start (platform/db/purge.ts). */
const FIRST_PASS_LIMIT_MS = 90_000;

interface Options {
  rows: number;
  messages: number;
  rounds: number;
  seconds: number;
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
  console.log(formatRetention(figures));
  return judgeRetention(figures).every(isHeld) ? 0 : 1;
});

async function measure(options: Options, cleanup: Cleanup): Promise<RetentionFigures> {
  const folder = makeFolder("bench", cleanup, options.isKept);
  const machine = describeMachine(folder);
  const sink = await startSink(folder, cleanup);
  const zone = benchZone();
  const dns = await serveZone(zone);
  cleanup.add(() => dns.close());
  const proof = startProof(folder, sink.port, cleanup);
  const common = { dnsPort: dns.port, zone, sink, proof, cleanup };
  say("two instances …");
  const plain = await preparePombo({ folder: subfolder(folder, "plain"), ...common });
  const loaded = await preparePombo({ folder: subfolder(folder, "loaded"), ...common });
  const uid: string = (await loaded.api.expect(200, "GET", "/api/v1/emails?limit=1")).data[0].id;
  await loaded.app.process.stop();
  say(`writing ${options.rows} old emails …`);
  const { dataFolder } = loaded.app;
  const filled = await writeOld(dataFolder, uid, options.rows);
  say(`${options.rows}, and some that stay, in ${filled.seconds.toFixed(0)} s; timing the batches …`);
  const removal = await measureRemoval(databaseFile(dataFolder), options.seconds);
  const left = countOld(dataFolder);
  say("waiting for the removal …");
  loaded.app = await servePombo(loaded.app, cleanup);
  await waitUntil("the removal begins", FIRST_PASS_LIMIT_MS, () => Promise.resolve(countOld(dataFolder) < left));

  const rounds: RetentionFigures["rounds"] = [];
  for (let round = 1; round <= options.rounds; round++) {
    say(`${options.messages} messages without, then with the removal: round ${round} of ${options.rounds} …`);
    const without = await measureDelivery(plain, options.messages, "html+text");
    rounds.push({ without, ...(await measureBeside(loaded, options.messages)) });
  }
  await Promise.all([plain, loaded].map(({ app }) => app.process.stop()));
  say("removing the rest, and giving the room back …");
  const shrink = await measureShrink(databaseFile(dataFolder));
  return { machine, app: findPombo().what, rows: options.rows, rounds, filled, removal, shrink };
}

async function measureBeside(bench: Bench, messages: number) {
  const { dataFolder } = bench.app;
  const [before, startedAt] = [countOld(dataFolder), performance.now()];
  const beside = await measureDelivery(bench, messages, "html+text");
  const removed = before - countOld(dataFolder);
  if (removed === 0) throw new Error("nothing was removed meanwhile: take more --rows or fewer --messages");
  return { beside, removedPerSecond: (1_000 * removed) / (performance.now() - startedAt) };
}

/** Delivered at the first attempt, 500 to 375 days ago: a fifth of them is not old, as that many stay in the file behind the others. */
function writeOld(dataFolder: string, uid: string, rows: number): Promise<Filled> {
  const now = Date.now();
  const copies = {
    uid,
    rows: Math.ceil(rows / OLD_SHARE),
    createdFrom: now - (RETENTION_DAYS + OLD_SHARE * SPAN_DAYS) * DAY_MS,
    createdTo: now - (RETENTION_DAYS - (1 - OLD_SHARE) * SPAN_DAYS) * DAY_MS,
    recipient: `printf('b%09d@example.test', n.i)`,
    status: "'delivered'",
    ended: {
      sentAt: "created_at + 300",
      deliveredAt: "created_at + 900",
      endedAt: "created_at + 900",
      failedReason: "NULL",
      bounce: "NULL",
      attempts: "1",
    },
  };
  return fill(dataFolder, copies, async (made) => {
    await insertForEach(
      made,
      idOf(made.database, uid),
      `INSERT INTO attempt (email_id, number, started_at, ended_at, host, address, tls, stage, code, enhanced_code, reply, outcome)
       SELECT email.id, 1, email.created_at + 60, email.created_at + 900, t.host, t.address, t.tls, t.stage, t.code, t.enhanced_code,
         t.reply, 'delivered'
       FROM $NUMBERS AS n CROSS JOIN email ON email.id = $first + n.i CROSS JOIN attempt AS t
       WHERE t.email_id = $template AND t.number = 1`,
    );
    // The walk is by id: the old ones come first.
    const { database, first } = made;
    for (const [table, key] of [
      ["email", "id"],
      ["attempt", "email_id"],
      ["email_body", "email_id"],
      ["email_report", "email_id"],
    ])
      database.run(`UPDATE ${table} SET ${key} = ${key} + ? WHERE ${key} < ?`, [first + copies.rows, first]);
  });
}

/** Old emails that are left. */
function countOld(dataFolder: string): number {
  using database = new Database(databaseFile(dataFolder), { readonly: true });
  const last = "SELECT MAX(id) FROM email WHERE created_at < (unixepoch() - 400 * 86400) * 1000";
  const row = database.query<{ n: number }, []>(`SELECT (${last}) - MIN(id) + 1 AS n FROM email`).get();
  return Math.max(0, row?.n ?? 0);
}

function subfolder(folder: string, name: string): string {
  const made = join(folder, name);
  mkdirSync(made);
  return made;
}

function readOptions(args: string[]): Options | null {
  try {
    const text = { type: "string" } as const;
    const { values } = parseArgs({
      args,
      options: { rows: text, messages: text, rounds: text, seconds: text, keep: { type: "boolean" } },
    });
    const options: Options = {
      rows: Number(values.rows ?? 1_000_000),
      messages: Number(values.messages ?? 5_000),
      rounds: Number(values.rounds ?? 3),
      seconds: Number(values.seconds ?? 30),
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
