/**
 * The sandbox's mobile network: what becomes of each segment that its SMSC is handed. Magic numbers choose it
 * (magic-numbers.ts); to all others it arrives. Steps: answer, then a moment later arrive at the phone and
 * send the receipt back, by the account that the segment came from.
 */
import type { Clock } from "../../platform/clock.ts";
import type { Random } from "../../platform/random.ts";
import { readPart } from "../../modules/sms/encoding/reassemble.ts";
import type { Handsets } from "./handset.ts";
import { findBehaviour, DELIVERED, type Step, WRITES_BACK_MS } from "./magic-numbers.ts";
import { Tries } from "../tries.ts";
import { buildReceipt, type Reported } from "./receipt.ts";
import type { Deliver, Submit } from "../../protocols/smpp/pdu/smsc-pdu.ts";
import type { SubmitReply } from "./session.ts";

/** Destination addresses that phones have (E.164, without `+`). */
const NUMBER = /^\d{3,15}$/;
const INVALID_DESTINATION = 0x0b;
/** Steps that are ahead; those of a segment over that are taken at once. */
const MAX_AHEAD = 100_000;
/** Octets that make ids of this run unlike those of the last. */
const RUN_OCTETS = 4;

/** A subscriber's message to a number; `from` in E.164. */
export interface SubscriberMessage {
  from: string;
  to: string;
  body: string;
}

export interface NetworkDeps {
  handsets: Handsets;
  clock: Clock;
  random: Random;
  /** To an account, once it can be. */
  deliver: (account: string, message: Deliver) => void;
  /** A subscriber writes to the sender of a text. */
  writeBack: (message: SubscriberMessage) => void;
  /** Receives one line for each segment. */
  onEvent: (line: string) => void;
}

/** A segment at the SMSC, and by which account it came. */
export interface Submission {
  account: string;
  submit: Submit;
  reply: SubmitReply;
}

export class Network {
  readonly #deps: NetworkDeps;
  readonly #tries = new Tries();
  readonly #ahead = new Set<() => void>();
  readonly #run: string;
  #count = 0;

  constructor(deps: NetworkDeps) {
    this.#deps = deps;
    this.#run = Buffer.from(deps.random.bytes(RUN_OCTETS)).toString("hex");
  }

  take(submission: Submission): void {
    const { submit, reply } = submission;
    if (!NUMBER.test(submit.destination)) return reply.refuse(INVALID_DESTINATION);
    const does = findBehaviour(submit.destination);
    switch (does.kind) {
      case "takes":
        return this.#accept(submission, does.steps);
      case "reports_first":
        return this.#reportFirst(submission);
      case "refuses": {
        const key = segmentKey(submission);
        const isConcerned = does.part === null || does.part === findPlace(submit).seq;
        const isOver = does.times !== null && isConcerned && this.#tries.count(key) > does.times;
        if (isOver) this.#tries.forget(key);
        if (!isConcerned || isOver) return this.#accept(submission, DELIVERED_STEPS);
        this.#tell(submit, `refused with 0x${does.status.toString(16).padStart(2, "0").toUpperCase()}`);
        return reply.refuse(does.status);
      }
      case "is_silent":
        return this.#tell(submit, "not answered");
      case "drops": {
        const key = segmentKey(submission);
        if (this.#tries.count(key) > 1) {
          this.#tries.forget(key);
          return this.#accept(submission, DELIVERED_STEPS);
        }
        this.#deps.handsets.arrive(submit);
        this.#tell(submit, "arrived, and the connection dropped before the answer");
        return reply.drop();
      }
      case "writes_back":
        this.#accept(submission, DELIVERED_STEPS);
        return this.#writeBack(submit, does.body);
    }
  }

  /** What is ahead does not happen any more. */
  stop(): void {
    for (const cancel of this.#ahead) cancel();
    this.#ahead.clear();
  }

  #accept(submission: Submission, steps: readonly Step[]): void {
    const { submit, reply } = submission;
    const reported = this.#report(submit);
    reply.accept(reported.id);
    for (const step of steps) this.#later(step.afterMs, () => this.#follow(submission, reported, step));
  }

  #reportFirst(submission: Submission): void {
    const reported = this.#report(submission.submit);
    for (const step of DELIVERED_STEPS) this.#follow(submission, reported, step);
    submission.reply.accept(reported.id);
  }

  #follow({ account, submit }: Submission, reported: Reported, { isShown, receipt }: Step): void {
    const { handsets, clock, deliver } = this.#deps;
    if (isShown) handsets.arrive(submit);
    this.#tell(submit, receipt?.stat ?? "arrived, no receipt");
    if (receipt === null) return;
    const message = buildReceipt(reported, receipt, clock.now());
    if (message !== null) deliver(account, message);
  }

  #writeBack(submit: Submit, body: string): void {
    // Only the first part of a long message is answered.
    if (findPlace(submit).seq > 1) return;
    if (!NUMBER.test(submit.source))
      return this.#tell(submit, `nothing is written back: "${submit.source}" is a name, which no phone can answer`);
    const message = { from: `+${submit.destination}`, to: submit.source, body };
    this.#later(WRITES_BACK_MS, () => this.#deps.writeBack(message));
  }

  #report(submit: Submit): Reported {
    this.#count += 1;
    // Letters beyond F: it cannot be taken for a number that could be written otherwise.
    return { submit, id: `sx-${this.#run}-${this.#count}`, takenAt: this.#deps.clock.now() };
  }

  #later(afterMs: number, run: () => void): void {
    if (this.#ahead.size >= MAX_AHEAD) return run();
    const cancel = this.#deps.clock.after(afterMs, () => {
      this.#ahead.delete(cancel);
      run();
    });
    this.#ahead.add(cancel);
  }

  #tell(submit: Submit, what: string): void {
    const { seq, total } = findPlace(submit);
    const part = total > 1 ? ` (${seq} of ${total})` : "";
    this.#deps.onEvent(`${what}  +${submit.destination}${part}`);
  }
}

const DELIVERED_STEPS = DELIVERED.kind === "takes" ? DELIVERED.steps : [];

function findPlace({ esmClass, dataCoding, message, sar }: Submit): { seq: number; total: number } {
  return readPart({ esmClass, dataCoding, message, sar }).place ?? { seq: 1, total: 1 };
}

/** What is the same of a segment that is sent again, and of no other. */
function segmentKey({ account, submit }: Submission): string {
  const { source, destination, reference, message } = submit;
  const own = reference?.toString(16) ?? Bun.hash(message).toString(16);
  return `${account} ${source} ${destination} ${own} ${findPlace(submit).seq}`;
}
