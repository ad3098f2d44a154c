// Webhooks under load: `script/bench webhooks`. First how many calls a second one receiver gets, from a
// backlog; then what 900 receivers that never answer cost 100 others, at the first event, when nobody is
// known yet, and later. Exit code 1: a floor or ceiling is missed.

import { parseArgs } from "node:util";
import { addDomain, createWorkspace, findPombo, startPombo, type Api } from "../test/support/peers/pombo.ts";
import {
  freePort,
  makeFolder,
  runProgram,
  startProcess,
  waitForListener,
  waitUntil,
  type Cleanup,
} from "../test/support/peers/process.ts";
import { serveZone } from "../test/support/peers/zone.ts";
import type { Counts } from "./hook-receiver.ts";
import { BLOCKED_DOMAIN, makeContent, SENDER_DOMAIN } from "./message.ts";
import { benchZone } from "./pombo.ts";
import { describeMachine } from "./report.ts";
import { limitRun } from "./run-limit.ts";
import { alignRows, type Bound, formatBounds, isHeld } from "./table.ts";

const USAGE = `usage: script/bench webhooks [options]
  --events N   events that wait for one receiver (20000)
  --hooks N    webhooks, of which nine in ten never answer (1000)
  --keep       leave the temporary folder
`;
const RUN_LIMIT_MS = 240_000;
const FLOOR_PER_SECOND = 2_000;
const CEILING_S = 2;
const BATCH = 500;
const WAIT_MS = 90_000;

interface Figures {
  callsPerSecond: number;
  cpuMsPerCall: number;
  /** Until every receiver that answers had the event, in seconds. */
  coldS: number;
  warmS: number;
  hanging: number;
}

await runProgram(async (cleanup) => {
  const { values } = parseArgs({
    args: process.argv.slice(2),
    options: {
      events: { type: "string" },
      hooks: { type: "string" },
      keep: { type: "boolean" },
      help: { type: "boolean" },
    },
  });
  if (values.help === true) {
    console.error(USAGE);
    return 2;
  }
  const endLimit = limitRun(RUN_LIMIT_MS);
  const folder = makeFolder("bench", cleanup, values.keep === true);
  const machine = describeMachine(folder);
  const [events, hooks] = [Number(values.events ?? 20_000), Number(values.hooks ?? 1_000)];
  const figures = await measure(folder, { events, hooks }, cleanup);
  endLimit();
  const bounds: Bound[] = [
    {
      name: "calls/s to one receiver",
      value: figures.callsPerSecond,
      must: "be at least",
      limit: FLOOR_PER_SECOND,
      unit: "",
    },
    {
      name: "others served, at the first event",
      value: figures.coldS,
      must: "be at most",
      limit: CEILING_S,
      unit: " s",
    },
    { name: "others served, later", value: figures.warmS, must: "be at most", limit: CEILING_S, unit: " s" },
  ];
  console.log(
    `machine: ${machine.cores} cores (${machine.cpu}), ${machine.fsyncsPerSecond} fsyncs/s, load before ${machine.loadAverage.toFixed(2)}`,
  );
  console.log(`app: ${findPombo().what}\n`);
  console.log(
    alignRows([
      ["what", "figure"],
      [`calls/s, ${events} events waiting for one receiver`, figures.callsPerSecond.toFixed(0)],
      ["CPU of pombo a call", `${figures.cpuMsPerCall.toFixed(2)} ms`],
      [
        `${hooks} webhooks, ${figures.hanging} calls hanging: the others served, first event`,
        `${figures.coldS.toFixed(2)} s`,
      ],
      ["the same, later events", `${figures.warmS.toFixed(2)} s`],
    ]).join("\n"),
  );
  console.log(`\n${formatBounds(bounds).join("\n")}`);
  return bounds.every(isHeld) ? 0 : 1;
});

