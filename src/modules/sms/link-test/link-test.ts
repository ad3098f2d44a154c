/**
 * One trial of a link: three texts to the operator's own phone, each step noted with its raw PDU, until all receipts
 * came that the route promises, or its time is over. It is in memory alone. After a crash its receipts fit nothing
 * and are kept among those; nothing of it is ever sent twice.
 */
import type { Clock } from "../../../platform/clock.ts";
import { outcomeOf } from "../../../protocols/smpp/submit-outcome.ts";
import type { LinkTestObserver, OfferedReceipt, Probe } from "./probe.ts";
import type { LinkView } from "../gateway/links.ts";
import { isSameNumber } from "../encoding/phone-number.ts";
import { candidateKeys, type Conversion, idKey } from "../receipts/message-id.ts";
import { isLast, type ReceiptState } from "../receipts/parse.ts";
import type { Route } from "../gateway/route-settings.ts";
import { advance } from "../queue/status.ts";
import type { TrialSubmit, TrialText } from "./messages.ts";

/** What was tried and what became of it. */
export interface Tried extends Omit<TrialSubmit, "submit"> {
  outcome: "waiting" | "written" | "accepted" | "refused" | "unanswered" | "lost" | "unwritable";
  /** command_status of its answer. */
  status: number | null;
  /** Of its answer; empty: the SMSC gave none. */
  messageId: string | null;
  receipt: ReceiptState | null;
  conversion: Conversion | null;
}

/** One thing that happened. */
export interface TrialLine {
  /** From 1, rising. */
  no: number;
  /** Unix ms. */
  at: number;
  kind: "link" | "submit" | "answer" | "receipt" | "silence";
  text: TrialText | null;
  part: number | null;
  sequence: number | null;
  dataCoding: number | null;
  esmClass: number | null;
  status: number | null;
  statusName: string | null;
  messageId: string | null;
  /** From writing the submit to its answer. */
  ms: number | null;
  receipt: {
    id: string | null;
    conversion: Conversion | null;
    state: ReceiptState;
    word: string | null;
    err: string | null;
  } | null;
  /** The PDU in hexadecimal. */
  raw: string | null;
  /** What it says in words. */
  words: string;
}

/** `refused`: the link's bind. `down`: it was not bound, and could not be. `no_link`: the route has none. */
export type TrialEnd = "complete" | "time" | "stopped" | "refused" | "down" | "no_link";

export interface LinkTestDeps {
  id: string;
  route: Route;
  /** Null: the route has none. */
  link: string | null;
  to: string;
  submits: TrialSubmit[];
  waitMs: number;
  /** Of stored times. */
  clock: Clock;
  /** Of spans. */
  steady: Clock;
  view: () => LinkView | null;
  ended: (trial: LinkTest) => void;
}

interface OwnProbe extends Probe {
  tried: Tried;
  writtenAt: number | null;
}

/** Receipts that wait for the answer that may name them. */
const MAX_HELD = 20;
const MAX_LINES = 200;

export class LinkTest implements LinkTestObserver {
  readonly #deps: LinkTestDeps;
  readonly #probes: OwnProbe[];
  readonly lines: TrialLine[] = [];
  readonly #held: OfferedReceipt[] = [];
  #end: TrialEnd | null = null;
  #cancel: () => void = () => undefined;
  #isIdless = false;
  /** The link was not bound when it began. */
  #beganUnbound = false;

