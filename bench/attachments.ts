// Messages with attachments: `script/bench message`. A PDF of 100 KiB from POST to the sink, beside Postfix with OpenDKIM,
// which gets the same bytes; what a thousand emails with the same logo make of the database; and memory and others' waiting
// time while eight of the largest messages come at once and twenty go out to servers that take them slowly; and how far a
// replica falls behind.
// Exit code 1: a floor or ceiling is missed.

import { Database } from "bun:sqlite";
import { join } from "node:path";
import { parseArgs } from "node:util";
import { ensureTools, OPENDKIM, POSTFIX, SMTP_SINK } from "../test/support/peers/packages.ts";
import { findPombo } from "../test/support/peers/pombo.ts";
import { makeFolder, runProgram, startProcess, waitForListener, type Cleanup } from "../test/support/peers/process.ts";
import { serveZone } from "../test/support/peers/zone.ts";
import { type CpuUse, formatCpu } from "./cpu.ts";
import { megabytes, readResident } from "./memory.ts";
import { makeContent, makeFile, recipient, RECIPIENT_DOMAIN, SENDER_DOMAIN, SLOW_DOMAIN } from "./message.ts";
import { measurePeer } from "./peers/postfix-opendkim.ts";
import { type Bench, benchZone, measureDelivery, measurePosts, preparePombo, SLOW_ADDRESS } from "./pombo.ts";
import { startProof } from "./proof.ts";
import { measureReplica, type ReplicaFigures } from "./replica.ts";
import { describeMachine } from "./report.ts";
import { limitRun } from "./run-limit.ts";
import { startSink } from "./sink.ts";
import { alignRows, type Bound, formatBounds, isHeld, machineLines } from "./table.ts";

const USAGE = `usage: script/bench message [options]
  --messages N        messages with a PDF through pombo (2000)
  --peer-messages N   through Postfix (500)
  --seconds N         length of each POST phase beside the large messages (6)
  --phases LIST       of delivery,logo,memory,replica (all)
  --keep              leave the temporary folder
`;
const RUN_LIMIT_MS = 300_000;
const MIB = 1024 * 1024;
const PDF_BYTES = 100 * 1024;
const LOGO_EMAILS = 1_000;
/** A message of 20 MiB has so much in base64. */
const LARGEST_BYTES = Math.floor(14.4 * MIB);
const POSTED_AT_ONCE = 8;
const GOING_OUT = 20;
const SAMPLE_MS = 50;
const SETTLE_MS = 3_000;

interface Figures {
  peerPerSecond: number;
  peerCpu: CpuUse;
  perSecond: number;
  cpu: CpuUse;
  logoBytes: number;
  residentBytes: number;
  p99Ms: { without: number; beside: number };
  replica: ReplicaFigures;
}

await runProgram(async (cleanup) => {
  const { values } = parseArgs({
    args: process.argv.slice(2),
    options: {
      messages: { type: "string", default: "2000" },
      "peer-messages": { type: "string", default: "500" },
      seconds: { type: "string", default: "6" },
      phases: { type: "string", default: "delivery,logo,memory,replica" },
      keep: { type: "boolean" },
      help: { type: "boolean" },
    },
  });
  if (values.help === true) {
    console.error(USAGE);
    return 2;
  }
  const trouble = await ensureTools([POSTFIX, SMTP_SINK, OPENDKIM]);
  if (trouble !== null) {
    console.error(trouble);
    return 2;
  }
  const endLimit = limitRun(RUN_LIMIT_MS);
  const folder = makeFolder("bench", cleanup, values.keep === true);
  const machine = describeMachine(folder);
  const order = {
    phases: new Set(values.phases.split(",")),
    messages: Number(values.messages),
    peerMessages: Number(values["peer-messages"]),
    seconds: Number(values.seconds),
  };
  const figures = await measure(folder, order, cleanup);
  endLimit();
  const bounds = listBounds(figures);
  console.log(machineLines(machine, findPombo().what).join("\n"));
  console.log(`\n${alignRows(listRows(figures)).join("\n")}\n\n${formatBounds(bounds).join("\n")}`);
  return bounds.every(isHeld) ? 0 : 1;
});

