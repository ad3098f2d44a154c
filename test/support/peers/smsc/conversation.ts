// One connection of an ESME.

import type { Socket } from "node:net";
import {
  ANSWER,
  cstring,
  Framer,
  headOf,
  ID,
  pdu,
  readBind,
  readMessage,
  writeDelivery,
  type Message,
} from "./codec.ts";
import type { Item } from "./mailbox.ts";
import { changed, type BindName, type Rule } from "./script.ts";
import type { Smsc } from "./smsc.ts";
import { Writer } from "./writer.ts";

const BINDS: Record<number, BindName> = {
  [ID.bindTransceiver]: "bind_transceiver",
  [ID.bindTransmitter]: "bind_transmitter",
  [ID.bindReceiver]: "bind_receiver",
};
const SYSTEM_ID = "SMSC";
const STATUS = { wrongState: 0x04, alreadyBound: 0x05, wrongPassword: 0x0e, wrongSystemId: 0x0f, throttled: 0x58 };
const TEMPORARY_ERROR = 0x64;
const READ_BY_THEN_MS = 30;
const UNANSWERED: Rule["answer"] = { kind: "none", receipt: { states: [] } };

export class Conversation {
  readonly number: number;
  bound: { systemId: string; command: BindName } | null = null;
  /** Submits read and not answered. */
  unanswered = 0;
  maxUnanswered = 0;
  readonly #smsc: Smsc;
  readonly #writer: Writer;
  readonly #socket: Socket;
  readonly #framer = new Framer();
  readonly #onTheirWay = new Map<number, Item>();
  #sequence: number;
  #isClosing = false;
  #hasUnbound = false;
  #held: (() => void)[] = [];

