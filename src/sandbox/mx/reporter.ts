/**
 * Sends what comes back from the sandbox's MX to the instance's own inbound listener, the real way:
 * SMTP with STARTTLS. A moment after the message was taken, so that a person sees it delivered first;
 * like any mail server it tries again when it is told to come later, for a while.
 */
import type { Clock } from "../../platform/clock.ts";
import { newId } from "../../platform/uuid.ts";
import type { Random } from "../../platform/random.ts";
import { prepareContent, END_OF_CONTENT } from "../../protocols/smtp/session/content.ts";
import { greet } from "../../protocols/smtp/session/greeting.ts";
import type { Reply } from "../../protocols/smtp/replies/reply.ts";
import { DEFAULT_TIMEOUTS } from "../../protocols/smtp/session/timeouts.ts";
import { BrokenWire, Wire } from "../../protocols/smtp/session/connection.ts";
import { bounceReport, complaintReport, type Report, type Reported, type Reporter } from "./report.ts";

const DELAY_MS = 1_000;
/** After each try that did not end. */
const RETRY_MS = [1_000, 2_000, 5_000, 10_000, 30_000];
/** More are not remembered: nobody watches so many. */
export const MAX_WAITING = 1_000;

interface ReportsOptions {
  /** Of the sandbox's MX. */
  host: string;
  /** Where complaints go: fbl@<bounce host>. */
  complaintAddress: string;
  /** Where the instance listens for what comes back; null: not yet. */
  inbound: () => { address: string; port: number } | null;
  clock: Clock;
  random: Random;
  /** Receives one line for each report that was taken, refused or given up. */
  onEvent: (line: string) => void;
}

interface Outcome {
  /** Taken, or refused for good. */
  isOver: boolean;
  words: string;
}

/** Reports that are on their way. Made by the sandbox, ended with it. */
export class Reports {
  readonly #options: ReportsOptions;
  /** What cancels each. */
  readonly #waiting = new Set<() => void>();
  readonly #abort = new AbortController();

  constructor(options: ReportsOptions) {
    this.#options = options;
  }

  /** A moment from now: it bounced after all, or its recipient complained. */
  later(kind: "bounce" | "complaint", reported: Reported): void {
    const { clock, random, host, complaintAddress } = this.#options;
    if (this.#waiting.size >= MAX_WAITING)
      return this.#options.onEvent(
        `no report about one to ${reported.recipient}: ${MAX_WAITING} are on their way already`,
      );
    const at = clock.now() + DELAY_MS;
    const reporter: Reporter = { host, at, id: newId(at, random) };
    const report =
      kind === "bounce" ? bounceReport(reported, reporter) : complaintReport(reported, complaintAddress, reporter);
    this.#try(report, DELAY_MS, 0);
  }

  /** Forgets what waits and breaks off what is being sent. */
  stop(): void {
    this.#abort.abort();
    for (const cancel of this.#waiting) cancel();
    this.#waiting.clear();
  }

  #try(report: Report, delayMs: number, tries: number): void {
    const cancel = this.#options.clock.after(delayMs, () => {
      void this.#send(report).then((outcome) => {
        this.#waiting.delete(cancel);
        if (this.#abort.signal.aborted) return;
        const nextMs = outcome.isOver ? undefined : RETRY_MS[tries];
        if (nextMs === undefined) return this.#options.onEvent(outcome.words);
        this.#options.onEvent(`${outcome.words}; again in ${nextMs / 1_000} s`);
        this.#try(report, nextMs, tries + 1);
      });
    });
    this.#waiting.add(cancel);
  }

  /** Never rejects. */
  async #send(report: Report): Promise<Outcome> {
    const what = report.envelopeFrom === "" ? "bounce" : "complaint";
    const { inbound, clock, host } = this.#options;
    const to = inbound();
    if (to === null) return { isOver: false, words: `${what} not sent: the instance does not listen for it` };
    const wire = new Wire({ ...to, localAddress: null, clock });
    const abort = () => wire.destroy("stopped");
    this.#abort.signal.addEventListener("abort", abort, { once: true });
    try {
      const options = {
        ...to,
        host: to.address,
        localAddress: null,
        heloName: host,
        clock,
        timeouts: DEFAULT_TIMEOUTS,
      };
      const greeted = await greet(wire, { ...options, tls: "opportunistic" });
      if (greeted.kind === "broken") return { isOver: false, words: `${what} not sent: ${greeted.reason}` };
      const refusal = greeted.kind === "refused" ? greeted.reply : await converse(wire, report);
      if (refusal === null) return { isOver: true, words: `sent a ${what} report back` };
      const isOver = refusal.code >= 500;
      return { isOver, words: `${what} ${isOver ? "refused" : "put off"}: ${refusal.text}` };
    } catch (error) {
      if (!(error instanceof BrokenWire)) throw error;
      return { isOver: false, words: `${what} not sent: ${error.message}` };
    } finally {
      this.#abort.signal.removeEventListener("abort", abort);
      wire.destroy();
    }
  }
}

/**
 * MAIL to the dot; the answer that refused it, or null. Mail from the null sender is what pombo itself
 * never sends, and protocols/smtp/session/session.ts would not.
 */
async function converse(wire: Wire, { envelopeFrom, envelopeTo, content }: Report): Promise<Reply | null> {
  const { commandMs, dataMs, dotMs } = DEFAULT_TIMEOUTS;
  const steps: [string, number, number][] = [
    [`MAIL FROM:<${envelopeFrom}>\r\n`, 250, commandMs],
    [`RCPT TO:<${envelopeTo}>\r\n`, 250, commandMs],
    ["DATA\r\n", 354, dataMs],
  ];
  for (const [command, expected, limitMs] of steps) {
    wire.ask(command, 1);
    const reply = await wire.next(limitMs, "answer");
    if (reply.code !== expected) return reply;
  }
  wire.write(prepareContent(content, false));
  wire.ask(END_OF_CONTENT, 1);
  const last = await wire.next(dotMs, "answer to the dot");
  return last.code === 250 ? null : last;
}
