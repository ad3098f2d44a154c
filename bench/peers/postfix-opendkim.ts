// The peer of the email benchmark: smtp-source → Postfix → OpenDKIM (RSA-2048) → Postfix → smtp-sink.
// Postfix gets 20 connections to the destination like pombo, as many smtpd processes as it likes, and
// no in-flow delay, which only slows down an injector faster than the disk. The milter is measured
// twice: over loopback TCP, and over a unix socket. The first answers each message about 80 ms
// later (Nagle's algorithm against delayed acknowledgements), which idles two cores; the second does not.

import { mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { generateKeyPairs } from "../../src/protocols/dkim/keys.ts";
import { dkimRecordValue } from "../../src/protocols/dkim/record.ts";
import type { Zone } from "../../test/support/fakes/zone.ts";
import { startSigner, type MilterSocket } from "../../test/support/peers/opendkim.ts";
import { pathOf } from "../../test/support/peers/packages.ts";
import { startPostfix } from "../../test/support/peers/postfix.ts";
import { cpuSeconds, freePort, mustRun, type Cleanup } from "../../test/support/peers/process.ts";
import { startCpuMeter, type CpuUse } from "../cpu.ts";
import { composeForPeer, makeContent, PROOF_DOMAIN, recipient, RECIPIENT_DOMAIN, SENDER_DOMAIN } from "../message.ts";
import { PROOF_ADDRESS, type Proof } from "../proof.ts";
import type { Sink } from "../sink.ts";

const INJECTING_SESSIONS = 20;
const DESTINATION_SESSIONS = 20;
const WARM_UP_MESSAGES = 100;
const SELECTOR = "peer";
const TIMEOUT_MS = 90_000;

export interface PeerResult {
  socket: MilterSocket;
  messages: number;
  /** Messages per second, from the start of the injection until the sink has them all. */
  perSecond: number;
  cpu: CpuUse;
}

/**
 * Starts the pair, has one message's signature proven, warms up, measures `messages`, stops the pair.
 * @throws Error when the proof fails or not all arrive in time.
 */
export async function measurePeer(options: {
  folder: string;
  sink: Sink;
  proof: Proof;
  messages: number;
  socket: MilterSocket;
  /** Of a file attached to each message; absent: none is. */
  attachmentBytes?: number;
  cleanup: Cleanup;
}): Promise<PeerResult> {
  const { sink, messages, socket } = options;
  const folder = join(options.folder, `peer-${socket}`);
  mkdirSync(folder);
  const cleanup = options.cleanup.part();
  try {
    const { rsa } = await generateKeyPairs();
    const zone: Zone = { [`${SELECTOR}._domainkey.${SENDER_DOMAIN}`]: { TXT: [dkimRecordValue(rsa)] } };
    const key = { domain: SENDER_DOMAIN, selector: SELECTOR, privateKeyPem: rsa.privateKeyPem };
    const signer = await startSigner({ folder, socket, ...key });
    cleanup.add(() => signer.process.stop());
    const port = await freePort();
    const postfix = await startPostfix({
      folder,
      hostname: `postfix.${SENDER_DOMAIN}`,
      port,
      settings: relaySettings(sink.port, signer.milter),
    });
    cleanup.add(() => postfix.stop());

    const messageFile = join(folder, "message.eml");
    writeFileSync(messageFile, composeForPeer(makeContent(0, "html+text"), options.attachmentBytes), "latin1");
    await inject({ port, messageFile, messages: 1, domain: PROOF_DOMAIN });
    await options.proof.expectSigned(["rsa-sha256"], zone);
    const before = sink.count();
    await inject({ port, messageFile, messages: WARM_UP_MESSAGES, domain: RECIPIENT_DOMAIN });
    await sink.waitFor(before + WARM_UP_MESSAGES, TIMEOUT_MS);

    const opendkim = (): number => cpuSeconds(signer.process.pid);
    const readCpu = startCpuMeter({ postfix: postfix.cpuSeconds, opendkim, sink: sink.cpuSeconds });
    const startedAt = performance.now();
    const arrived = sink.waitFor(before + WARM_UP_MESSAGES + messages, TIMEOUT_MS);
    const [endedAt] = await Promise.all([arrived, inject({ port, messageFile, messages, domain: RECIPIENT_DOMAIN })]);
    return { socket, messages, perSecond: messages / ((endedAt - startedAt) / 1000), cpu: readCpu() };
  } finally {
    await cleanup.close();
  }
}

function relaySettings(sinkPort: number, milter: string): Record<string, string> {
  return {
    default_transport: `smtp:[127.0.0.1]:${sinkPort}`,
    transport_maps: `inline:{${PROOF_DOMAIN}=smtp:[${PROOF_ADDRESS}]:${sinkPort}}`,
    smtpd_recipient_restrictions: "permit_mynetworks, reject",
    smtpd_milters: milter,
    // A message that could not be signed must not be counted as a signed one.
    milter_default_action: "tempfail",
    default_process_limit: "100",
    initial_destination_concurrency: String(DESTINATION_SESSIONS),
    smtp_destination_concurrency_limit: String(DESTINATION_SESSIONS),
    in_flow_delay: "0",
  };
}

/** -d keeps its sessions open from message to message; -N numbers the recipients; -F sends the file. */
async function inject(order: { port: number; messageFile: string; messages: number; domain: string }): Promise<void> {
  const { messages } = order;
  const counts = ["-s", String(Math.min(messages, INJECTING_SESSIONS)), "-m", String(messages)];
  const envelope = ["-f", `loja@${SENDER_DOMAIN}`, "-t", recipient(0, order.domain)];
  await mustRun([
    pathOf("smtp-source"),
    "-d",
    "-N",
    ...counts,
    ...envelope,
    "-F",
    order.messageFile,
    `127.0.0.1:${order.port}`,
  ]);
}
