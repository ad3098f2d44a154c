// Delivery to providers that answer as the real ones do: `script/bench replies`. A sink defers and
// bounces each domain's mail with that domain's words and odds; pombo runs with a short schedule, so that
// the retries' shape is seen in a minute. Twice: with all replies, some of which make pombo leave a
// provider alone for hours, and without those. Exit code 1: pombo and the sink disagree; 2: the
// replies are not here.

import { existsSync, mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { parseArgs } from "node:util";
import type { Zone } from "../test/support/fakes/zone.ts";
import {
  addDomain,
  createWorkspace,
  findPombo,
  startPombo,
  unblockAll,
  type Api,
} from "../test/support/peers/pombo.ts";
import {
  freePort,
  makeFolder,
  runProgram,
  startProcess,
  waitForListener,
  type Cleanup,
} from "../test/support/peers/process.ts";
import { serveZone } from "../test/support/peers/zone.ts";
import { makeContent, SENDER_DOMAIN } from "./message.ts";
import { CORPUS, readHabits } from "./replies/corpus.ts";
import { compare, heldDomains, readHolds, readOutcomes } from "./replies/outcome.ts";
import { formatReplies, isConsistent, type RepliesRun } from "./replies/report.ts";
import { makeRecipients, makeStreet, publishStreet, type Destination } from "./replies/street.ts";
import type { SinkOrder, SinkTally } from "./reply-sink.ts";
import { describeMachine } from "./report.ts";
import { limitRun } from "./run-limit.ts";

const USAGE = `usage: script/bench replies [options]
  --messages N    emails (4000)
  --seconds N     how long each of the two runs is looked at (60)
  --only all|calm one run alone: with all replies, or without those that hold a sender's mail back
  --keep          leave the temporary folder
`;
const RUN_LIMIT_MS = 240_000;
const BATCH = 500;
const POLL_MS = 500;
const SCHEDULE = ["2s", "4s", "8s", "16s"];
/** Longer than the run: what a provider holds back stays in the queue. */
const LIFETIME = "10m";

interface Options {
  messages: number;
  seconds: number;
  kinds: { isCalm: boolean }[];
  isKept: boolean;
}

await runProgram(async (cleanup) => {
  const options = readOptions(process.argv.slice(2));
  if (!options) {
    console.error(USAGE);
    return 2;
  }
  if (!existsSync(CORPUS)) {
    console.error("the collection of real replies is not here (../shared/corpora/replies): nothing to answer with");
    return 2;
  }
  const endLimit = limitRun(RUN_LIMIT_MS);
  const folder = makeFolder("bench", cleanup, options.isKept);
  const machine = describeMachine(folder);
  const runs: RepliesRun[] = [];
  for (const { isCalm } of options.kinds) {
    console.error(`${options.messages} emails, ${isCalm ? "calm" : "all"} replies, ${options.seconds} s …`);
    runs.push(await observe(join(folder, isCalm ? "calm" : "all"), isCalm, options, cleanup));
  }
  endLimit();
  console.log(formatReplies(machine, findPombo().what, runs));
  return runs.every(isConsistent) ? 0 : 1;
});

async function observe(folder: string, isCalm: boolean, options: Options, cleanup: Cleanup): Promise<RepliesRun> {
  mkdirSync(folder);
  const part = cleanup.part();
  try {
    const street = makeStreet();
    const sink = await startSink(folder, street, isCalm, part);
    const zone: Zone = { [`pombo.${SENDER_DOMAIN}`]: { A: ["127.0.0.1"] } };
    publishStreet(street, zone);
    const dns = await serveZone(zone);
    part.add(() => dns.close());
    const app = await startPombo({
      folder,
      hostname: `pombo.${SENDER_DOMAIN}`,
      cleanup: part,
      settings: {
        dns: { servers: [`127.0.0.1:${dns.port}`] },
        email: {
          destination_port: sink.port,
          allow_private_ranges: ["127.0.0.0/8"],
          retry_schedule: SCHEDULE,
          lifetime: LIFETIME,
        },
      },
    });
    const api = await createWorkspace(app, "bench");
    await addDomain(api, SENDER_DOMAIN, zone);

    const recipients = makeRecipients(street, options.messages);
    const startedAt = performance.now();
    await sendAll(api, recipients, () => unblockAll(app));
    const acceptedInS = (performance.now() - startedAt) / 1000;
    await waitForEnds(sink, recipients.length, options.seconds * 1000);
    const lookedAtS = (performance.now() - startedAt) / 1000;
    const endedAt = Date.now();
    await app.process.stop();
    const tally = await sink.tally();
    const holds = readHolds(app.process.output());
    const { outcomes, waits } = readOutcomes(app.dataFolder);
    const disagreements = compare(recipients, outcomes, tally);
    const sinkAttempts = Object.values(tally).reduce((sum, { attempts }) => sum + attempts, 0);
    const held = heldDomains(street, holds, endedAt);
    const figures = { lookedAtS, acceptedInS, outcomes, waits, holds, held, disagreements, sinkAttempts };
    return { isCalm, street, schedule: SCHEDULE, ...figures };
  } finally {
    await part.close();
  }
}

interface ReplySink {
  port: number;
  tally(): Promise<SinkTally>;
}

async function startSink(folder: string, street: Destination[], isCalm: boolean, cleanup: Cleanup): Promise<ReplySink> {
  const habitsOf = readHabits(CORPUS, isCalm);
  const [port, tellPort] = [await freePort(), await freePort()];
  const order: SinkOrder = {
    port,
    tellPort,
    addresses: [...new Set(street.map(({ address }) => address))],
    habits: Object.fromEntries(street.map(({ domain }) => [domain, habitsOf(domain)])),
  };
  const file = join(folder, "sink.json");
  writeFileSync(file, JSON.stringify(order));
  const command = [process.execPath, join(import.meta.dir, "reply-sink.ts"), file];
  const sink = startProcess({ command, logFile: join(folder, "sink.log") });
  cleanup.add(() => sink.stop());
  await waitForListener(tellPort);
  return {
    port,
    tally: async () => (await (await fetch(`http://127.0.0.1:${tellPort}/`)).json()) as SinkTally,
  };
}

/** The providers' odds are those of a bad list, for which sending is blocked in between. */
async function sendAll(api: Api, recipients: string[], unblock: () => Promise<void>): Promise<void> {
  const { subject, html, text } = makeContent(0, "html+text");
  const from = `Loja Bench <loja@${SENDER_DOMAIN}>`;
  for (let at = 0; at < recipients.length; at += BATCH) {
    const emails = recipients.slice(at, at + BATCH).map((to) => ({ from, to, subject, html, text }));
    const send = () => api.call("POST", "/api/v1/emails/batch", { emails });
    let answer = await send();
    for (; answer.status === 403; answer = await send()) await unblock();
    if (answer.status !== 202) throw new Error(`a batch was answered ${answer.status}: ${JSON.stringify(answer.body)}`);
  }
}

/** Until the sink has had the last word on all, or the time is up. */
async function waitForEnds(sink: ReplySink, emails: number, limitMs: number): Promise<void> {
  const giveUpAt = performance.now() + limitMs;
  while (performance.now() < giveUpAt) {
    const ended = Object.values(await sink.tally()).filter(({ accepted, refused }) => accepted + refused > 0).length;
    if (ended === emails) return;
    await Bun.sleep(POLL_MS);
  }
}

function readOptions(args: string[]): Options | null {
  try {
    const { values } = parseArgs({
      args,
      options: {
        messages: { type: "string" },
        seconds: { type: "string" },
        only: { type: "string" },
        keep: { type: "boolean" },
      },
    });
    const options: Options = {
      messages: Number(values.messages ?? 4000),
      seconds: Number(values.seconds ?? 60),
      kinds: [{ isCalm: false }, { isCalm: true }].filter(
        ({ isCalm }) => values.only === undefined || values.only === (isCalm ? "calm" : "all"),
      ),
      isKept: values.keep === true,
    };
    const isUsable = options.messages >= 1 && options.seconds >= 1 && options.kinds.length > 0;
    return isUsable ? options : null;
  } catch {
    return null;
  }
}
