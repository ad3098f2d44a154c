/**
 * The SMSC's memory: what it was told to do, what it counted, the ids it has given, what waits for whom. It
 * outlives every connection.
 */
import { partOf, type Message } from "./codec.ts";
import type { Conversation } from "./conversation.ts";
import type { Journal } from "./journal.ts";
import { Mailbox } from "./mailbox.ts";
import { idOf, receiptFor } from "./receipts.ts";
import { changed, USUAL, type Change, type ReceiptScript, type Rule, type Script } from "./script.ts";

/** What can be waited for. */
export interface Counters {
  /** Of all time. */
  connections: number;
  closed: number;
  binds: number;
  submits: number;
  answers: number;
  /** Submits answered ROK. */
  accepted: number;
  throttled: number;
  deliveries: number;
  acknowledged: number;
  /** Acknowledged with an error. */
  refused: number;
  /** From the peer. */
  enquires: number;
  enquireAnswers: number;
  unbinds: number;
  unbindAnswers: number;
  nacks: number;
  /** PDUs of the peer that cannot be read, and answers to what was never asked. */
  faults: number;
  /** Right now. */
  open: number;
  bound: number;
  unacknowledged: number;
  waiting: number;
}

/** Far enough up that hexadecimal and decimal differ in length. */
const FIRST_ID = 972_660_181;

export class Smsc {
  script: Script = USUAL;
  readonly journal: Journal;
  readonly conversations = new Set<Conversation>();
  isStalled = false;
  /** The most submits without an answer that any connection has had. */
  maxUnanswered = 0;
  nextId = FIRST_ID;
  readonly #counts = new Map<keyof Counters, number>();
  readonly #mailboxes = new Map<string, Mailbox>();
  readonly #watchers = new Set<() => void>();
  #fits: number[] = [];
  #tokens = 0;
  #countedAt = 0;

  constructor(journal: Journal) {
    this.journal = journal;
  }

  change(change: Change<Script>): void {
    this.script = changed(this.script, change);
    if (change.rules !== undefined) this.#fits = [];
    if (change.ratePerSecond !== undefined) this.#tokens = change.ratePerSecond;
  }

  count(name: keyof Counters, by = 1): void {
    this.#counts.set(name, (this.#counts.get(name) ?? 0) + by);
    if (this.#watchers.size > 0) for (const watcher of this.#watchers) watcher();
  }

  get counters(): Counters {
    const of = (name: keyof Counters) => this.#counts.get(name) ?? 0;
    return {
      connections: of("connections"),
      closed: of("closed"),
      binds: of("binds"),
      submits: of("submits"),
      answers: of("answers"),
      accepted: of("accepted"),
      throttled: of("throttled"),
      deliveries: of("deliveries"),
      acknowledged: of("acknowledged"),
      refused: of("refused"),
      enquires: of("enquires"),
      enquireAnswers: of("enquireAnswers"),
      unbinds: of("unbinds"),
      unbindAnswers: of("unbindAnswers"),
      nacks: of("nacks"),
      faults: of("faults"),
      open: of("connections") - of("closed"),
      bound: [...this.conversations].filter(({ bound }) => bound !== null).length,
      unacknowledged: of("unacknowledged"),
      waiting: [...this.#mailboxes.values()].reduce((sum, mailbox) => sum + mailbox.size, 0),
    };
  }

  /** Resolves when it holds (true), or when the time is up (false). */
  until(holds: (counters: Counters) => boolean, limitMs: number): Promise<boolean> {
    return new Promise((resolve) => {
      const end = (isTrue: boolean) => {
        clearTimeout(deadline);
        this.#watchers.delete(watcher);
        resolve(isTrue);
      };
      const watcher = () => {
        if (holds(this.counters)) end(true);
      };
      const deadline = setTimeout(() => end(false), limitMs);
      this.#watchers.add(watcher);
      watcher();
    });
  }

  mailbox(systemId: string): Mailbox {
    const known = this.#mailboxes.get(systemId);
    if (known !== undefined) return known;
    const mailbox = new Mailbox();
    this.#mailboxes.set(systemId, mailbox);
    return mailbox;
  }

  /** Every mailbox that anybody has bound for. */
  mailboxes(): Mailbox[] {
    return [...this.#mailboxes.values()];
  }

  /** The rule for a submit, and it counts it. */
  ruleFor(message: Message): Rule["answer"] | null {
    for (const [index, rule] of this.script.rules.entries()) {
      if (rule.to !== undefined && !message.destination.startsWith(rule.to)) continue;
      if (rule.part !== undefined && partOf(message)?.part !== rule.part) continue;
      const nth = (this.#fits[index] ?? 0) + 1;
      this.#fits[index] = nth;
      const [every, from, count] = [rule.every ?? 1, rule.from ?? 1, rule.count ?? Infinity];
      if (nth < from || (nth - from) % every !== 0 || (nth - from) / every >= count) continue;
      return rule.answer;
    }
    return null;
  }

  /** Whether the rate allows one more submit. */
  mayPass(): boolean {
    const rate = this.script.ratePerSecond;
    if (rate === 0) return true;
    const now = performance.now();
    this.#tokens = Math.min(rate, this.#tokens + ((now - this.#countedAt) / 1_000) * rate);
    this.#countedAt = now;
    if (this.#tokens < 1) return false;
    this.#tokens -= 1;
    return true;
  }

  /** A new id: its number and how the answer says it. */
  takeId(): { number: number; id: string } {
    const number = this.nextId;
    this.nextId += 1;
    return { number, id: idOf(number, this.script.ids) };
  }

  /** The receipts of one accepted submit, each at its time. */
  sendReceipts(
    from: Conversation,
    message: Message,
    given: { number: number; id: string },
    script: ReceiptScript,
  ): void {
    if ((message.registeredDelivery & 1) === 0 || !isReported(message, script)) return;
    const id = script.ids === "same" ? given.id : idOf(given.number, script.ids);
    const systemId = from.bound?.systemId ?? "";
    for (const [nth, state] of script.states.entries()) {
      const send = () => {
        const delivery = receiptFor(message, id, state, script);
        const [wanted, shunned] = script.on === "same" ? [from, null] : [null, from];
        for (let time = 0; time < script.times; time += 1) this.mailbox(systemId).put({ delivery, wanted, shunned });
      };
      if (nth === 0 && script.isBeforeAnswer) send();
      else setTimeout(send, script.delayMs + nth * script.gapMs);
    }
  }
}

function isReported(message: Message, { parts }: ReceiptScript): boolean {
  const place = parts === "each" ? null : partOf(message);
  if (place === null) return true;
  if (parts === "none") return false;
  return place.part === (parts === "first" ? 1 : place.total);
}
