// One session: bind, then requests and responses both ways, then the end. Phases and their limits: liveness.ts.
// It knows no queue and no window, and emits responses by sequence number. `closed` is called once, and nothing after it.

import { DeadlineTimer } from "./deadline-timer.ts";
import { classifyBind } from "./bind.ts";
import {
  encodeAcknowledgement,
  encodeBind,
  encodeNack,
  encodePlain,
  type Inbound,
  type Pdu,
  readPdu,
} from "../pdu/pdu.ts";
import { toRawResponse, getContent, type SessionEnd, type SessionOptions } from "./events.ts";
import { hex, STATUS } from "../pdu/status.ts";
import { checkLiveness, type Phase, type LivenessState } from "./liveness.ts";
import { nextSequence } from "../window.ts";
import { Wire } from "./connection.ts";

export class SmppSession {
  readonly #options: SessionOptions;
  readonly #wire: Wire<Pdu>;
  readonly #watched: LivenessState;
  readonly #bindSequence: number;
  #sequence = 0;
  #enquireSequence = 0;
  #isOver = false;
  readonly #life: { beganAt: number; endedAt: number | null };
  /** The sequence number of the peer's unbind, while messages of its are not acknowledged yet. */
  #peerUnbind: number | null = null;
  #unacknowledged = 0;
  #unexpected = 0;
  readonly #alarm: DeadlineTimer;

