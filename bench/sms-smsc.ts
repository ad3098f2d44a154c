// The SMSC of `script/bench sms`, in a process of its own: it takes every submit_sm, answers after the delay
// that it was told, sends a receipt where one was asked for, and notes when each number's came, was answered and
// was acknowledged. GET /state and /log tell, /answer-ms?<n> sets the delay.
//
// Run by bench/sms.ts: bun bench/sms-smsc.ts <SMPP port> <HTTP port>

import type { Socket } from "bun";
import { NumberLog, now, numberIn } from "./sms-log.ts";
import { accountIn, ANSWER, COMMAND, eachPdu, frame, NO_BYTES, readSubmit, receiptOf } from "./sms-pdu.ts";

export interface SmscState {
  /** submit_sm read, numbers among them, and numbers that came more than once. */
  submits: number;
  distinct: number;
  doubled: number;
  answered: number;
  /** Receipts acknowledged, each once. */
  acknowledged: number;
  /** The most submits without an answer on one connection. */
  maxUnanswered: number;
  /** Unix ms of the last answer and of the last acknowledgement. */
  answeredAt: number;
  acknowledgedAt: number;
  /** Who is bound. */
  bound: string[];
}

/** By system_id: what it is owed outlives its connections. */
interface Account {
  name: string;
  receipts: Receipt[];
  /** Of those, the first that was not sent. */
  next: number;
}

interface Receipt {
  number: number;
  bytes: Buffer;
}

interface Session {
  socket: Socket<Session>;
  account: Account | null;
  rest: Buffer;
  /** Gathered while a chunk is read, and what the kernel has not taken. */
  answers: Buffer[];
  unsent: Buffer;
  isOpen: boolean;
  unanswered: number;
  sequence: number;
  /** Receipts without an acknowledgement, by sequence number. */
  unacknowledged: Map<number, Receipt>;
}

interface Waiting {
  session: Session;
  dueAt: number;
  sequence: number;
  number: number;
  id: string;
  receipt: Buffer | null;
}

/** More of them, and an ESME that leaves Nagle's algorithm on waits for our delayed acknowledgements: that would be measured. */
const MAX_UNACKNOWLEDGED = 10;
const FORGOTTEN_AFTER = 10_000;
const FIRST_ID = 100_000_000;

const received = new NumberLog();
const answered = new NumberLog();
const acknowledged = new NumberLog();
const accounts = new Map<string, Account>();
const sessions = new Set<Session>();
/** In the order in which they are due. */
const waiting: Waiting[] = [];
let answerMs = 0;
let lastId = FIRST_ID;
let maxUnanswered = 0;

function stateNow(): SmscState {
  return {
    submits: received.total,
    distinct: received.distinct,
    doubled: received.doubled,
    answered: answered.total,
    acknowledged: acknowledged.distinct,
    maxUnanswered,
    answeredAt: answered.lastAt,
    acknowledgedAt: acknowledged.lastAt,
    bound: [...sessions].flatMap(({ account }) => account?.name ?? []),
  };
}

function read(session: Session, chunk: Buffer): void {
  const bytes = session.rest.length === 0 ? chunk : Buffer.concat([session.rest, chunk]);
  const readTo = eachPdu(bytes, (pdu) => take(session, pdu));
  // The chunk is not ours to keep.
  session.rest = readTo === bytes.length ? NO_BYTES : Buffer.from(bytes.subarray(readTo));
  sendReceipts(session);
  flush(session);
}

function take(session: Session, pdu: Buffer): void {
  const command = pdu.readUInt32BE(4);
  const sequence = pdu.readUInt32BE(12);
  switch (command) {
    case COMMAND.submit:
      return takeSubmit(session, pdu, sequence);
    case COMMAND.deliverAnswer:
      return takeAcknowledgement(session, pdu, sequence);
    case COMMAND.bindTransceiver:
    case COMMAND.bindReceiver:
    case COMMAND.bindTransmitter:
      session.account = accountOf(accountIn(pdu));
      return void session.answers.push(frame(command + ANSWER, sequence, Buffer.from("bench\0")));
    case COMMAND.enquire:
    case COMMAND.unbind:
      return void session.answers.push(frame(command + ANSWER, sequence, NO_BYTES));
  }
}

function accountOf(name: string): Account {
  const account = accounts.get(name) ?? { name, receipts: [], next: 0 };
  accounts.set(name, account);
  return account;
}

