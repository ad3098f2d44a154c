// The email benchmark: Postfix with OpenDKIM and pombo, one after the other, on this machine, to the
// same smtp-sink, with the same 5 KB message, both signing with RSA-2048 (pombo with Ed25519 too).
// Everything listens on loopback, lives in one temporary folder and is stopped at the end. Exit code
// 1 means a floor was missed or something failed, 2 that programs to compare with are missing.

import { parseArgs } from "node:util";
import { ensureTools, OPENDKIM, POSTFIX, SMTP_SINK } from "../test/support/peers/packages.ts";
import { findPombo } from "../test/support/peers/pombo.ts";
import { makeFolder, runProgram, type Cleanup } from "../test/support/peers/process.ts";
import { serveZone } from "../test/support/peers/zone.ts";
import { measurePeer } from "./peers/postfix-opendkim.ts";
import { type Bench, benchZone, measureDelivery, measurePosts, preparePombo } from "./pombo.ts";
import { type Proof, startProof } from "./proof.ts";
import { describeMachine, formatReport, judge, toJson, type Report } from "./report.ts";
import { type Sink, startSink } from "./sink.ts";
import { isHeld, machineLines } from "./table.ts";
import { formatWatched, judgeWatched, measureWatched } from "./watchers.ts";

const WATCHED = { messages: 16_000, rounds: 7 };
const USAGE = `usage: script/bench email [options]
  --messages N        messages through pombo (20000; 3000 with --short)
  --peer-messages N   messages through Postfix (2000; 1000 with --short)
  --seconds N         length of each POST phase (6)
  --rounds N          repetitions of the POST phases; the median counts (3; 1 with --short)
  --watchers N        instead of all that: deliveries in turns without and with so many open dashboards (${WATCHED.rounds} rounds
                      of ${WATCHED.messages} messages, unless said otherwise); with --only pombo
  --phases LIST       of delivery,html,posts,batches (all)
  --short             fewer messages
  --only peer|pombo   one side alone, without the ratio
  --json              print JSON instead of the table
  --keep              leave the temporary folder
`;
/** The whole run; its phases have deadlines of their own as well. */
const RUN_LIMIT_MS = 420_000;
const PHASES = ["delivery", "html", "posts", "batches"] as const;

interface Options {
  messages: number;
  peerMessages: number;
  seconds: number;
  rounds: number;
  phases: Set<string>;
  /** 0: the usual phases. */
  watchers: number;
  only: string;
  isJson: boolean;
  isKept: boolean;
}

await runProgram(async (cleanup) => {
  const options = readOptions(process.argv.slice(2));
  if (!options) {
    console.error(USAGE);
    return 2;
  }
  const trouble = await ensureTools(options.watchers > 0 ? [SMTP_SINK] : [POSTFIX, SMTP_SINK, OPENDKIM]);
  if (trouble !== null) {
    console.error(trouble);
    return 2;
  }
  const limit = setTimeout(() => {
    console.error(`the run took more than ${RUN_LIMIT_MS / 1000} s: given up`);
    process.kill(process.pid, "SIGTERM");
  }, RUN_LIMIT_MS);
  if (options.watchers > 0) {
    const isHeldThere = await measureWatchers(options, cleanup);
    clearTimeout(limit);
    return isHeldThere ? 0 : 1;
  }
  const report = await measure(options, cleanup);
  clearTimeout(limit);
  console.log(options.isJson ? toJson(report) : formatReport(report));
  return judge(report).every((floor) => floor.isHeld) ? 0 : 1;
});

