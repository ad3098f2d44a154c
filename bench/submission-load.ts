// The load of `script/bench submission`, a process of its own so that its CPU is counted apart. Prints one line of JSON at the
// end; of idle clients the line "ready", and stays until it is stopped.
//
// Run by bench/submission.ts: bun bench/submission-load.ts '<JSON of SubmissionOrder>'

import { quantile } from "./load.ts";
import { recipient, RECIPIENT_DOMAIN, SENDER_DOMAIN } from "./message.ts";
import { makeTemplate, numbered, type Template } from "./submission-message.ts";
import { type Account, type Reply, SmtpSession } from "./submission-session.ts";

export type SubmissionOrder = Account & {
  sessions: number;
  firstNumber: number;
} & (
    | {
        /** Small messages, one after the other in each session. */
        kind: "rate";
        /** MAIL, RCPT and DATA in one packet (RFC 2920), as servers send them, or each after the reply before. */
        isPipelined: boolean;
        until: { messages: number } | { ms: number };
      }
    /** One message with a file in each session, all at once. */
    | { kind: "large"; fileBytes: number; isSizeDeclared: boolean }
    | { kind: "idle" }
  );

export interface SubmissionResult {
  /** Unix ms, with a fraction: the first MAIL. The sessions are open by then. */
  startedAt: number;
  elapsedMs: number;
  accepted: number;
  /** How often each reply to a message ended it, with the words of the first; 0: the connection ended. */
  ends: Record<number, { count: number; text: string }>;
  /** From MAIL to the last reply. */
  latencyMs: { p50: number; p99: number; max: number };
  cpuSeconds: number;
}

const order = JSON.parse(process.argv[2] ?? "") as SubmissionOrder;
const sessions = await Promise.all(Array.from({ length: order.sessions }, () => SmtpSession.open(order)));
if (order.kind === "idle") {
  process.on("SIGTERM", () => process.exit(0));
  console.log("ready");
} else {
  const result = order.kind === "rate" ? await runRate(order, sessions) : await runLarge(order, sessions);
  console.log(JSON.stringify(result));
  process.exit(0);
}

async function runRate(
  { isPipelined, until, firstNumber }: Extract<SubmissionOrder, { kind: "rate" }>,
  open: SmtpSession[],
): Promise<SubmissionResult> {
  const templates = open.map((_, variant) => makeTemplate(variant));
  const last = "messages" in until ? firstNumber + until.messages : Infinity;
  const ms = "ms" in until ? until.ms : Infinity;
  let nextNumber = firstNumber;
  return measure(async (note, startedAt) => {
    const talk = async (session: SmtpSession, template: Template) => {
      while (nextNumber < last && performance.now() - startedAt < ms) {
        const number = nextNumber++;
        const sentAt = performance.now();
        const refused = isPipelined
          ? await sayEnvelope(session, number, template.bytes)
          : await sayEnvelopeInSteps(session, number, template.bytes);
        const [reply] = refused ?? (await session.ask(Buffer.concat(numbered(template, number))));
        note(reply, performance.now() - sentAt);
        // What is refused for being too much is refused again at once.
        if (refused !== null) return;
      }
    };
    await Promise.all(open.map((session, index) => talk(session, templates[index] as Template)));
  });
}

async function runLarge(
  { fileBytes, isSizeDeclared, firstNumber }: Extract<SubmissionOrder, { kind: "large" }>,
  open: SmtpSession[],
): Promise<SubmissionResult> {
  const template = makeTemplate(0, fileBytes);
  return measure(async (note) => {
    const talk = async (session: SmtpSession, number: number) => {
      const sentAt = performance.now();
      try {
        const refused = await sayEnvelopeInSteps(session, number, isSizeDeclared ? template.bytes : null);
        const [reply] = refused ?? (await session.push(numbered(template, number)));
        note(reply, performance.now() - sentAt);
      } catch (error) {
        note({ code: 0, text: String(error) }, performance.now() - sentAt);
      }
    };
    await Promise.all(open.map((session, index) => talk(session, firstNumber + index)));
  });
}

async function measure(
  run: (note: (reply: Reply | undefined, ms: number) => void, startedAt: number) => Promise<void>,
): Promise<SubmissionResult> {
  const latencies: number[] = [];
  const ends: SubmissionResult["ends"] = {};
  const cpuBefore = process.cpuUsage();
  const startedAt = performance.now();
  await run((reply, ms) => {
    const { code, text } = reply ?? { code: 0, text: "no reply" };
    latencies.push(ms);
    (ends[code] ??= { count: 0, text }).count++;
  }, startedAt);
  const elapsedMs = performance.now() - startedAt;
  const { user, system } = process.cpuUsage(cpuBefore);
  return {
    startedAt: performance.timeOrigin + startedAt,
    elapsedMs,
    accepted: ends[250]?.count ?? 0,
    ends,
    latencyMs: { p50: quantile(latencies, 0.5), p99: quantile(latencies, 0.99), max: quantile(latencies, 1) },
    cpuSeconds: (user + system) / 1e6,
  };
}

function envelope(number: number, bytes: number | null): [string, string, string] {
  const size = bytes === null ? "" : ` SIZE=${bytes}`;
  return [
    `MAIL FROM:<loja@${SENDER_DOMAIN}>${size}\r\n`,
    `RCPT TO:<${recipient(number, RECIPIENT_DOMAIN)}>\r\n`,
    "DATA\r\n",
  ];
}

/** Null: the message may come. */
async function sayEnvelope(session: SmtpSession, number: number, bytes: number | null): Promise<Reply[] | null> {
  const replies = await session.ask(envelope(number, bytes).join(""), 3);
  return replies.at(-1)?.code === 354 ? null : replies.filter(({ code }) => code >= 400);
}

async function sayEnvelopeInSteps(session: SmtpSession, number: number, bytes: number | null): Promise<Reply[] | null> {
  for (const command of envelope(number, bytes)) {
    const replies = await session.ask(command);
    if ((replies[0]?.code ?? 0) >= 400) return replies;
  }
  return null;
}