function takeSubmit(session: Session, pdu: Buffer, sequence: number): void {
  const submit = readSubmit(pdu);
  const number = numberIn(submit.destination);
  received.note(number, now());
  session.unanswered += 1;
  maxUnanswered = Math.max(maxUnanswered, session.unanswered);
  lastId += 1;
  const id = String(lastId);
  const receipt = submit.wantsReceipt ? receiptOf(id, submit) : null;
  const one = { session, dueAt: performance.now() + answerMs, sequence, number, id, receipt };
  if (answerMs === 0) return answer(one);
  waiting.push(one);
  if (waiting.length === 1) setTimeout(answerDue, answerMs);
}

function answerDue(): void {
  const at = performance.now();
  const touched = new Set<Session>();
  // The first is due, whatever a timer's rounding says.
  for (let one = waiting.shift(); one !== undefined; one = waiting.shift()) {
    answer(one);
    touched.add(one.session);
    if ((waiting[0]?.dueAt ?? Infinity) > at) break;
  }
  for (const session of touched) {
    sendReceipts(session);
    flush(session);
  }
  const [first] = waiting;
  if (first !== undefined) setTimeout(answerDue, Math.max(0, first.dueAt - performance.now()));
}

function answer({ session, sequence, number, id, receipt }: Waiting): void {
  session.unanswered -= 1;
  // It was submitted, though its connection may be gone.
  if (receipt !== null) session.account?.receipts.push({ number, bytes: receipt });
  if (!session.isOpen) return;
  session.answers.push(frame(COMMAND.submit + ANSWER, sequence, Buffer.from(`${id}\0`)));
  answered.note(number, now());
}

function sendReceipts(session: Session): void {
  const { account, unacknowledged } = session;
  if (account === null || !session.isOpen) return;
  while (unacknowledged.size < MAX_UNACKNOWLEDGED) {
    const receipt = account.receipts[account.next];
    if (receipt === undefined) break;
    account.next += 1;
    session.sequence += 1;
    unacknowledged.set(session.sequence, receipt);
    session.answers.push(frame(COMMAND.deliver, session.sequence, receipt.bytes));
  }
  if (account.next < FORGOTTEN_AFTER) return;
  account.receipts.splice(0, account.next);
  account.next = 0;
}

function takeAcknowledgement(session: Session, pdu: Buffer, sequence: number): void {
  const receipt = session.unacknowledged.get(sequence);
  if (receipt === undefined) return;
  session.unacknowledged.delete(sequence);
  if (pdu.readUInt32BE(8) === 0) acknowledged.note(receipt.number, now());
  else session.account?.receipts.push(receipt);
}

/** Receipts that were not acknowledged are sent again, on the account's next connection. */
function end(session: Session): void {
  if (!session.isOpen) return;
  session.isOpen = false;
  sessions.delete(session);
  session.account?.receipts.push(...session.unacknowledged.values());
}

/** In one piece. */
function flush(session: Session): void {
  if (session.answers.length === 0 && session.unsent.length === 0) return;
  const bytes = Buffer.concat([session.unsent, ...session.answers]);
  session.answers.length = 0;
  if (!session.isOpen) return;
  const taken = Math.max(0, session.socket.write(bytes));
  session.unsent = taken === bytes.length ? NO_BYTES : Buffer.from(bytes.subarray(taken));
}

function welcome(socket: Socket<Session>): void {
  socket.setNoDelay(true);
  socket.data = {
    socket,
    account: null,
    rest: NO_BYTES,
    answers: [],
    unsent: NO_BYTES,
    isOpen: true,
    unanswered: 0,
    sequence: 0,
    unacknowledged: new Map(),
  };
  sessions.add(socket.data);
}

const [smppPort = 0, httpPort = 0] = process.argv.slice(2).map(Number);
Bun.listen<Session>({
  hostname: "127.0.0.1",
  port: smppPort,
  socket: {
    open: welcome,
    data: (socket, chunk) => read(socket.data, chunk),
    drain: (socket) => flush(socket.data),
    close: (socket) => end(socket.data),
    error: (socket) => end(socket.data),
  },
});
Bun.serve({
  hostname: "127.0.0.1",
  port: httpPort,
  idleTimeout: 255,
  fetch(request) {
    const { pathname, search } = new URL(request.url);
    if (pathname === "/answer-ms") answerMs = Number(search.slice(1));
    if (pathname === "/log") return Response.json({ received, answered, acknowledged });
    return Response.json(stateNow());
  },
});
