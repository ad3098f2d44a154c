/**
 * One message over an open session: MAIL, RCPT, DATA, the content, the dot (R18–R30). With
 * PIPELINING the three commands go in one write and their replies are read in order; without, one
 * by one. `beforeDot` is started as soon as DATA is accepted and awaited before the dot is
 * written: from that instant on a lost connection means an unknown outcome (R28), so the caller
 * must have recorded the attempt durably first.
 */
import type { Capabilities, Unfit } from "./capabilities.ts";
import { END_OF_CONTENT, prepareContent, type PreparedContent } from "./content.ts";
import type { Reply } from "../replies/reply.ts";
import type { Stage } from "../replies/stage.ts";
import type { SessionTimeouts } from "./timeouts.ts";
import { BrokenWire, type EgressFault, type Wire } from "./connection.ts";

/** The outcome of one message. */
export type SendResult =
  | { kind: "accepted"; reply: Reply; isReusable: boolean }
  /** A 4xx or 5xx. `envelopeReached`: the server answered MAIL or a later command. */
  | { kind: "refused"; stage: Stage; reply: Reply; isReusable: boolean; envelopeReached: boolean }
  | Unfit
  /**
   * No answer to go by. `isDotSent`: the server may have taken the message (R28). `isSlow`: it took a large one too slowly.
   * `egressFault`: nobody was reached, and it is our own way out that is to blame.
   */
  | {
      kind: "broken";
      stage: Stage;
      reason: string;
      isDotSent: boolean;
      isSlow?: boolean;
      egressFault?: EgressFault;
    };

export interface Envelope {
  from: string;
  to: string;
  /** An address has a non-ASCII local part (R21). */
  needsSmtpUtf8: boolean;
  /** The body has octets above 127 (RFC 6152). */
  hasEightBit?: boolean;
}

/** The session's side of a transaction. */
export interface Link {
  wire: Wire;
  capabilities: Capabilities;
  timeouts: SessionTimeouts;
  /** MAIL was accepted and the transaction never ended: RSET must come first. */
  isTransactionOpen: boolean;
}

/** Content up to this size goes in one write with its dot; larger content is on its way while `beforeDot` runs. */
const ONE_WRITE_BYTES = 32 * 1024;
const CHUNK_BYTES = 64 * 1024;
/** A larger one takes memory from others: where less than so many bytes leave in so long a time, it is tried again later. */
const LARGE_BYTES = 1024 * 1024;
const SLOW_S = 120;
const SLOW_KIB = 16;
const SLOW_MS = SLOW_S * 1000;
const SLOW_BYTES = SLOW_S * SLOW_KIB * 1024;
const ENVELOPE_STAGES = ["mail", "rcpt", "data"] as const;
type EnvelopeStage = (typeof ENVELOPE_STAGES)[number];
interface Progress {
  stage: Stage;
  isDotSent: boolean;
  isSlow?: boolean;
}

/** Sends one message. Throws only on what composing must never hand over (see content.ts, envelopeCommands). */
export async function transact(
  link: Link,
  envelope: Envelope,
  content: Uint8Array | PreparedContent,
  beforeDot: () => Promise<void>,
): Promise<SendResult> {
  const { stuffed, bytes } =
    content instanceof Uint8Array
      ? { stuffed: prepareContent(content, mayBeEightBit(envelope)), bytes: content.length }
      : content;
  const commands = envelopeCommands(envelope, bytes, link.capabilities);
  const unfit = refuseAhead(envelope, bytes, link.capabilities);
  if (unfit !== null) return { kind: "unfit", stage: "mail", ...unfit };
  const progress: Progress = { stage: "mail", isDotSent: false };
  try {
    link.wire.assertQuiet("the server spoke between messages");
    return (await sendEnvelope(link, commands, progress)) ?? (await sendContent(link, stuffed, beforeDot, progress));
  } catch (error) {
    link.wire.destroy();
    if (!(error instanceof BrokenWire)) throw error;
    const stray = link.wire.stray;
    // Some servers refuse in the middle of the content and close; before the dot that is an answer.
    if (progress.stage === "block" && stray !== null && stray.code >= 400) return refused(link, "block", stray);
    return { kind: "broken", ...progress, reason: error.message };
  }
}