interface Order {
  phases: Set<string>;
  messages: number;
  peerMessages: number;
  seconds: number;
}

/** A phase that is left out has no figure. */
async function measure(folder: string, order: Order, cleanup: Cleanup): Promise<Partial<Figures>> {
  const figures: Partial<Figures> = {};
  const sink = await startSink(folder, cleanup);
  const proof = startProof(folder, sink.port, cleanup);
  if (order.phases.has("delivery")) {
    say(`Postfix + OpenDKIM: ${order.peerMessages} messages with a PDF …`);
    const peer = { folder, sink, proof, socket: "unix" as const, messages: order.peerMessages, cleanup };
    const { perSecond, cpu } = await measurePeer({ ...peer, attachmentBytes: PDF_BYTES });
    Object.assign(figures, { peerPerSecond: perSecond, peerCpu: cpu });
  }
  const slow = startProcess({
    command: [process.execPath, join(import.meta.dir, "slow-sink.ts"), SLOW_ADDRESS, String(sink.port)],
    logFile: join(folder, "slow.log"),
  });
  cleanup.add(() => slow.stop());
  await waitForListener(sink.port, SLOW_ADDRESS);
  const zone = benchZone();
  const dns = await serveZone(zone);
  cleanup.add(() => dns.close());
  const common = { folder, dnsPort: dns.port, zone, sink, proof, cleanup };
  if (order.phases.has("replica")) {
    say(`pombo with a replica: ${POSTED_AT_ONCE} large messages at once …`);
    const part = cleanup.part();
    figures.replica = await measureReplica({ ...common, cleanup: part }, (bench) =>
      Promise.all(Array.from({ length: POSTED_AT_ONCE }, (_, number) => postLarge(bench, number))),
    );
    await part.close();
  }
  const bench = await preparePombo(common);
  if (order.phases.has("delivery")) {
    say(`pombo: ${order.messages} messages with a PDF …`);
    const { deliveredPerSecond, cpu } = await measureDelivery(bench, order.messages, "html+text", {
      attachmentBytes: PDF_BYTES,
    });
    Object.assign(figures, { perSecond: deliveredPerSecond, cpu });
  }
  // Nothing that goes out slowly is in the way any more.
  if (order.phases.has("memory")) Object.assign(figures, await measureMemory(bench, order.seconds));
  if (order.phases.has("logo")) figures.logoBytes = await measureLogo(bench);
  return figures;
}

async function measureMemory(bench: Bench, seconds: number): Promise<Pick<Figures, "residentBytes" | "p99Ms">> {
  say(`pombo: POST alone for ${seconds} s …`);
  const without = await measurePosts(bench, 1, seconds);
  say(`pombo: ${GOING_OUT} large messages to slow servers, then ${POSTED_AT_ONCE} more at once beside POST …`);
  let residentBytes = 0;
  const sampler = setInterval(() => {
    residentBytes = Math.max(residentBytes, readResident(bench.app.process.pid).now);
  }, SAMPLE_MS);
  for (let number = 0; number < GOING_OUT; number += 1) await postLarge(bench, number);
  await Bun.sleep(SETTLE_MS);
  const posting = Array.from({ length: POSTED_AT_ONCE }, (_, number) => postLarge(bench, GOING_OUT + number));
  const [beside] = await Promise.all([measurePosts(bench, 1, seconds), ...posting]);
  await Bun.sleep(SETTLE_MS);
  clearInterval(sampler);
  return { residentBytes, p99Ms: { without: without.requestLatencyMs.p99, beside: beside.requestLatencyMs.p99 } };
}

/** Each recipient has a server, and each message a file, of its own. */
async function postLarge({ api }: Bench, number: number): Promise<void> {
  const { subject, html, text } = makeContent(number, "html+text");
  await api.expect(202, "POST", "/api/v1/emails", {
    from: `Loja Bench <loja@${SENDER_DOMAIN}>`,
    to: recipient(number, `n${number}.${SLOW_DOMAIN}`),
    subject,
    html,
    text,
    attachments: [{ filename: "video.bin", content: makeFile(number, LARGEST_BYTES).toString("base64") }],
  });
}

