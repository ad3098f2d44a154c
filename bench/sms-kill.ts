// What a kill -9 in the middle costs a side of `script/bench sms`, by the SMSC's own log: texts that were accepted
// and never came, texts that came twice, receipts that were acknowledged and never told of.

import { waitUntil } from "../test/support/peers/process.ts";
import { loadOrder, type Numbers, runLoad } from "./sms-phase.ts";
import type { Side } from "./sms-side.ts";

const WAIT_MS = 30_000;
/** Nothing new for so long, and it is over. */
const QUIET_MS = 4_000;
const OVER_MS = 45_000;

export interface KillResult {
  name: string;
  accepted: number;
  lost: number;
  /** Came more than once; of them marked: null, the side marks nothing. */
  doubled: number;
  marked: number | null;
  receiptsLost: number;
}

export async function measureKill(
  side: Side,
  count: number,
  rest: { folder: string; numbers: Numbers },
): Promise<KillResult> {
  const first = rest.numbers.take(count);
  const { smsc } = side;
  await smsc.setAnswerMs(0);
  const before = (await smsc.state()).distinct;
  const order = loadOrder(side, { link: "w50", count, rttMs: 0, perSecond: 0 }, { first, folder: rest.folder });
  const loading = runLoad(order);
  await waitUntil("a quarter of the texts", WAIT_MS, async () => (await smsc.state()).distinct - before >= count / 4);
  await side.killAndRestart();
  const { times } = await loading;
  await untilQuiet(side);
  const { received, acknowledged } = await smsc.log();
  const reported = await side.reported();
  const numbers = Array.from({ length: count }, (_, index) => first + index);
  const came = (number: number) => received.counts[number] ?? 0;
  const isAcknowledged = (number: number) => (acknowledged.counts[number] ?? 0) > 0;
  return {
    name: side.name,
    accepted: times.isAccepted.filter(Boolean).length,
    lost: numbers.filter((number) => times.isAccepted[number - first] === true && came(number) === 0).length,
    doubled: numbers.filter((number) => came(number) > 1).length,
    marked: side.marked(),
    receiptsLost: numbers.filter((number) => isAcknowledged(number) && !reported.has(number)).length,
  };
}

async function untilQuiet({ smsc, applied }: Side): Promise<void> {
  let seen = "";
  let since = performance.now();
  await waitUntil("the end of all texts", OVER_MS, async () => {
    const { submits, acknowledged } = await smsc.state();
    const now = `${submits} ${acknowledged} ${(await applied()).count}`;
    if (now !== seen) since = performance.now();
    seen = now;
    return performance.now() - since > QUIET_MS;
  });
}