/** MAIL to DATA. Null: the server waits for the content. */
async function sendEnvelope(
  link: Link,
  commands: Record<EnvelopeStage, string>,
  progress: Progress,
): Promise<SendResult | null> {
  const { wire, capabilities, timeouts } = link;
  const reset = link.isTransactionOpen ? "RSET\r\n" : "";
  if (capabilities.hasPipelining) {
    wire.ask(reset + commands.mail + commands.rcpt + commands.data, reset === "" ? 3 : 4);
  } else if (reset !== "") wire.ask(reset, 1);
  if (reset !== "") {
    const reply = await wire.next(timeouts.commandMs, "answer to RSET");
    if (reply.code === 421) return refused(link, "mail", reply);
    if (reply.code !== 250) throw new BrokenWire(`RSET answered with ${reply.code}`);
    link.isTransactionOpen = false;
  }
  for (const stage of ENVELOPE_STAGES) {
    progress.stage = stage;
    if (!capabilities.hasPipelining) wire.ask(commands[stage], 1);
    const reply = await wire.next(
      stage === "data" ? timeouts.dataMs : timeouts.commandMs,
      `answer to ${stage.toUpperCase()}`,
    );
    if (stage === "data" ? reply.code === 354 : reply.code >= 200 && reply.code < 300) {
      link.isTransactionOpen = true;
      continue;
    }
    // R27: a 2xx or 3xx that does not belong here.
    if (reply.code < 400) throw new BrokenWire(`${stage.toUpperCase()} answered with ${reply.code}`);
    if (capabilities.hasPipelining && reply.code !== 421) await readRestOfGroup(link, stage);
    return refused(link, stage, reply);
  }
  return null;
}

/** After a refusal the later commands of the group have been sent too: their replies must be read, and may not undo the refusal. */
async function readRestOfGroup(link: Link, refusedAt: EnvelopeStage): Promise<void> {
  const { wire, timeouts } = link;
  try {
    let last: Reply | null = null;
    for (const stage of ENVELOPE_STAGES.slice(ENVELOPE_STAGES.indexOf(refusedAt) + 1)) {
      last = await wire.next(
        stage === "data" ? timeouts.dataMs : timeouts.commandMs,
        `answer to ${stage.toUpperCase()}`,
      );
      if (last.code === 421) return wire.destroy();
    }
    if (last?.code !== 354) return;
    // R18, RFC 2920 §3.1: the server waits for content that has no recipient. It gets none.
    wire.ask(END_OF_CONTENT, 1);
    await wire.next(timeouts.quitMs, "answer to the lone dot");
    link.isTransactionOpen = false;
  } catch (error) {
    if (!(error instanceof BrokenWire)) throw error;
    wire.destroy();
  }
}

async function sendContent(
  link: Link,
  content: Uint8Array,
  beforeDot: () => Promise<void>,
  progress: Progress,
): Promise<SendResult> {
  const { wire, timeouts } = link;
  progress.stage = "block";
  const recorded = Promise.try(beforeDot).then(
    () => null,
    (error: unknown) => `the attempt could not be recorded: ${error instanceof Error ? error.message : String(error)}`,
  );
  const isOneWrite = content.length <= ONE_WRITE_BYTES;
  if (!isOneWrite) await writeChunks(link, content, progress);
  const failure = await recorded;
  if (failure !== null) throw new BrokenWire(failure);
  const last = isOneWrite ? Buffer.concat([content, END_OF_CONTENT]) : END_OF_CONTENT;
  wire.assertQuiet("the server spoke before the dot");
  // The final dot: from here on the message may have been taken.
  progress.stage = "dot";
  progress.isDotSent = true;
  wire.ask(last, 1, `(message of ${content.length} bytes, and the final dot)`);
  const reply = await wire.next(timeouts.dotMs, "answer to the dot");
  link.isTransactionOpen = false;
  if (reply.code >= 400) return refused(link, "dot", reply);
  if (reply.code >= 300) throw new BrokenWire(`the dot answered with ${reply.code}`);
  return { kind: "accepted", reply, isReusable: wire.isQuiet };
}

