/**
 * One connection to the sandbox's SMSC: open until it binds, then bound until either side ends it. It answers
 * what it is asked, hands submits on, and writes deliver_sm. Whatever comes, it answers or closes, and a
 * peer that does not bind, or does not read, is let go.
 */
import type { Socket } from "node:net";
import type { Clock } from "../../platform/clock.ts";
import { ANSWER, COMMAND, cstring, deliverSm, type Deliver, Framer, headOf, type Head, pdu } from "./pdu.ts";
import { readBind, readSubmit, type Submit, UnreadablePdu } from "./pdu.ts";

/** command_status (§5.1.3). */
export const STATUS = {
  ok: 0x00,
  invalidLength: 0x02,
  invalidCommand: 0x03,
  wrongBindState: 0x04,
  alreadyBound: 0x05,
  invalidPassword: 0x0e,
  invalidSystemId: 0x0f,
} as const;

/** What is announced as ours. */
const SYSTEM_ID = "sandbox";
const BIND_TIMEOUT_MS = 10_000;
/** For the answer to a deliver_sm. */
const ANSWER_TIMEOUT_MS = 10_000;
/** What a peer that does not read may leave with us. */
const MAX_UNSENT_BYTES = 1_048_576;

export type Role = "transmitter" | "receiver" | "transceiver";

const ROLES: ReadonlyMap<number, Role> = new Map([
  [COMMAND.bindTransmitter, "transmitter"],
  [COMMAND.bindReceiver, "receiver"],
  [COMMAND.bindTransceiver, "transceiver"],
]);

/** The answer to one submit_sm: given once, or never. */
export interface Answering {
  accept(messageId: string): void;
  refuse(status: number): void;
  /** Ends the connection instead. */
  drop(): void;
}

export interface SessionDeps {
  socket: Socket;
  clock: Clock;
  /** The status for a bind: 0 lets it in. */
  judge: (systemId: string, password: string) => number;
  bound: (session: SmscSession) => void;
  submitted: (session: SmscSession, submit: Submit, answering: Answering) => void;
  closed: (session: SmscSession) => void;
}

export class SmscSession {
  readonly #deps: SessionDeps;
  readonly #framer = new Framer();
  readonly #asked = new Map<number, { answered: (status: number | null) => void; cancel: () => void }>();
  readonly #cancelBind: () => void;
  #systemId: string | null = null;
  #role: Role | null = null;
  #sequence = 0;
  #unanswered = 0;
  #isClosed = false;

  constructor(deps: SessionDeps) {
    this.#deps = deps;
    const { socket, clock } = deps;
    this.#cancelBind = clock.after(BIND_TIMEOUT_MS, () => this.close());
    socket.setNoDelay(true);
    socket.on("data", (chunk: Buffer) => this.#read(chunk));
    socket.on("error", () => this.close());
    socket.on("close", () => this.close());
  }

  /** Null before it is bound. */
  get systemId(): string | null {
    return this.#systemId;
  }

  /** Whether it waits for answers to its submits: those that magic numbers keep from it. */
  get isWaiting(): boolean {
    return this.#unanswered > 0;
  }

  /** Whether messages can be delivered to it. */
  get isReceiving(): boolean {
    return !this.#isClosed && this.#role !== null && this.#role !== "transmitter";
  }

  /** Its deliver_sm is answered with `status`; null: not, and the connection may be gone. */
  deliver(message: Deliver): Promise<number | null> {
    const { clock } = this.#deps;
    const { promise, resolve } = Promise.withResolvers<number | null>();
    if (!this.isReceiving) return Promise.resolve(null);
    this.#sequence = (this.#sequence % 0x7fff_ffff) + 1;
    const sequence = this.#sequence;
    const answered = (status: number | null) => {
      this.#asked.get(sequence)?.cancel();
      this.#asked.delete(sequence);
      resolve(status);
    };
    this.#asked.set(sequence, { answered, cancel: clock.after(ANSWER_TIMEOUT_MS, () => answered(null)) });
    this.#write(deliverSm(message, sequence));
    return promise;
  }

  close(): void {
    if (this.#isClosed) return;
    this.#isClosed = true;
    this.#cancelBind();
    this.#deps.socket.destroy();
    for (const { answered } of this.#asked.values()) answered(null);
    this.#deps.closed(this);
  }

  #read(chunk: Buffer): void {
    try {
      for (const bytes of this.#framer.push(chunk)) {
        if (this.#isClosed) return;
        this.#take(bytes);
      }
    } catch (error) {
      if (!(error instanceof UnreadablePdu)) throw error;
      // §4.3.1: without a sequence number to copy.
      this.#write(pdu({ id: COMMAND.genericNack, status: STATUS.invalidLength, sequence: 0 }));
      this.#end();
    }
  }

  #take(bytes: Buffer): void {
    const head = headOf(bytes);
    try {
      if (head.id >= ANSWER) this.#asked.get(head.sequence)?.answered(head.status);
      else this.#serve(head, bytes);
    } catch (error) {
      if (!(error instanceof UnreadablePdu) || error.isOver) throw error;
      this.#write(pdu({ id: COMMAND.genericNack, status: STATUS.invalidLength, sequence: head.sequence }));
    }
  }

  #serve({ id, sequence }: Head, bytes: Buffer): void {
    const role = ROLES.get(id);
    if (role !== undefined) return this.#bind(role, { id, sequence }, bytes);
    switch (id) {
      case COMMAND.enquireLink:
        return this.#answer(id, sequence);
      case COMMAND.unbind:
        this.#answer(id, sequence);
        return this.#end();
      case COMMAND.submitSm: {
        if (this.#role === null || this.#role === "receiver") return this.#answer(id, sequence, STATUS.wrongBindState);
        const submit = readSubmit(bytes);
        return this.#deps.submitted(this, submit, this.#answering(sequence));
      }
      default:
        this.#write(pdu({ id: COMMAND.genericNack, status: STATUS.invalidCommand, sequence }));
    }
  }

  #bind(role: Role, { id, sequence }: Pick<Head, "id" | "sequence">, bytes: Buffer): void {
    if (this.#role !== null) return this.#answer(id, sequence, STATUS.alreadyBound);
    const { systemId, password } = readBind(bytes);
    const status = this.#deps.judge(systemId, password);
    if (status !== STATUS.ok) {
      this.#answer(id, sequence, status);
      return this.#end();
    }
    this.#cancelBind();
    this.#role = role;
    this.#systemId = systemId;
    this.#answer(id, sequence, STATUS.ok, cstring(SYSTEM_ID));
    this.#deps.bound(this);
  }

  #answering(sequence: number): Answering {
    this.#unanswered += 1;
    const answer = (status: number, body?: Buffer) => {
      this.#unanswered -= 1;
      this.#answer(COMMAND.submitSm, sequence, status, body);
    };
    return {
      accept: (messageId) => answer(STATUS.ok, cstring(messageId)),
      refuse: (status) => answer(status),
      drop: () => this.close(),
    };
  }

  #answer(id: number, sequence: number, status: number = STATUS.ok, body?: Buffer): void {
    this.#write(pdu({ id: (id | ANSWER) >>> 0, status, sequence }, body));
  }

  #write(bytes: Buffer): void {
    const { socket } = this.#deps;
    if (this.#isClosed || !socket.writable) return;
    socket.write(bytes);
    if (socket.writableLength > MAX_UNSENT_BYTES) this.close();
  }

  /** What was written last leaves first. */
  #end(): void {
    this.#deps.socket.end(() => this.close());
  }
}