async function measure(options: Options, cleanup: Cleanup): Promise<Report> {
  const folder = makeFolder("bench", cleanup, options.isKept);
  const report: Report = {
    machine: describeMachine(folder),
    app: findPombo().what,
    peers: [],
    delivery: null,
    htmlOnly: null,
    posts: [],
    batches: [],
  };
  const sink = await startSink(folder, cleanup);
  const proof = startProof(folder, sink.port, cleanup);

  if (options.only !== "pombo") {
    for (const socket of ["inet", "unix"] as const) {
      say(`Postfix + OpenDKIM (milter over ${socket}): ${options.peerMessages} messages …`);
      report.peers.push(await measurePeer({ folder, sink, proof, socket, messages: options.peerMessages, cleanup }));
    }
  }
  if (options.only !== "peer") {
    const bench = await start(folder, { sink, proof }, cleanup);
    const { phases } = options;
    if (phases.has("delivery")) {
      say(`pombo: ${options.messages} messages, html and text …`);
      report.delivery = await measureDelivery(bench, options.messages, "html+text");
    }
    if (phases.has("html")) {
      say(`pombo: ${options.messages} messages, html only …`);
      report.htmlOnly = await measureDelivery(bench, options.messages, "html");
    }
    for (let round = 1; round <= options.rounds; round++) {
      say(`pombo: POST alone, ${options.seconds} s a phase, round ${round} of ${options.rounds} …`);
      if (phases.has("posts")) report.posts.push(await measurePosts(bench, 1, options.seconds));
      if (phases.has("batches")) report.batches.push(await measurePosts(bench, 100, options.seconds));
    }
  }
  return report;
}

async function start(folder: string, { sink, proof }: { sink: Sink; proof: Proof }, cleanup: Cleanup): Promise<Bench> {
  say(`pombo (${findPombo().what}): starting …`);
  const zone = benchZone();
  const dns = await serveZone(zone);
  cleanup.add(() => dns.close());
  return preparePombo({ folder, dnsPort: dns.port, zone, sink, proof, cleanup });
}

/** True: the bound is held. */
async function measureWatchers(options: Options, cleanup: Cleanup): Promise<boolean> {
  const folder = makeFolder("bench", cleanup, options.isKept);
  const machine = describeMachine(folder);
  const sink = await startSink(folder, cleanup);
  const proof = startProof(folder, sink.port, cleanup);
  const rounds = await measureWatched(await start(folder, { sink, proof }, cleanup), options, cleanup);
  const lines = [...machineLines(machine, findPombo().what), "", ...formatWatched(rounds, options.watchers)];
  console.log(options.isJson ? JSON.stringify({ machine, rounds }, null, 2) : lines.join("\n"));
  return judgeWatched(rounds).every(isHeld);
}

function readOptions(args: string[]): Options | null {
  try {
    const { values } = parseArgs({
      args,
      options: {
        messages: { type: "string" },
        "peer-messages": { type: "string" },
        seconds: { type: "string" },
        rounds: { type: "string" },
        phases: { type: "string" },
        watchers: { type: "string" },
        only: { type: "string" },
        short: { type: "boolean" },
        json: { type: "boolean" },
        keep: { type: "boolean" },
      },
    });
    const isShort = values.short === true;
    const watchers = Number(values.watchers ?? 0);
    const usual = watchers > 0 ? WATCHED : { messages: isShort ? 3000 : 20_000, rounds: isShort ? 1 : 3 };
    const options: Options = {
      messages: Number(values.messages ?? usual.messages),
      peerMessages: Number(values["peer-messages"] ?? (isShort ? 1000 : 2000)),
      seconds: Number(values.seconds ?? 6),
      rounds: Number(values.rounds ?? usual.rounds),
      phases: new Set(values.phases?.split(",") ?? PHASES),
      watchers,
      only: values.only ?? "",
      isJson: values.json === true,
      isKept: values.keep === true,
    };
    const { messages, peerMessages, seconds, rounds, phases } = options;
    const isUsable =
      [messages, peerMessages, seconds, rounds].every((number) => number >= 1) &&
      watchers >= 0 &&
      (watchers === 0 || options.only === "pombo") &&
      [...phases].every((phase) => (PHASES as readonly string[]).includes(phase));
    return isUsable && ["", "peer", "pombo"].includes(options.only) ? options : null;
  } catch {
    return null;
  }
}

/** Progress goes to standard error, so that standard output is the report alone. */
function say(line: string): void {
  console.error(line);
}