  constructor(deps: LinkTestDeps) {
    this.#deps = deps;
    this.#probes = deps.submits.map(({ submit, ...rest }) => ({
      submit,
      guest: this,
      writtenAt: null,
      tried: { ...rest, outcome: "waiting", status: null, messageId: null, receipt: null, conversion: null },
    }));
  }

  get id(): string {
    return this.#deps.id;
  }

  get route(): Route {
    return this.#deps.route;
  }

  get link(): string {
    return this.#deps.link ?? "";
  }

  get waitMs(): number {
    return this.#deps.waitMs;
  }

  get to(): string {
    return this.#deps.to;
  }

  /** Why it ended; null: it goes on. */
  get end(): TrialEnd | null {
    return this.#end;
  }

  get tried(): Tried[] {
    return this.#probes.map(({ tried }) => tried);
  }

  /** Receipts for this number came that fit none of the ids. */
  get hasStrangeReceipts(): boolean {
    return this.#isIdless;
  }

  /** Its time begins. */
  start(): void {
    const { steady, waitMs, link } = this.#deps;
    if (link === null) return this.finish("no_link");
    this.#cancel = steady.after(waitMs, () => this.finish("time"));
    const state = this.#deps.view()?.state;
    this.#beganUnbound = state !== "bound" && state !== "partly";
    this.#seeLink(true);
  }

  finish(end: TrialEnd): void {
    if (this.#end !== null) return;
    this.#end = end;
    this.#cancel();
    for (const { pass } of this.#held.splice(0)) pass();
    this.#deps.ended(this);
  }

  take(room: number): Probe[] {
    if (this.#end !== null) return [];
    return this.#probes.filter(({ tried }) => tried.outcome === "waiting").slice(0, room);
  }

  unsent(probe: Probe, reason: string | null): void {
    const { tried } = this.#own(probe);
    tried.outcome = reason === null ? "waiting" : "unwritable";
    if (reason !== null) this.#note("silence", tried, { words: `it cannot be written: ${reason}` });
    this.#look();
  }

  written(probe: Probe, pdu: Buffer): void {
    const own = this.#own(probe);
    own.tried.outcome = "written";
    own.writtenAt = this.#deps.steady.now();
    const { dataCoding, esmClass } = probe.submit;
    this.#note("submit", own.tried, { ...rawOf(pdu), dataCoding, esmClass, words: "written" });
  }

  answered(probe: Probe, { status, messageId, bytes }: { status: number; messageId: string; bytes: Buffer }): void {
    const { tried, writtenAt } = this.#own(probe);
    const { name: statusName, action } = outcomeOf(status, this.#deps.route.statuses);
    tried.outcome = action === "accept" ? "accepted" : "refused";
    tried.status = status;
    tried.messageId = messageId;
    const ms = writtenAt === null ? null : Math.round(this.#deps.steady.now() - writtenAt);
    const words = tried.outcome === "accepted" ? "the SMSC has it" : "the SMSC refuses it";
    this.#note("answer", tried, { ...rawOf(bytes), status, statusName, messageId, ms, words });
    this.#offerAgain();
    this.#look();
  }

  unanswered(probe: Probe, outcome: "unanswered" | "lost"): void {
    const { tried } = this.#own(probe);
    tried.outcome = outcome;
    const why = outcome === "lost" ? "the connection was lost before the answer" : "no answer in time";
    this.#note("silence", tried, { words: `${why}: whether the SMSC has it is not known` });
    this.#offerAgain();
    this.#look();
  }

  linkChanged(link: string): void {
    if (link === this.#deps.link && this.#end === null) this.#seeLink(false);
  }

  #seeLink(isBegin: boolean): void {
    // In a moment: the link's own state follows what it tells.
    queueMicrotask(() => {
      const view = this.#deps.view();
      if (view === null || this.#end !== null) return;
      this.#note("link", null, { words: linkWords(view), statusName: view.error?.statusName ?? null });
      // It is tried again in a minute at the earliest, and somebody has to change something before that.
      const isUntouched = this.#probes.every(({ tried }) => tried.outcome === "waiting");
      if (view.state === "refused" && isUntouched) this.finish("refused");
      if (view.state !== "waiting" || !isUntouched || !this.#beganUnbound) return;
      // Where it was down before, one more attempt is waited for, if it comes in time.
      const endsAt = this.#deps.clock.now() + this.#deps.waitMs;
      if (!isBegin || (view.retryAt ?? 0) > endsAt) this.finish("down");
    });
  }

  /** True: it is taken, or held until it is known whose it is. */
  offer(offered: OfferedReceipt): boolean {
    if (this.#end !== null || offered.route !== this.#deps.route.config.name) return false;
    const { source, destination } = offered.message;
    if (![source, destination].some(({ address }) => isSameNumber(address, this.#deps.to))) return false;
    if (this.#apply(offered)) return true;
    if (!this.#isAnswerOpen || this.#held.length >= MAX_HELD) {
      this.#noteStrange(offered);
      return false;
    }
    this.#held.push(offered);
    return true;
  }

  get #isAnswerOpen(): boolean {
    return this.#probes.some(({ tried }) => tried.outcome === "written");
  }

  #offerAgain(): void {
    for (const offered of this.#held.splice(0)) {
      if (this.#apply(offered)) continue;
      if (this.#isAnswerOpen) this.#held.push(offered);
      else {
        this.#noteStrange(offered);
        offered.pass();
      }
    }
  }

  #apply({ receipt, message, taken }: OfferedReceipt): boolean {
    const { id, state, word, err } = receipt;
    const keys = id === null ? [] : candidateKeys(id);
    const found = keys.flatMap(({ key, conversion }) =>
      this.#probes
        .filter(({ tried }) => tried.outcome === "accepted" && idKey(tried.messageId ?? "") === key)
        .map(({ tried }) => ({ tried, conversion })),
    );
    // Some SMSCs give all the same id: the one that has no last word yet.
    const best = found.find(({ tried }) => tried.receipt === null || !isLast(tried.receipt)) ?? found[0];
    if (best === undefined) return false;
    const { tried, conversion } = best;
    tried.receipt = advance(tried.receipt, state) ?? tried.receipt;
    tried.conversion = conversion;
    const words = isLast(state) ? state : `${state}: not its last word`;
    this.#note("receipt", tried, { ...rawOf(message.bytes), receipt: { id, conversion, state, word, err }, words });
    taken();
    this.#look();
    return true;
  }

  /** It may be one of a customer's text to the same number. */
  #noteStrange({ receipt: { id, state, word, err }, message }: OfferedReceipt): void {
    this.#isIdless = true;
    const words =
      "its id fits none of the answers: it is of another text to this number, or the ids cannot be compared";
    this.#note("receipt", null, {
      ...rawOf(message.bytes),
      receipt: { id, conversion: null, state, word, err },
      words,
    });
  }

  #own(probe: Probe): OwnProbe {
    const own = this.#probes.find((each) => each === probe);
    if (own === undefined) throw new Error("a probe of another trial");
    return own;
  }

  #look(): void {
    const isOpen = ({ outcome, expectsReceipt, receipt, messageId }: Tried) =>
      outcome === "waiting" ||
      outcome === "written" ||
      (outcome === "accepted" && expectsReceipt && messageId !== "" && (receipt === null || !isLast(receipt)));
    if (!this.tried.some(isOpen)) this.finish("complete");
  }

  #note(kind: TrialLine["kind"], tried: Tried | null, said: Partial<TrialLine> & { words: string }): void {
    if (this.#end !== null || this.lines.length >= MAX_LINES) return;
    const nothing = { sequence: null, dataCoding: null, esmClass: null, status: null, statusName: null };
    const of = { text: tried?.text ?? null, part: tried?.part ?? null };
    const at = this.#deps.clock.now();
    const none = { ...nothing, messageId: null, ms: null, receipt: null, raw: null };
    this.lines.push({ no: this.lines.length + 1, at, kind, ...of, ...none, ...said });
  }
}

/** SMPP 3.4 §3.2: the sequence number is the header's last field. */
function rawOf(pdu: Buffer): { raw: string; sequence: number } {
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