async function measure(folder: string, order: { events: number; hooks: number }, cleanup: Cleanup): Promise<Figures> {
  const zone = benchZone();
  const dns = await serveZone(zone);
  cleanup.add(() => dns.close());
  const receiver = await startReceivers(folder, cleanup);
  const app = await startPombo({
    folder,
    hostname: `pombo.${SENDER_DOMAIN}`,
    cleanup,
    settings: {
      dns: { servers: [`127.0.0.1:${dns.port}`] },
      email: { allow_private_ranges: ["127.0.0.0/8"], destination_port: await freePort() },
      webhooks: { allow_http: true, allow_private_ranges: ["127.0.0.0/8"] },
    },
  });
  const backlog = await createWorkspace(app, "backlog");
  await addDomain(backlog, SENDER_DOMAIN, zone);
  console.error(`${order.events} events for one receiver …`);
  const since = new Date().toISOString();
  // Somebody who listens has them written, with nobody to call yet.
  await backlog.expect(200, "GET", "/api/v1/events");
  for (let sent = 0; sent < order.events; sent += BATCH)
    await sendBatch(backlog, sent, Math.min(BATCH, order.events - sent));
  const hook = await createHook(backlog, `${receiver.url}/hook/one`);
  const cpuBefore = app.cpuSeconds();
  const startedAt = performance.now();
  const [recovered] = await Promise.all([
    backlog.expect(202, "POST", `/api/v1/webhooks/${hook}/recover`, { since }),
    receiver.until(({ taken }) => taken >= order.events),
  ]);
  const tookS = (performance.now() - startedAt) / 1_000;
  if (recovered.data.queued < order.events) throw new Error(`only ${recovered.data.queued} events were queued`);
  const cpuMsPerCall = ((app.cpuSeconds() - cpuBefore) * 1_000) / order.events;
  await backlog.expect(200, "DELETE", `/api/v1/webhooks/${hook}`);

  console.error(`${order.hooks} webhooks, nine in ten of which never answer …`);
  const answering = Math.ceil(order.hooks / 10);
  for (let index = 0; index < order.hooks; index += 1)
    await createHook(backlog, `${receiver.url}/${index < order.hooks - answering ? "hang" : "hook"}/${index}`);
  const round = async (number: number) => {
    await receiver.counts("?forget");
    const beganAt = performance.now();
    await sendBatch(backlog, number, 1);
    await receiver.until(({ paths }) => paths >= answering);
    return (performance.now() - beganAt) / 1_000;
  };
  const coldS = await round(order.events);
  const hanging = (await receiver.counts()).hanging;
  const later: number[] = [];
  for (let again = 1; again <= 5; again += 1) later.push(await round(order.events + again));
  return { callsPerSecond: order.events / tookS, cpuMsPerCall, coldS, warmS: Math.max(...later), hanging };
}

async function sendBatch(api: Api, first: number, count: number): Promise<void> {
  const emails = Array.from({ length: count }, (_, index) => ({
    from: `Loja <loja@${SENDER_DOMAIN}>`,
    to: `r${first + index}@${BLOCKED_DOMAIN}`,
    ...withText(first + index),
  }));
  await api.expect(202, "POST", "/api/v1/emails/batch", { emails });
}

function withText(variant: number): { subject: string; html: string; text: string } {
  const { subject, html, text } = makeContent(variant % 10, "html+text");
  return { subject, html, text: text ?? "" };
}

async function createHook(api: Api, url: string): Promise<string> {
  const { data } = await api.expect(201, "POST", "/api/v1/webhooks", { url, events: ["email.queued"] });
  return data.id;
}

interface Receivers {
  url: string;
  counts(query?: string): Promise<Counts>;
  until(condition: (counts: Counts) => boolean): Promise<void>;
}

async function startReceivers(folder: string, cleanup: Cleanup): Promise<Receivers> {
  const port = await freePort();
  const program = new URL("hook-receiver.ts", import.meta.url).pathname;
  const process_ = startProcess({
    command: [process.execPath, program, String(port)],
    logFile: `${folder}/receiver.log`,
  });
  cleanup.add(() => process_.stop());
  await waitForListener(port);
  const url = `http://127.0.0.1:${port}`;
  const counts: Receivers["counts"] = async (query = "") =>
    (await (await fetch(`${url}/counts${query}`)).json()) as Counts;
  return {
    url,
    counts,
    until: (condition) => waitUntil("the receivers", WAIT_MS, async () => condition(await counts())),
  };
}