  constructor(socket: Socket, number: number, smsc: Smsc) {
    this.number = number;
    this.#socket = socket;
    this.#smsc = smsc;
    this.#writer = new Writer(socket, () => smsc.script.pieceOctets);
    this.#sequence = smsc.script.firstSequence;
    smsc.conversations.add(this);
    smsc.count("connections");
    socket.setNoDelay(true);
    socket.on("error", () => undefined);
    socket.on("data", (chunk: Buffer) => this.#read(chunk));
    socket.once("close", () => this.#end());
    this.note("=", "connected");
    this.stall(smsc.isStalled);
    if (smsc.script.greeting !== "") this.say(Buffer.from(smsc.script.greeting, "hex"));
    if (smsc.script.bind.isOutbound) {
      this.say(pdu(ID.outbind, { sequence: this.#nextSequence() }, Buffer.concat([cstring(SYSTEM_ID), cstring("")])));
    }
  }

  get hasRoom(): boolean {
    return this.#onTheirWay.size < this.#smsc.script.maxUnacknowledged;
  }

  say(bytes: Buffer): void {
    if (this.#isClosing) return;
    this.note(">", bytes);
    this.#writer.write(bytes);
  }

  deliver(item: Item): void {
    const sequence = this.#nextSequence();
    this.#onTheirWay.set(sequence, item);
    this.#smsc.count("unacknowledged");
    this.#smsc.count("deliveries");
    this.say(writeDelivery(item.delivery, sequence));
  }

  enquire(): void {
    this.say(pdu(ID.enquireLink, { sequence: this.#nextSequence() }));
  }

  /** From then on nothing is answered: what still comes is in doubt for the peer. */
  unbind(): void {
    this.#hasUnbound = true;
    this.say(pdu(ID.unbind, { sequence: this.#nextSequence() }));
  }

  /** Reads nothing more, or again. */
  stall(isStalled: boolean): void {
    if (isStalled) this.#socket.pause();
    else this.#socket.resume();
  }

  close(how: "rst" | "fin"): void {
    this.#isClosing = true;
    this.#writer.afterwards(() => {
      if (how === "fin") this.#socket.end();
      // A reset takes with it what the peer has not read yet.
      else setTimeout(() => this.#socket.resetAndDestroy(), READ_BY_THEN_MS);
    });
  }

  note(direction: "<" | ">" | "=", what: Buffer | string): void {
    this.#smsc.journal.note(this.number, direction, what);
  }

  #nextSequence(): number {
    const sequence = this.#sequence;
    this.#sequence = sequence === 0xffffffff ? 1 : sequence + 1;
    return sequence;
  }

  #read(chunk: Buffer): void {
    try {
      const pdus = this.#framer.push(chunk);
      // All that has been sent is in doubt for the peer, read by us one by one or not.
      this.unanswered += pdus.filter((bytes) => bytes.readUInt32BE(4) === ID.submitSm).length;
      this.maxUnanswered = Math.max(this.maxUnanswered, this.unanswered);
      this.#smsc.maxUnanswered = Math.max(this.#smsc.maxUnanswered, this.unanswered);
      for (const bytes of pdus) this.#take(bytes);
    } catch (error) {
      this.note("=", `unreadable:${String(error).replaceAll(" ", "_")}`);
      this.#smsc.count("faults");
      this.close("rst");
    }
  }

  #take(bytes: Buffer): void {
    const { id, status, sequence } = headOf(bytes);
    this.note("<", bytes);
    switch (id) {
      case ID.bindTransceiver:
      case ID.bindTransmitter:
      case ID.bindReceiver:
        return this.#takeBind(bytes);
      case ID.submitSm:
        return this.#takeSubmit(bytes, sequence);
      case ID.enquireLink:
        if (this.#smsc.script.enquire === "answer") this.say(pdu(ID.enquireLink + ANSWER, { sequence }));
        return this.#smsc.count("enquires");
      case ID.enquireLink + ANSWER:
        return this.#smsc.count("enquireAnswers");
      case ID.unbind:
        if (this.#smsc.script.unbind !== "none") this.say(pdu(ID.unbind + ANSWER, { sequence }));
        if (this.#smsc.script.unbind === "answer_and_close") this.close("fin");
        return this.#smsc.count("unbinds");
      case ID.unbind + ANSWER:
        return this.#smsc.count("unbindAnswers");
      case ID.deliverSm + ANSWER:
      case ID.dataSm + ANSWER:
        return this.#takeAcknowledgement(sequence, status);
      case ID.genericNack:
        if (this.#onTheirWay.has(sequence)) this.#takeAcknowledgement(sequence, status);
        return this.#smsc.count("nacks");
      default:
        this.#smsc.count("faults");
        this.say(pdu(ID.genericNack, { status: 0x03, sequence }));
    }
  }

  #takeBind(bytes: Buffer): void {
    const { id, sequence } = headOf(bytes);
    const { script } = this.#smsc;
    const { systemId, password } = readBind(bytes);
    const command = BINDS[id] ?? "bind_transceiver";
    const twins = [...this.#smsc.conversations].filter(({ bound }) => bound?.systemId === systemId).length;
    let { status } = script.bind;
    if (script.bind.refused.includes(command)) status = script.bind.refusedWith;
    else if (script.bind.systemId !== "" && script.bind.systemId !== systemId) status = STATUS.wrongSystemId;
    else if (script.bind.password !== "" && script.bind.password !== password) status = STATUS.wrongPassword;
    else if (twins >= script.bind.sessions) status = STATUS.alreadyBound;
    for (const delivery of script.bind.before) this.deliver({ delivery, wanted: null, shunned: null });
    if (script.bind.kind === "none") return this.#smsc.count("binds");
    if (script.bind.kind === "nack") this.say(pdu(ID.genericNack, { status: status === 0 ? 0x03 : status, sequence }));
    else this.say(pdu(id + ANSWER, { status, sequence }, status === 0 ? cstring(SYSTEM_ID) : undefined));
    if (script.bind.thenFin) this.close("fin");
    else if (status === 0 && script.bind.kind === "answer") this.#begin(systemId, command);
    this.#smsc.count("binds");
  }

  #begin(systemId: string, command: BindName): void {
    this.bound = { systemId, command };
    const mailbox = this.#smsc.mailbox(systemId);
    if (command !== "bind_transmitter") mailbox.receivers.add(this);
    mailbox.pump();
  }

  #takeSubmit(bytes: Buffer, sequence: number): void {
    const message = readMessage(bytes);
    const rule = this.#hasUnbound ? UNANSWERED : (this.#smsc.ruleFor(message) ?? {});
    const { script } = this.#smsc;
    const isSender = this.bound !== null && this.bound.command !== "bind_receiver";
    let status = rule.status ?? (this.#smsc.mayPass() ? 0 : STATUS.throttled);
    if (!isSender) status = STATUS.wrongState;
    if (status === STATUS.throttled) this.#smsc.count("throttled");
    const given = status === 0 ? this.#smsc.takeId() : null;
    const id = rule.id ?? given?.id ?? "";
    const answer = () => this.#answer(sequence, { ...rule, status, id });
    const receipts = rule.receipt === undefined ? script.receipts : changed(script.receipts, rule.receipt);
    if (given !== null && receipts.isBeforeAnswer) this.#sendReceipts(message, { ...given, id }, receipts);
    const delayMs = rule.delayMs ?? script.answerDelayMs;
    if (script.reverse > 0) this.#hold(answer, script.reverse);
    else if (delayMs > 0) setTimeout(answer, delayMs);
    else answer();
    if (given !== null && !receipts.isBeforeAnswer) this.#sendReceipts(message, { ...given, id }, receipts);
    this.#smsc.count("submits");
  }

  #sendReceipts(
    ...[message, given, script]: [Message, { number: number; id: string }, Smsc["script"]["receipts"]]
  ): void {
    this.#smsc.sendReceipts(this, message, given, script);
  }

  #hold(answer: () => void, upTo: number): void {
    this.#held.push(answer);
    if (this.#held.length < upTo) return;
    const held = this.#held;
    this.#held = [];
    for (const give of held.toReversed()) give();
  }

  #answer(sequence: number, rule: Rule["answer"] & { status: number; id: string }): void {
    if (rule.kind === "none") return;
    const numbers = { same: sequence, wrong: sequence + 1_000_000, zero: 0, high: 0x80000000 + sequence };
    const head = { status: rule.status, sequence: numbers[rule.sequence ?? "same"] };
    const bytes =
      rule.kind === "nack"
        ? pdu(ID.genericNack, head)
        : pdu(ID.submitSm + ANSWER, head, rule.status === 0 ? cstring(rule.id) : undefined);
    this.unanswered -= 1;
    if (rule.end === "half") {
      this.say(bytes.subarray(0, bytes.length - 4));
      return this.close("rst");
    }
    for (let time = 0; time < (rule.times ?? 1); time += 1) this.say(bytes);
    if (rule.status === 0 && rule.kind !== "nack") this.#smsc.count("accepted");
    this.#smsc.count("answers");
    if (rule.end === "unbind") this.unbind();
    else if (rule.end !== undefined) this.close(rule.end);
  }

  #takeAcknowledgement(sequence: number, status: number): void {
    const item = this.#onTheirWay.get(sequence);
    if (item === undefined) return this.#smsc.count("faults");
    this.#onTheirWay.delete(sequence);
    this.#smsc.count("unacknowledged", -1);
    this.#smsc.count(status === 0 ? "acknowledged" : "refused");
    const mailbox = this.#smsc.mailbox(this.bound?.systemId ?? "");
    if (status === TEMPORARY_ERROR) setTimeout(() => mailbox.put(item), this.#smsc.script.retryMs);
    mailbox.pump();
  }

  #end(): void {
    this.note("=", "closed");
    this.#smsc.conversations.delete(this);
    const items = [...this.#onTheirWay.values()];
    this.#onTheirWay.clear();
    this.#smsc.count("unacknowledged", -items.length);
    if (this.bound !== null) {
      const mailbox = this.#smsc.mailbox(this.bound.systemId);
      mailbox.receivers.delete(this);
      mailbox.putBack(items);
    }
    this.#smsc.count("closed");
  }
}