async function writeChunks({ wire, timeouts }: Link, content: Uint8Array, progress: Progress): Promise<void> {
  const slowMs = content.length > LARGE_BYTES ? SLOW_MS : Infinity;
  let mark = { at: 0, dueAt: wire.now + slowMs };
  for (let at = 0; at < content.length; at += CHUNK_BYTES) {
    if (at - mark.at >= SLOW_BYTES) mark = { at, dueAt: wire.now + slowMs };
    wire.write(content.subarray(at, at + CHUNK_BYTES));
    try {
      await wire.drained(Math.min(timeouts.blockMs, Math.max(0, mark.dueAt - wire.now)));
    } catch (error) {
      if (!(error instanceof BrokenWire) || wire.now < mark.dueAt) throw error;
      progress.isSlow = true;
      throw new BrokenWire(`it took less than ${SLOW_KIB} KiB a second for ${SLOW_S} s`);
    }
  }
}

function refused(link: Link, stage: Stage, reply: Reply): SendResult {
  // R25: 421 announces the close. R27: 503 means that we are out of step.
  if (reply.code === 421 || reply.code === 503) link.wire.destroy();
  return { kind: "refused", stage, reply, isReusable: link.wire.isQuiet, envelopeReached: true };
}

/** A refusal that the server's capabilities already imply. */
function refuseAhead(
  envelope: Envelope,
  sizeBytes: number,
  capabilities: Capabilities,
): Pick<Unfit, "enhanced" | "reason"> | null {
  const limit = capabilities.maxSizeBytes;
  // RFC 1870 §4: a limit of 0 is no limit.
  if (limit !== null && limit > 0 && sizeBytes > limit) {
    return { enhanced: "5.3.4", reason: `the message has ${sizeBytes} bytes and the server takes ${limit}` };
  }
  if (envelope.needsSmtpUtf8 && !capabilities.hasSmtpUtf8) {
    return { enhanced: "5.6.7", reason: "an address needs SMTPUTF8 and the server does not offer it" };
  }
  // RFC 6152 §3: nothing is converted, since a signature would break.
  if (envelope.hasEightBit === true && !capabilities.has8BitMime) {
    return { enhanced: "5.6.3", reason: "a signed part has 8-bit text and the server does not offer 8BITMIME" };
  }
  return null;
}

function mayBeEightBit({ needsSmtpUtf8, hasEightBit = false }: Envelope): boolean {
  return needsSmtpUtf8 || hasEightBit;
}

// A space or an angle bracket may stand only inside a quoted local part, where the grammar allows it (RFC 5321 §4.1.2).
const PATH = /^(?:[^\s<>"\p{C}]+|"(?:[^"\\\p{C}]|\\[\x20-\x7e])*")@[^\s<>"\p{C}]+$/u;

function envelopeCommands(
  envelope: Envelope,
  sizeBytes: number,
  capabilities: Capabilities,
): Record<EnvelopeStage, string> {
  for (const address of [envelope.from, envelope.to]) {
    // The border has parsed it; this is the last place before the wire, and a line end here would be a command.
    if (!PATH.test(address)) throw new Error(`not an envelope address: ${JSON.stringify(address)}`);
    // oxlint-disable-next-line no-control-regex
    if (!envelope.needsSmtpUtf8 && !/^[\x00-\x7f]*$/.test(address))
      throw new Error(`needs SMTPUTF8: ${JSON.stringify(address)}`);
  }
  const size = capabilities.maxSizeBytes === null ? "" : ` SIZE=${sizeBytes}`;
  // R20: the content is 7-bit, except for the header of such an address (RFC 6531 §3.6) and what may not be converted.
  const utf8 = envelope.needsSmtpUtf8 ? " SMTPUTF8" : "";
  const body = mayBeEightBit(envelope) && capabilities.has8BitMime ? " BODY=8BITMIME" : "";
  return {
    mail: `MAIL FROM:<${envelope.from}>${size}${utf8}${body}\r\n`,
    rcpt: `RCPT TO:<${envelope.to}>\r\n`,
    data: "DATA\r\n",
  };
}