/** By how much the database grew. */
async function measureLogo(bench: Bench): Promise<number> {
  say(`pombo: ${LOGO_EMAILS} messages with the same logo …`);
  const { api, app } = bench;
  const countBytes = () => {
    using database = new Database(join(app.dataFolder, "pombo.db"), { readonly: true });
    const { page_count: pages } = database.query("PRAGMA page_count").get() as { page_count: number };
    const { page_size: bytes } = database.query("PRAGMA page_size").get() as { page_size: number };
    return pages * bytes;
  };
  const before = countBytes();
  const { subject, text } = makeContent(1, "html+text");
  const content = makeFile(1, MIB).toString("base64");
  const attachments = [{ filename: "logo.png", content, contentId: "logo" }];
  for (let sent = 0; sent < LOGO_EMAILS; sent += POSTED_AT_ONCE) {
    const posts = Array.from({ length: Math.min(POSTED_AT_ONCE, LOGO_EMAILS - sent) }, (_, index) =>
      api.expect(202, "POST", "/api/v1/emails", {
        from: `loja@${SENDER_DOMAIN}`,
        to: recipient(sent + index, RECIPIENT_DOMAIN),
        subject,
        html: '<img src="cid:logo">',
        text,
        attachments,
      }),
    );
    await Promise.all(posts);
  }
  return countBytes() - before;
}

function listRows(figures: Partial<Figures>): string[][] {
  const { peerPerSecond, peerCpu, perSecond, cpu, logoBytes, residentBytes, p99Ms, replica } = figures;
  const show = (value: number | undefined, unit: string, digits = 0) =>
    value === undefined ? "-" : `${value.toFixed(digits)}${unit}`;
  const mb = (bytes: number | undefined) => (bytes === undefined ? undefined : megabytes(bytes));
  return [
    ["what", "figure"],
    ["100 KiB PDF through Postfix + OpenDKIM", show(peerPerSecond, "/s")],
    ["the same through pombo", show(perSecond, "/s")],
    ["CPU s of all of them, Postfix + OpenDKIM", peerCpu === undefined ? "-" : formatCpu(peerCpu)],
    ["and pombo", cpu === undefined ? "-" : formatCpu(cpu)],
    [`${LOGO_EMAILS} emails with the same 1 MiB logo: the database grew by`, show(mb(logoBytes), " MB", 1)],
    [`${POSTED_AT_ONCE} × 20 MiB at once, ${GOING_OUT} going out slowly: memory`, show(mb(residentBytes), " MB")],
    ["p99 of other POSTs without them", show(p99Ms?.without, " ms", 1)],
    ["beside them", show(p99Ms?.beside, " ms", 1)],
    [`${POSTED_AT_ONCE} × 20 MiB at once: the replica lags at most (looked at each 5 s)`, show(replica?.lagS, " s", 1)],
    ["it has all, after the last answer", show(replica?.caughtUpS, " s", 1)],
    ["it grew by", show(mb(replica?.bytes), " MB")],
    ["whole copies it made meanwhile", show(replica?.wholeCopies, "")],
  ];
}

function listBounds({ peerPerSecond, perSecond, logoBytes, residentBytes, p99Ms }: Partial<Figures>): Bound[] {
  const bounds: Bound[] = [];
  if (perSecond !== undefined && peerPerSecond !== undefined)
    bounds.push({
      name: "with a PDF, against Postfix + OpenDKIM (goal: 4)",
      value: perSecond / peerPerSecond,
      must: "be at least",
      limit: 2,
      unit: " ×",
    });
  if (logoBytes !== undefined)
    bounds.push({ name: "growth by a logo", value: logoBytes / MIB, must: "be at most", limit: 10, unit: " MiB" });
  if (residentBytes !== undefined)
    bounds.push({ name: "memory", value: residentBytes / MIB, must: "be at most", limit: 512, unit: " MiB" });
  if (p99Ms !== undefined) {
    const value = p99Ms.beside / p99Ms.without;
    bounds.push({ name: "others' p99 beside large messages", value, must: "be at most", limit: 2, unit: " ×" });
  }
  return bounds;
}

/** Progress goes to standard error, so that standard output is the report. */
function say(line: string): void {
  console.error(line);
}
