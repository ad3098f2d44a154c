// One connection to the sandbox's SMSC: open until it binds, then bound until either side ends it.

import type { Socket } from "node:net";
import type { Clock } from "../../platform/clock.ts";
import { encodeNack } from "../../protocols/smpp/pdu/pdu.ts";
import {
  type Deliver,
  encodeDeliver,
  encodeResponse,
  type EsmePdu,
  readEsmePdu,
  type Submit,
} from "../../protocols/smpp/pdu/smsc-pdu.ts";
import { STATUS } from "../../protocols/smpp/pdu/status.ts";
import type { Role } from "../../protocols/smpp/session/bind.ts";
import { Wire } from "../../protocols/smpp/session/connection.ts";
import { nextSequence } from "../../protocols/smpp/window.ts";

/** What is announced as ours. */
const SYSTEM_ID = "sandbox";
const BIND_TIMEOUT_MS = 10_000;
/** For the response to a deliver_sm. */
const RESPONSE_TIMEOUT_MS = 10_000;

/** The response to one submit_sm: given once, or never. */
export interface SubmitReply {
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
  submitted: (session: SmscSession, submit: Submit, reply: SubmitReply) => void;
  closed: (session: SmscSession) => void;
}

export class SmscSession {
  readonly #deps: SessionDeps;
  readonly #wire: Wire<EsmePdu>;
  readonly #deliveries = new Map<number, { answered: (status: number | null) => void; cancel: () => void }>();
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
    this.#wire = new Wire(socket, clock, readEsmePdu, {
      received: (pdu) => this.#take(pdu),
      half: () => undefined,
      drained: () => undefined,
      broken: () => this.close(),
      fault: () => this.close(),
    });
  }

  /** Null before it is bound. */
  get systemId(): string | null {
    return this.#systemId;
  }

  /** Whether it waits for responses to its submits: those that magic numbers keep from it. */
  get isWaiting(): boolean {
    return this.#unanswered > 0;
  }

  /** Whether messages can be delivered to it. */
  get isReceiving(): boolean {
    return !this.#isClosed && this.#role !== null && this.#role !== "transmitter";
  }

  /** Its deliver_sm is answered with `status`; null: not, and the connection may be gone. */
  deliver(message: Deliver): Promise<number | null> {
    const { promise, resolve } = Promise.withResolvers<number | null>();
    if (!this.isReceiving) return Promise.resolve(null);
    this.#sequence = nextSequence(this.#sequence);
    const sequence = this.#sequence;
    const answered = (status: number | null) => {
      this.#deliveries.get(sequence)?.cancel();
      this.#deliveries.delete(sequence);
      resolve(status);
    };
    const cancel = this.#deps.clock.after(RESPONSE_TIMEOUT_MS, () => answered(null));
    this.#deliveries.set(sequence, { answered, cancel });
    this.#wire.write(encodeDeliver(message, sequence));
    return promise;
  }

  close(): void {
    if (this.#isClosed) return;
    this.#isClosed = true;
    this.#cancelBind();
    this.#wire.close();
    for (const { answered } of this.#deliveries.values()) answered(null);
    this.#deps.closed(this);
  }

  #take(pdu: EsmePdu): void {
    const { sequence } = pdu;
    switch (pdu.kind) {
      case "bind":
        return this.#bind(pdu);
      case "submit":
        return this.#submit(pdu);
      case "response":
        return this.#deliveries.get(sequence)?.answered(pdu.status);
      case "enquire_link":
        return this.#respond(pdu.kind, sequence);
      case "unbind":
        this.#respond(pdu.kind, sequence);
        return this.close();
      case "cut_submit":
        return this.#wire.write(encodeNack(sequence, STATUS.invalidLength));
      case "unknown":
        return this.#wire.write(encodeNack(sequence, STATUS.invalidCommand));
    }
  }

  #bind({ command, sequence, role, systemId, password }: Extract<EsmePdu, { kind: "bind" }>): void {
    if (this.#role !== null) return this.#respond(command, sequence, STATUS.alreadyBound);
    const status = this.#deps.judge(systemId, password);
    if (status !== STATUS.ok) {
      this.#respond(command, sequence, status);
      return this.close();
    }
    this.#cancelBind();
    this.#role = role;
    this.#systemId = systemId;
    this.#respond(command, sequence, STATUS.ok, { system_id: SYSTEM_ID });
    this.#deps.bound(this);
  }

  #submit({ sequence, submit }: Extract<EsmePdu, { kind: "submit" }>): void {
    if (this.#role === null || this.#role === "receiver")
      return this.#respond("submit_sm", sequence, STATUS.wrongBindState);
    this.#unanswered += 1;
    const reply = (status: number, body = {}) => {
      this.#unanswered -= 1;
      this.#respond("submit_sm", sequence, status, body);
    };
    this.#deps.submitted(this, submit, {
      accept: (messageId) => reply(STATUS.ok, { message_id: messageId }),
      refuse: (status) => reply(status),
      drop: () => this.close(),
    });
  }

  #respond(command: string, sequence: number, status: number = STATUS.ok, body = {}): void {
    if (!this.#isClosed) this.#wire.write(encodeResponse(command, sequence, status, body));
  }
}
