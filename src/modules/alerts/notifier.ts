// Looks at what is wrong every few seconds, and tells whom the configuration names. What is told and that it was told are
// written in one transaction: an email or an SMS is queued in it, and what goes to a webhook waits in a table, as does
// everything whose way is itself the trouble.

import { BackgroundTask } from "../../platform/background-task.ts";
import type { Context } from "../../platform/context.ts";
import { isStorageError } from "../../platform/db/storage-error.ts";
import type { QueueSystemMail } from "../emails/system-mail.ts";
import type { SendSystemSms } from "../sms/system-sms.ts";
import type { AlertStore } from "./store.ts";
import { isOwnTrouble, isWayOpen, type Target, wants } from "./targets.ts";
import type { Trouble, TroubleSource } from "./trouble.ts";
import { type Decision, type Notice, type Told, TroubleWatch } from "./watch.ts";
import { toItem, type WebhookOutbox } from "./webhook-outbox.ts";
import { type AlertItem, writeAlert } from "./words.ts";

const DAY_MS = 86_400_000;
const LOOK_EVERY_MS = 15_000;
/** An older alert is of no use to anybody. */
const KEPT_MS = 7 * DAY_MS;
/** A reminder follows after a day. */
const LIFETIME_MS = DAY_MS;

export interface NotifierDeps extends Pick<Context, "commit" | "clock" | "steady" | "log" | "guard"> {
  store: AlertStore;
  targets: readonly Target[];
  sources: readonly TroubleSource[];
  outboxes: readonly WebhookOutbox[];
  hostname: string;
  queueMail: QueueSystemMail;
  sendSms: SendSystemSms;
}

interface Unwritten {
  told: Told;
  notice: Notice;
  /** By the key of a webhook: the id of the call that was made with it. */
  calls: Map<string, string>;
  /** Keys of the webhooks that took it. */
  taken: Set<string>;
}

export class Notifier {
  readonly #deps: NotifierDeps;
  readonly #watch: TroubleWatch;
  readonly #task: BackgroundTask;
  /** What each source said last. */
  readonly #last = new Map<TroubleSource, readonly Trouble[]>();
  #present: readonly Trouble[] = [];
  /** Troubles that began, or became a problem, while the database could not be written; by id and level. */
  readonly #unwritten = new Map<string, Unwritten>();

  constructor(deps: NotifierDeps) {
    this.#deps = deps;
    const { clock, steady, log } = deps;
    const moment = { now: clock.now(), steadyMs: steady.now() };
    this.#watch = new TroubleWatch(deps.store.listTold(), deps.store.listSeen(), moment);
    const retryMs = LOOK_EVERY_MS;
    this.#task = new BackgroundTask({ name: "alerts", run: () => this.#look(), clock, log, retryMs });
  }

  /** What lasts and was told. */
  get lasting(): Told[] {
    return this.#watch.lasting;
  }

  /** All that is wrong at the last look, hiccups included. */
  get present(): readonly Trouble[] {
    return this.#present;
  }

  /** Nothing that was told is a problem, and what was told can be written. */
  get isWell(): boolean {
    return this.#deps.guard.failure === null && this.lasting.every((told) => !this.#isProblem(told));
  }

