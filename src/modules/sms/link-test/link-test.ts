// One test of a link: three messages to the operator's own phone, each step noted with its raw PDU, until all receipts
// came that the route promises, or its time is over. It is in memory only: after a crash its receipts fit nothing and are
// kept among those; nothing of it is ever sent twice.

import type { Context } from "../../../platform/context.ts";
import { toIsoTime } from "../../../platform/http/times.ts";
import { STATUS } from "../../../protocols/smpp/pdu/status.ts";
import { findStatusRule } from "../../../protocols/smpp/submit-outcome.ts";
import type { LinkTestRecord } from "../api/operator-schema.ts";
import { isSameNumber } from "../encoding/phone-number.ts";
import type { LinkEvent, ReceivedEvent } from "../gateway/link-event.ts";
import type { LinkView } from "../gateway/links.ts";
import type { Route } from "../gateway/route-settings.ts";
import type { Submission } from "../gateway/submission.ts";
import { advance } from "../queue/status.ts";
import { candidateKeys, type Conversion, idKey } from "../receipts/message-id.ts";
import { isFinalState, type Receipt, type ReceiptState } from "../receipts/parse.ts";
import type { TestSubmit } from "./messages.ts";

export interface SubmitResult extends TestSubmit {
  outcome: "waiting" | "written" | "accepted" | "refused" | "unanswered" | "lost" | "unwritable";
  /** command_status of its answer. */
  status: number | null;
  /** Of its answer; empty: the SMSC gave none. */
  messageId: string | null;
  receipt: ReceiptState | null;
  conversion: Conversion | null;
  /** By the steady clock; null: it was not written. */
  writtenAt: number | null;
}

type TestLine = (typeof LinkTestRecord.static)["lines"][number];

/** `refused`: the link's bind. `down`: it was not bound, and could not be. `no_link`: the route has none. */
export type TestEnd = "complete" | "time" | "stopped" | "refused" | "down" | "no_link";

export interface LinkTestDeps extends Pick<Context, "clock" | "steady"> {
  id: string;
  route: Route;
  /** Null: the route has none. */
  link: string | null;
  to: string;
  submits: TestSubmit[];
  waitMs: number;
  getView: () => LinkView | null;
  onEnd: (test: LinkTest) => void;
  /** A receipt goes the usual way after all. */
  pass: (event: ReceivedEvent) => void;
}

/** Receipts that wait for the answer that may name them. */
const MAX_HELD = 20;
const MAX_LINES = 200;

export class LinkTest {
  readonly deps: LinkTestDeps;
  readonly results: SubmitResult[];
  readonly lines: TestLine[] = [];
  readonly #held: ReceivedEvent[] = [];
  #end: TestEnd | null = null;
  #cancel: () => void = () => undefined;
  #hasUnmatchedReceipts = false;
  /** The link was not bound when it began. */
  #beganUnbound = false;

  constructor(deps: LinkTestDeps) {
    this.deps = deps;
    const nothing = { status: null, messageId: null, receipt: null, conversion: null, writtenAt: null };
    this.results = deps.submits.map((submit) => ({ ...submit, outcome: "waiting", ...nothing }));
  }

  /** Why it ended; null: it goes on. */
  get end(): TestEnd | null {
    return this.#end;
  }

  /** Receipts for this number came that fit none of the ids. */
  get hasUnmatchedReceipts(): boolean {
    return this.#hasUnmatchedReceipts;
  }

  get isWaiting(): boolean {
    return this.takeWaiting(1).length > 0;
  }

  start(): void {
    const { steady, waitMs, link } = this.deps;
    if (link === null) return this.finish("no_link");
    this.#cancel = steady.after(waitMs, () => this.finish("time"));
    const state = this.deps.getView()?.state;
    this.#beganUnbound = state !== "bound" && state !== "partly";
    this.#seeLink(true);
  }