  /** Binds at once; the socket is connected. */
  constructor(options: SessionOptions) {
    const { socket, role, settings, clock, events } = options;
    this.#options = options;
    this.#alarm = new DeadlineTimer(clock, () => this.#look());
    const now = clock.now();
    this.#life = { beganAt: now, endedAt: null };
    this.#watched = {
      phase: "binding",
      phaseSince: now,
      receivedAt: now,
      enquiredAt: null,
      midPduSince: null,
      pausedSince: null,
    };
    this.#wire = new Wire(socket, clock, readPdu, {
      received: (pdu) => this.#take(pdu),
      half: (isHalf) => this.#noteHalf(isHalf),
      drained: () => events.drained(),
      broken: (reason) => this.#end(reason),
      fault: (error) => this.#fault(error),
    });
    this.#bindSequence = this.nextSequence();
    this.#wire.write(encodeBind(`bind_${role}`, this.#bindSequence, settings));
    this.rearm();
  }

  get phase(): Phase | "closed" {
    return this.#isOver ? "closed" : this.#watched.phase;
  }

  /** Bound, and the peer reads. */
  get isReady(): boolean {
    return this.phase === "bound" && this.#wire.isDrained;
  }

  /** The number of the next request; used once. */
  nextSequence(): number {
    this.#sequence = nextSequence(this.#sequence);
    return this.#sequence;
  }

  /** Writes requests in one piece. */
  submit(requests: Buffer[]): void {
    this.#wire.write(Buffer.concat(requests));
    this.rearm();
  }

  unbind(): void {
    if (this.phase !== "bound") return this.destroy("closed by us");
    this.#enter("unbinding");
    this.#options.events.closing();
    this.#wire.write(encodePlain("unbind", this.nextSequence()));
  }

  destroy(reason: string): void {
    this.#end(reason);
  }

  pauseReading(): void {
    if (this.#isOver || this.#watched.pausedSince !== null) return;
    this.#watched.pausedSince = this.#options.clock.now();
    this.#wire.pause();
    this.rearm();
  }

  resumeReading(): void {
    if (this.#isOver || this.#watched.pausedSince === null) return;
    const now = this.#options.clock.now();
    this.#watched.pausedSince = null;
    // It could not come before.
    if (this.#watched.midPduSince !== null) this.#watched.midPduSince = now;
    if (this.#watched.enquiredAt !== null) this.#watched.enquiredAt = now;
    this.#wire.resume();
    this.rearm();
  }

  /** A PDU that asks for nothing: logged once a session. */
  noteUnexpected(what: string): void {
    this.#unexpected += 1;
    if (this.#unexpected === 1)
      this.#options.log.event("smpp.unexpected_pdu", { link: this.#options.settings.name, what });
  }

  /** Sets the timer for what is due first; one that comes too early sets itself again. */
  rearm(): void {
    if (this.#isOver) return;
    const now = this.#options.clock.now();
    const verdict = checkLiveness(this.#watched, this.#options.settings, now);
    this.#alarm.setFor(Math.min(this.#options.events.deadline(), verdict.kind === "wait" ? verdict.until : now));
  }

  #look(): void {
    try {
      const now = this.#options.clock.now();
      this.#options.events.due(now);
      if (this.#isOver) return;
      const verdict = checkLiveness(this.#watched, this.#options.settings, now);
      if (verdict.kind === "break") this.#end(verdict.reason);
      else if (verdict.kind === "finish") this.#finish();
      else if (verdict.kind === "enquire") this.#enquire();
      this.rearm();
    } catch (error) {
      this.#fault(error);
    }
  }

  #enquire(): void {
    this.#watched.enquiredAt = this.#options.clock.now();
    this.#enquireSequence = this.nextSequence();
    this.#wire.write(encodePlain("enquire_link", this.#enquireSequence));
  }

  #noteHalf(isHalf: boolean): void {
    this.#watched.midPduSince = isHalf ? this.#options.clock.now() : null;
    this.rearm();
  }

  #take(pdu: Pdu): void {
    const now = this.#options.clock.now();
    this.#watched.receivedAt = now;
    // What is half now is another one.
    if (this.#watched.midPduSince !== null) this.#watched.midPduSince = now;
    const content = getContent(pdu);
    if (content !== null) this.#options.events.seen?.("in", content);
    switch (pdu.kind) {
      case "submit_response":
        return this.#options.events.responded(pdu.sequence, toRawResponse(pdu));
      case "inbound":
        return this.#receive(pdu.sequence, pdu.message);
      case "truncated":
        return this.#refuseCut(pdu);
      case "bind_response":
        return this.#takeBindResponse(pdu.sequence, pdu.status, false);
      case "nack":
        return this.#takeNack(pdu);
      case "enquire":
        return this.#wire.write(encodePlain("enquire_link_resp", pdu.sequence));
      case "enquire_response":
        this.#watched.enquiredAt = null;
        return;
      case "unbind":
        return this.#takeUnbind(pdu.sequence);
      case "unbind_response":
        return this.#watched.phase === "unbinding" ? this.#finish() : this.noteUnexpected(pdu.kind);
      case "outbind":
        return this.noteUnexpected(pdu.kind);
      // A subscriber can be reached again, which we did not ask for; it has no response (§4.12.1).
      case "alert":
        return;
      case "unknown":
        this.noteUnexpected(pdu.command);
        if (!pdu.isAnswer) this.#wire.write(encodeNack(pdu.sequence, STATUS.invalidCommand));
    }
  }

  #takeBindResponse(sequence: number, status: number, isNack: boolean): void {
    // A generic_nack for what could not be read has no number to copy.
    const isOurs = sequence === this.#bindSequence || (isNack && sequence === 0);
    if (this.#watched.phase !== "binding" || !isOurs) return this.noteUnexpected("bind_response");
    const verdict = classifyBind(status, isNack);
    if (verdict !== "bound") return this.#end(`the bind was refused with ${hex(status)}`, { verdict, status });
    this.#enter("bound");
    this.#options.events.bound();
  }

  #takeNack(nack: Extract<Pdu, { kind: "nack" }>): void {
    const { sequence } = nack;
    if (this.#watched.phase === "binding") return this.#takeBindResponse(sequence, nack.status, true);
    // One that does not know enquire_link is there all the same.
    if (this.#watched.enquiredAt !== null && sequence === this.#enquireSequence) this.#watched.enquiredAt = null;
    else this.#options.events.responded(sequence, toRawResponse(nack));
  }

  /** Some SMSCs deliver before they answer the bind: what is committed may be acknowledged all the same. */
  #receive(sequence: number, message: Inbound): void {
    let isAcknowledged = false;
    this.#unacknowledged += 1;
    const acknowledge = (status: number) => {
      if (isAcknowledged) return;
      isAcknowledged = true;
      this.#unacknowledged -= 1;
      const answer = encodeAcknowledgement(message.command, sequence, status);
      this.#options.events.seen?.("out", answer);
      this.#wire.writeSoon(answer);
      this.#answerUnbind();
    };
    this.#options.events.received(message, acknowledge, { session: this.#life, sequence });
  }

  /** Its length is right, so that what follows can be read; a broken connection would only bring it again. */
  #refuseCut({ sequence, command, bytes }: Extract<Pdu, { kind: "truncated" }>): void {
    const told = { link: this.#options.settings.name, command, octets: bytes.length };
    this.#options.log.event("smpp.message_truncated", told, "warn");
    const answer = encodeAcknowledgement(command, sequence, STATUS.invalidMessageLength);
    this.#options.events.seen?.("out", answer);
    this.#wire.write(answer);
  }

  #takeUnbind(sequence: number): void {
    this.#peerUnbind = sequence;
    this.#enter("closing");
    this.#options.events.closing();
    this.#answerUnbind();
  }

  /** Acknowledges deliveries before the session ends, or they would come again. */
  #answerUnbind(): void {
    if (this.#peerUnbind === null || this.#unacknowledged > 0 || this.#isOver) return;
    this.#wire.write(encodePlain("unbind_resp", this.#peerUnbind));
    this.#peerUnbind = null;
    this.#finish();
  }

  /** All is said: our half is closed, and the peer has its time to close the other. */
  #finish(): void {
    this.#enter("closing");
    this.#wire.finish();
  }

  #enter(phase: Phase): void {
    this.#watched.phase = phase;
    this.#watched.phaseSince = this.#options.clock.now();
    this.rearm();
  }

  #fault(error: unknown): void {
    this.#options.log.error("smpp session", error, { link: this.#options.settings.name });
    this.#end("a fault of our own");
  }

  #end(reason: string, refused: SessionEnd["refused"] = null): void {
    if (this.#isOver) return;
    this.#isOver = true;
    this.#life.endedAt = this.#options.clock.now();
    this.#alarm.stop();
    this.#wire.close();
    this.#options.events.closed({ reason, refused });
  }
}