  /** It was told as one, and has not eased. */
  #isProblem({ id, level }: Told): boolean {
    const own = this.#present.filter((trouble) => trouble.id === id);
    return level === "problem" && (own.length === 0 || own.some((trouble) => trouble.level === "problem"));
  }

  start(): void {
    this.#task.start();
  }

  idle(): Promise<void> {
    return this.#task.idle();
  }

  stop(): Promise<void> {
    return this.#task.stop();
  }

  /** Inside a transaction: sends it by email or SMS; the ids. */
  send({ way, to, sms }: Target, items: readonly AlertItem[]): string | null {
    const { clock, hostname, queueMail, sendSms } = this.#deps;
    const { subject, text, short } = writeAlert(hostname, items);
    const now = clock.now();
    if (way === "mail")
      return queueMail({ from: `pombo@${hostname}`, to, subject, text: `${text}\n`, until: now + LIFETIME_MS });
    return sms === null ? null : sendSms({ ...sms, to, text: short, now, lifetimeMs: LIFETIME_MS });
  }

  async #look(): Promise<number> {
    const { clock, steady, store, outboxes, targets, commit, guard } = this.#deps;
    const { troubles, unsure } = this.#ask();
    this.#present = troubles;
    const moment = { now: clock.now(), steadyMs: steady.now() };
    if (guard.failure === null && this.#unwritten.size > 0) await this.#writeUnwritten();
    const decision = this.#watch.look(troubles, moment, (id) => unsure.has(id) || this.#isUnsure(id));
    if (guard.failure !== null) {
      await this.#tellUnwritten(decision);
      return LOOK_EVERY_MS;
    }
    const pending = store.countPending();
    const due = targets.filter((target) => target.way !== "webhook" && pending.has(target.key) && this.#isOpen(target));
    const { notices, put, removed, seen } = decision;
    if (notices.length + put.length + removed.length + due.length > 0 || seen !== null) {
      await commit(() => this.#write(decision));
      this.#watch.accept(decision);
      for (const notice of notices) this.#log(notice);
    }
    for (const outbox of outboxes) outbox.trigger();
    return LOOK_EVERY_MS;
  }

  /** Nothing can be written, as on a full disk: webhooks hear of it all the same, and the rest follows once it can. */
  async #tellUnwritten({ notices, put }: Decision): Promise<void> {
    const news = notices.filter(({ kind }) => kind === "began" || kind === "worsened");
    for (const notice of news) {
      const told = put.find(({ id }) => id === notice.id);
      const isKnown = [notice.level, "problem"].some((level) => this.#unwritten.has(`${notice.id} ${level}`));
      if (told === undefined || isKnown) continue;
      const isWorse = this.#unwritten.has(`${notice.id} warning`);
      const said: Notice = isWorse ? { ...notice, kind: "worsened" } : notice;
      this.#unwritten.set(`${notice.id} ${notice.level}`, { told, notice: said, calls: new Map(), taken: new Set() });
      this.#log(said);
    }
    const present = new Set(news.map(({ id }) => id));
    await Promise.all(this.#deps.outboxes.map((outbox) => this.#callUnwritten(outbox, present)));
  }

  /** A call that was not taken is made again with the same id and body, also after the database can be written again. */
  async #callUnwritten(outbox: WebhookOutbox, present: ReadonlySet<string>): Promise<void> {
    const { target } = outbox;
    const { key } = target;
    const waiting = [...this.#unwritten.values()].filter(
      ({ notice, taken }) => wants(target, notice.level) && !isOwnTrouble(target, notice) && !taken.has(key),
    );
    const first = waiting.find(({ notice }) => present.has(notice.id));
    if (first === undefined || !this.#isOpen(target)) return;
    const rows = waiting.filter(({ calls }) => calls.get(key) === first.calls.get(key));
    const uid = first.calls.get(key) ?? outbox.newCallId();
    for (const { calls } of rows) calls.set(key, uid);
    const isTaken = await outbox.callUnwritten(
      uid,
      rows.map(({ notice }) => notice),
    );
    if (isTaken) for (const { taken } of rows) taken.add(key);
  }

  async #writeUnwritten(): Promise<void> {
    const { commit, store, targets } = this.#deps;
    const rows = [...this.#unwritten.values()];
    await commit(() => {
      for (const { told, notice, calls, taken } of rows) {
        store.putTold(told);
        for (const target of targets)
          if (!taken.has(target.key) && wants(target, notice.level))
            store.addPending(target.key, notice, calls.get(target.key));
      }
    });
    this.#watch.accept({ notices: [], put: rows.map(({ told }) => told), removed: [], seen: null });
    this.#unwritten.clear();
  }

  #ask(): { troubles: Trouble[]; unsure: Set<string> } {
    const unsure = new Set<string>();
    const troubles = this.#deps.sources.flatMap((source) => {
      try {
        const found = source();
        this.#last.set(source, found);
        return [...found];
      } catch (error) {
        if (!isStorageError(error)) this.#deps.log.error("alerts", error);
        for (const { id } of this.#last.get(source) ?? []) unsure.add(id);
        return [];
      }
    });
    return { troubles, unsure };
  }

  #isUnsure(id: string): boolean {
    return this.#deps.sources.some((source) => source.isUnsure?.(id) === true);
  }

  #write({ notices, put, removed, seen }: Decision): void {
    const { store, targets, clock } = this.#deps;
    for (const row of put) store.putTold(row);
    if (removed.length > 0) store.removeTold(removed);
    if (seen !== null) store.replaceSeen(seen);
    store.removeStale(
      targets.map(({ key }) => key),
      clock.now() - KEPT_MS,
    );
    for (const target of targets) {
      for (const notice of notices) if (wants(target, notice.level)) store.addPending(target.key, notice);
      if (target.way !== "webhook" && this.#isOpen(target)) this.#sendPending(target);
    }
  }

  #sendPending(target: Target): void {
    const { store } = this.#deps;
    // What has gone while its way was the trouble is told with its end.
    const rows = store.listPending(target.key).filter((row) => row.kind === "ended" || this.#isThere(row.troubleId));
    if (rows.length === 0) return;
    this.send(target, rows.map(toItem));
    store.removePending(rows.map(({ id }) => id));
  }

  #isThere(id: string): boolean {
    return this.#present.some((trouble) => trouble.id === id);
  }

  #isOpen(target: Target): boolean {
    // After a start, email and SMS wait until each told problem was looked for again: one of them may block this way.
    const { clock, steady } = this.#deps;
    const isSure = target.way === "webhook" || !this.#watch.hasUnseen({ now: clock.now(), steadyMs: steady.now() });
    return isSure && isWayOpen(target, this.#present);
  }

  #log({ kind, id, level, what }: Notice): void {
    this.#deps.log.event(`alert.${kind}`, { id, severity: level, what }, kind === "ended" ? "info" : "warn");
  }
}
