// kill -9 while texts go out, again and again, and the SMSC's own journal against the database afterwards: nothing
// that was answered with 202 is lost; what the SMSC read twice was in flight at a kill, is never more than a window
// for each, and says so; texts of several parts are never sent twice.
import { expect, setDefaultTimeout, test } from "bun:test";
import { waitUntil } from "../../support/peers/process.ts";
import { within } from "./child.ts";
import {
  buildSmsSettings,
  grantSmsRights,
  checkSmsInvariants,
  OPEN_SEGMENTS,
  countUnfinishedSms,
  readRows,
  sendSms,
  startSlowSmsc,
  buildInboundSms,
} from "./sms-crash.ts";
import { bugsOf, createWorld } from "./world.ts";

const ROUNDS = Number(process.env["ROUNDS"] ?? 4);
const CUSTOMERS = 5;
const ROUND_LIMIT_MS = 30_000;
const DRAIN_LIMIT_MS = 120_000;
/** With more than this behind, one customer goes on alone: what is left at the end is to be sent in a minute. */
const MAX_OPEN = 500;

setDefaultTimeout((ROUNDS + 4) * ROUND_LIMIT_MS);

test("after kill -9 at any moment no text is lost, and what may have come twice is marked", async () => {
  await using smsc = await startSlowSmsc();
  await using world = await createWorld({ mxPort: 9, settings: buildSmsSettings(smsc.port) });
  await grantSmsRights(world);
  const accepted = new Map<string, string>();
  for (let round = 0; round < ROUNDS; round += 1) {
    await using served = await world.serve();
    const isOver = { value: false };
    const customers = countUnfinishedSms(world.dataDir) > MAX_OPEN ? 1 : CUSTOMERS;
    const senders = Array.from({ length: customers }, (_, index) =>
      sendSms({ url: served.url, world, isOver, index, round, accepted }),
    );
    const { submits } = (await smsc.state()).counters;
    await smsc.deliver("loja", ...buildInboundSms(round));
    await within(ROUND_LIMIT_MS, "submits", smsc.until({ submits: submits + 30 + Math.floor(Math.random() * 300) }));
    served.signal("SIGKILL");
    isOver.value = true;
    expect(await served.ended).toEqual({ code: null, signal: "SIGKILL" });
    await Promise.all(senders);
    expect(bugsOf(served)).toEqual([]);
  }
  await using last = await world.serve();
  try {
    await waitUntil("all texts have an end", DRAIN_LIMIT_MS, () => countUnfinishedSms(world.dataDir) === 0);
  } catch (error) {
    const open = JSON.stringify(readRows(world.dataDir, OPEN_SEGMENTS));
    throw new Error(`${open} of ${accepted.size} texts\n${last.stdout().slice(-2_000)}`, { cause: error });
  }
  await smsc.untilAtMost({ waiting: 0, unacknowledged: 0 });
  last.signal("SIGTERM");
  expect(await last.ended).toEqual({ code: 0, signal: null });
  expect(bugsOf(last)).toEqual([]);
  await checkSmsInvariants({ smsc, dataDir: world.dataDir, accepted }, ROUNDS);
});
