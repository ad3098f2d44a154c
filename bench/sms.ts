// Texts: `script/bench sms`. From a POST to the receipt that is committed, through pombo and, in turn with it,
// through Kannel, each with an SMSC and a load of its own that are the same programs; then what a kill -9 in the
// middle costs each. pombo syncs every commit and writes the events that a webhook would be told; Kannel syncs
// nothing, keeps in memory what receipts belong to, and calls a URL for each. Exit code 1: the floor is missed.

import { parseArgs } from "node:util";
import { ensureTools } from "../test/support/peers/packages.ts";
import { findPombo } from "../test/support/peers/pombo.ts";
import { type Cleanup, makeFolder, runProgram } from "../test/support/peers/process.ts";
import { KANNEL, startKannelSide } from "./peers/kannel.ts";
import { describeMachine } from "./report.ts";
import { limitRun } from "./run-limit.ts";
import { type KillResult, measureKill } from "./sms-kill.ts";
import { measurePhase, Numbers, type PhaseOrder } from "./sms-phase.ts";
import { startPomboSide } from "./sms-pombo.ts";
import { formatKills, formatPhases, judge, type SidePhase } from "./sms-report.ts";
import type { Side } from "./sms-side.ts";
import { formatBounds, isHeld, machineLines, whole } from "./table.ts";

const USAGE = `usage: script/bench sms [options]
  --messages N       texts a round (10000)
  --rounds N         rounds of each side, in turn; the median counts (3)
  --only pombo|kannel
  --phases LIST      of rounds,others,kill (all)
  --unfollowed       nobody follows the events: pombo writes none
  --keep             leave the temporary folder
`;
const RUN_LIMIT_MS = 235_000;
/** What is not begun by then is left out, but for the kills. */
const ENOUGH_MS = 140_000;
/** The runtime compiles what is run often: without this the first round is a fifth slower than the next. */
const WARM_UP = 8_000;
const KILL_MESSAGES = 8_000;
/** Beside the rounds; the fraction is that of their texts. */
const OTHERS: (Omit<PhaseOrder, "count"> & { fraction: number })[] = [
  { link: "silent", rttMs: 0, perSecond: 0, fraction: 1 },
  { link: "w50", rttMs: 0, perSecond: 500, fraction: 0.2 },
  { link: "w10", rttMs: 0, perSecond: 0, fraction: 0.3 },
  { link: "w50", rttMs: 100, perSecond: 0, fraction: 0.2 },
  { link: "w10", rttMs: 100, perSecond: 0, fraction: 0.04 },
];

interface Options {
  messages: number;
  rounds: number;
  only: string;
  phases: Set<string>;
  isFollowed: boolean;
  isKept: boolean;
}

await runProgram(async (cleanup: Cleanup) => {
  const options = readOptions();
  if (options === null) {
    console.error(USAGE);
    return 2;
  }
  // Installing may take its time.
  const hasKannel = options.only !== "pombo" && (await findKannel());
  const endLimit = limitRun(RUN_LIMIT_MS);
  const folder = makeFolder("bench", cleanup, options.isKept);
  const machine = describeMachine(folder);
  const sides: Side[] = [];
  if (options.only !== "kannel") sides.push(await startPomboSide(folder, options.isFollowed, cleanup));
  if (hasKannel) sides.push(await startKannelSide(folder, cleanup));
  const { phases, kills, isCut } = await measure(sides, options, folder);
  endLimit();
  const { bounds, goal } = judge(phases);
  const lines = [
    ...machineLines(machine, findPombo().what),
    `texts of one segment, synchronous = FULL, events ${options.isFollowed ? "written" : "not written"}; at most 10 receipts unacknowledged; after ${whole(WARM_UP)} to warm up`,
    "",
    formatPhases(phases),
    "CPU ms: a text, of the side; peers: of its SMSC and load; → from the POST; while POSTs outrun the link that is the length of the queue",
    ...(kills.length > 0 ? ["", formatKills(kills)] : []),
    "",
    ...formatBounds(bounds),
    ...(goal === null ? [] : [goal]),
    ...(hasKannel || options.only === "pombo"
      ? []
      : ["KANNEL IS NOT HERE: pombo was measured alone, there is no ratio"]),
    ...(isCut ? [`THE MACHINE IS SLOW: what was not begun after ${ENOUGH_MS / 1_000} s was left out`] : []),
  ];
  console.log(lines.join("\n"));
  return bounds.every(isHeld) ? 0 : 1;
});

async function measure(
  sides: Side[],
  { messages, rounds, phases: wanted }: Options,
  folder: string,
): Promise<{ phases: SidePhase[]; kills: KillResult[]; isCut: boolean }> {
  const rest = { folder, numbers: new Numbers() };
  const phases: SidePhase[] = [];
  const startedAt = performance.now();
  let isCut = false;
  const run = async (side: Side, order: PhaseOrder, isMain: boolean) => {
    isCut ||= performance.now() - startedAt > ENOUGH_MS;
    if (isCut) return;
    const result = await measurePhase(side, order, rest);
    phases.push({ side: side.name, isMain, result });
    console.error(formatPhases(phases.slice(-1)).split("\n")[1]);
  };
  const main: PhaseOrder = { link: "w50", count: messages, rttMs: 0, perSecond: 0 };
  for (const side of sides) await measurePhase(side, { ...main, count: WARM_UP }, rest);
  for (let round = 0; wanted.has("rounds") && round < rounds; round += 1) {
    for (const side of round % 2 === 0 ? sides : sides.toReversed()) await run(side, main, true);
  }
  for (const { fraction, ...order } of wanted.has("others") ? OTHERS : []) {
    for (const side of sides) await run(side, { ...order, count: Math.ceil(messages * fraction) }, false);
  }
  const kills: KillResult[] = [];
  for (const side of wanted.has("kill") ? sides : []) kills.push(await measureKill(side, KILL_MESSAGES, rest));
  return { phases, kills, isCut };
}

async function findKannel(): Promise<boolean> {
  const trouble = await ensureTools([KANNEL]);
  if (trouble !== null) console.error(`KANNEL IS NOT HERE, pombo is measured alone: ${trouble}`);
  return trouble === null;
}

function readOptions(): Options | null {
  try {
    const { values } = parseArgs({
      args: process.argv.slice(2),
      options: {
        messages: { type: "string" },
        rounds: { type: "string" },
        only: { type: "string" },
        phases: { type: "string" },
        unfollowed: { type: "boolean" },
        keep: { type: "boolean" },
      },
    });
    const options: Options = {
      messages: Number(values.messages ?? 10_000),
      rounds: Number(values.rounds ?? 3),
      only: values.only ?? "",
      phases: new Set(values.phases?.split(",") ?? ["rounds", "others", "kill"]),
      isFollowed: values.unfollowed !== true,
      isKept: values.keep === true,
    };
    const isUsable = options.messages >= 1 && options.rounds >= 1;
    return isUsable && ["", "pombo", "kannel"].includes(options.only) ? options : null;
  } catch {
    return null;
  }
}
