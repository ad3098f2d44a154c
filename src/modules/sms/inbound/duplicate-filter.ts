// Finds messages that an SMSC sends again because our acknowledgement was lost with the connection.
// Nothing in SMPP says that it is the same one, and people write the same twice. It is taken for the same only where its
// acknowledgement may have been lost: same octets between the same numbers, and either the SMSC's own number of the PDU or
// of the message is the same, or it came over a connection that broke soon after, and comes again soon after the next was
// bound.

import { createHash } from "node:crypto";
import type { Clock } from "../../../platform/clock.ts";
import type { Origin } from "../../../protocols/smpp/session/events.ts";
import type { Inbound } from "../../../protocols/smpp/pdu/pdu.ts";
import type { DuplicateStore } from "./store.ts";

/** What came longer ago is not looked at. */
const LOOK_BACK_MS = 5 * 60_000;
/** So soon after a message its connection broke, and the next one was bound before it came again. */
const SOON_MS = 60_000;

export interface DuplicateFilterDeps {
  duplicates: DuplicateStore;
  /** Of stored times, and of spans. */
  clock: Pick<Clock, "now">;
  steady: Pick<Clock, "now">;
}

export class DuplicateFilter {
  readonly #deps: DuplicateFilterDeps;
  readonly #startedAt: number;
  /** By the name under which their messages are stored. */
  readonly #sessions = new Map<string, Origin["session"]>();
  readonly #names = new WeakMap<Origin["session"], string>();

  constructor(deps: DuplicateFilterDeps) {
    this.#deps = deps;
    this.#startedAt = deps.clock.now();
  }

  /** Inside the transaction that takes a message: whether it was taken before; it is remembered. */
  isRepeat(route: string, message: Inbound, { session, sequence }: Origin): boolean {
    const { duplicates, clock, steady } = this.#deps;
    const now = clock.now();
    const name = this.#getName(session);
    const reference = message.receiptedMessageId;
    const digest = computeDigest(message);
    const before = duplicates.find(route, digest, now - LOOK_BACK_MS).find((row) => {
      if (reference !== null && row.reference === reference) return true;
      if (row.session === name) return row.sequence === sequence;
      const brokeAt = this.#brokeAt(row.session, now);
      return brokeAt !== null && brokeAt - row.receivedAt <= SOON_MS && steady.now() - session.beganAt <= SOON_MS;
    });
    if (before === undefined) duplicates.insert({ route, digest, reference, session: name, sequence, receivedAt: now });
    else duplicates.moved(before.id, { session: name, sequence, receivedAt: now });
    return before !== undefined;
  }

  /** Outside of transactions, now and then. */
  forget(): void {
    const now = this.#deps.steady.now();
    for (const [name, { endedAt }] of this.#sessions)
      if (endedAt !== null && now - endedAt > LOOK_BACK_MS) this.#sessions.delete(name);
  }

  get oldest(): number {
    return this.#deps.clock.now() - LOOK_BACK_MS;
  }

  #getName(session: Origin["session"]): string {
    const known = this.#names.get(session);
    if (known !== undefined) return known;
    const name = `${this.#startedAt}-${this.#sessions.size}-${session.beganAt}`;
    this.#names.set(session, name);
    this.#sessions.set(name, session);
    return name;
  }

  /** By the clock of stored times; null: it is there still. One of an earlier run ended before this one began. */
  #brokeAt(name: string, now: number): number | null {
    const session = this.#sessions.get(name);
    if (session === undefined) return this.#startedAt;
    return session.endedAt === null ? null : now - (this.#deps.steady.now() - session.endedAt);
  }
}

function computeDigest({
  source,
  destination,
  esmClass,
  dataCoding,
  shortMessage,
  messagePayload,
  sar,
}: Inbound): string {
  const head = [source.address, destination.address, esmClass, dataCoding, sar?.reference, sar?.total, sar?.seq];
  const hash = createHash("sha256").update(JSON.stringify(head)).update(shortMessage);
  return hash.update(messagePayload ?? "").digest("base64url");
}