  finish(end: TestEnd): void {
    if (this.#end !== null) return;
    this.#end = end;
    this.#cancel();
    for (const event of this.#held.splice(0)) this.deps.pass(event);
    this.deps.onEnd(this);
  }

  /** What is to be sent next, as many as there is room for. */
  takeWaiting(room: number): Submission[] {
    if (this.#end !== null) return [];
    const waiting = this.results.filter(({ outcome }) => outcome === "waiting");
    return waiting.slice(0, room).map(({ submission }) => submission);
  }

  /** What became of one of its submits. */
  apply(event: Extract<LinkEvent, { submission: Submission }>): void {
    const result = this.results.find(({ submission }) => submission === event.submission);
    if (result === undefined) throw new Error("a submit of another link test");
    switch (event.kind) {
      case "submitted": {
        result.outcome = "written";
        result.writtenAt = this.deps.steady.now();
        const { dataCoding, esmClass } = event.submission.submit;
        return this.#note("submit", result, { ...toRaw(event.pdu), dataCoding, esmClass, words: "written" });
      }
      case "unsent":
        result.outcome = event.reason === null ? "waiting" : "unwritable";
        if (event.reason !== null) this.#note("silence", result, { words: `it cannot be written: ${event.reason}` });
        return this.#look();
      case "responded":
        this.#respond(result, event);
        break;
      case "timed_out":
      case "lost": {
        result.outcome = event.kind === "lost" ? "lost" : "unanswered";
        const why = event.kind === "lost" ? "the connection was lost before the answer" : "no answer in time";
        this.#note("silence", result, { words: `${why}: whether the SMSC has it is not known` });
      }
    }
    this.#offerHeld();
    this.#look();
  }

  #respond(result: SubmitResult, event: Extract<LinkEvent, { kind: "responded" }>): void {
    const { status, messageId, pdu } = event;
    const { writtenAt } = result;
    const { name: statusName, action } = findStatusRule(status, this.deps.route.statuses);
    result.outcome = action === "accept" ? "accepted" : "refused";
    result.status = status;
    result.messageId = messageId;
    const ms = writtenAt === null ? null : Math.round(this.deps.steady.now() - writtenAt);
    const words = result.outcome === "accepted" ? "the SMSC has it" : "the SMSC refuses it";
    this.#note("answer", result, { ...toRaw(pdu), status, statusName, messageId, ms, words });
  }

  linkChanged(): void {
    if (this.#end === null) this.#seeLink(false);
  }

  #seeLink(isBegin: boolean): void {
    // Not at once: the link's own state changes after its event.
    queueMicrotask(() => {
      const view = this.deps.getView();
      if (view === null || this.#end !== null) return;
      this.#note("link", null, { words: linkWords(view), statusName: view.error?.statusName ?? null });
      // It is tried again in a minute at the earliest, and somebody has to change something before that.
      const isUntouched = this.results.every(({ outcome }) => outcome === "waiting");
      if (view.state === "refused" && isUntouched) this.finish("refused");
      if (view.state !== "waiting" || !isUntouched || !this.#beganUnbound) return;
      // Where it was down before, one more attempt is waited for, if it comes in time.
      const endsAt = this.deps.clock.now() + this.deps.waitMs;
      if (!isBegin || (view.retryAt ?? 0) > endsAt) this.finish("down");
    });
  }

  /** True: the receipt is taken, or held until it is known whose it is. */
  offer(event: ReceivedEvent, receipt: Receipt): boolean {
    if (this.#end !== null || event.link.route !== this.deps.route) return false;
    const { source, destination } = event.message;
    if (![source, destination].some(({ address }) => isSameNumber(address, this.deps.to))) return false;
    if (this.#take(event, receipt)) return true;
    if (!this.#isResponseOpen || this.#held.length >= MAX_HELD) {
      this.#noteUnmatched(event, receipt);
      return false;
    }
    this.#held.push(event);
    return true;
  }

  get #isResponseOpen(): boolean {
    return this.results.some(({ outcome }) => outcome === "written");
  }

  #offerHeld(): void {
    for (const event of this.#held.splice(0)) {
      if (event.receipt === null || this.#take(event, event.receipt)) continue;
      if (this.#isResponseOpen) this.#held.push(event);
      else {
        this.#noteUnmatched(event, event.receipt);
        this.deps.pass(event);
      }
    }
  }

  /** False: its id fits none of the responses. */
  #take({ message, acknowledge }: ReceivedEvent, { id, state, word, err }: Receipt): boolean {
    const keys = id === null ? [] : candidateKeys(id);
    const found = keys.flatMap(({ key, conversion }) =>
      this.results
        .filter(({ outcome, messageId }) => outcome === "accepted" && idKey(messageId ?? "") === key)
        .map((result) => ({ result, conversion })),
    );
    // Some SMSCs give all the same id: the one that has no last word yet.
    const best = found.find(({ result }) => result.receipt === null || !isFinalState(result.receipt)) ?? found[0];
    if (best === undefined) return false;
    const { result, conversion } = best;
    result.receipt = advance(result.receipt, state) ?? result.receipt;
    result.conversion = conversion;
    const words = isFinalState(state) ? state : `${state}: not its last word`;
    this.#note("receipt", result, { ...toRaw(message.bytes), receipt: { id, conversion, state, word, err }, words });
    // It is in no database, and needs no commit.
    acknowledge(STATUS.ok);
    this.#look();
    return true;
  }

  /** It may be one of a customer's message to the same number. */
  #noteUnmatched({ message }: ReceivedEvent, { id, state, word, err }: Receipt): void {
    this.#hasUnmatchedReceipts = true;
    const words =
      "its id fits none of the answers: it is of another message to this number, or the ids cannot be compared";
    const receipt = { id, conversion: null, state, word, err };
    this.#note("receipt", null, { ...toRaw(message.bytes), receipt, words });
  }

  #look(): void {
    const isOpen = ({ outcome, expectsReceipt, receipt, messageId }: SubmitResult) =>
      outcome === "waiting" ||
      outcome === "written" ||
      (outcome === "accepted" && expectsReceipt && messageId !== "" && (receipt === null || !isFinalState(receipt)));
    if (!this.results.some(isOpen)) this.finish("complete");
  }

  #note(kind: TestLine["kind"], result: SubmitResult | null, said: Partial<TestLine> & { words: string }): void {
    if (this.#end !== null || this.lines.length >= MAX_LINES) return;
    const nothing = { sequence: null, dataCoding: null, esmClass: null, status: null, statusName: null };
    const none = { ...nothing, messageId: null, ms: null, receipt: null, raw: null };
    const { text = null, part = null } = result ?? {};
    const at = toIsoTime(this.deps.clock.now());
    this.lines.push({ no: this.lines.length + 1, at, kind, text, part, ...none, ...said });
  }
}

/** SMPP 3.4 §3.2: the sequence number is the header's last field. */
function toRaw(pdu: Buffer): { raw: string; sequence: number } {
  return { raw: pdu.toString("hex"), sequence: pdu.readUInt32BE(12) };
}

function linkWords({ name, state, error }: LinkView): string {
  const why =
    error === null || state === "bound"
      ? ""
      : `: ${error.reason}${error.statusName === null ? "" : ` (${error.statusName})`}`;
  return `the link ${name} is ${STATE_WORDS[state]}${why}`;
}

const STATE_WORDS: Record<LinkView["state"], string> = {
  bound: "bound",
  partly: "half bound",
  connecting: "connecting",
  waiting: "not bound, and is tried again",
  refused: "refused",
  closed: "closed",
};
