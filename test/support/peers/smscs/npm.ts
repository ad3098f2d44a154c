/**
 * An SMSC that is not ours: the `smpp` package as it comes from its makers, in a process of its own since pombo
 * patches it in its. `bun test/support/peers/smscs/npm.ts <port>`. Ids are hexadecimal in answers, and padded decimal in
 * receipts, which have no TLVs. What it reads it decodes by itself, and says in a line of JSON; see line.ts.
 */
import type { Line } from "./line.ts";

interface Pdu {
  command: string;
  source_addr: string;
  destination_addr: string;
  esm_class: number;
  data_coding: number;
  registered_delivery: number;
  short_message: { message: string; udh?: Buffer[] };
  command_status: number;
  response(fields?: object): Pdu;
}

interface Session {
  on(event: string, listener: (pdu: Pdu) => void): void;
  send(pdu: Pdu): boolean;
  deliver_sm(fields: object, answered: (answer: Pdu) => void): void;
  close(): void;
}

interface Package {
  createServer(welcome: (session: Session) => void): { listen(port: number, host: string): void };
}

// A variable: the compiler has types for what pombo uses of it alone.
const PACKAGE: string = "smpp";
const FIRST_ID = 0x39f99dd5;
const RECEIPT_AFTER_MS = 50;
const REPLY = "Responda: ";
const RECEIPT = 0x04;

const { default: smpp } = (await import(PACKAGE)) as { default: Package };
let nextId = FIRST_ID;

function say(line: Line): void {
  console.log(JSON.stringify(line));
}

function welcome(session: Session): void {
  session.on("error", () => undefined);
  for (const bind of ["bind_transceiver", "bind_transmitter", "bind_receiver"]) {
    session.on(bind, (pdu) => {
      say({ bound: bind });
      session.send(pdu.response());
    });
  }
  session.on("enquire_link", (pdu) => void session.send(pdu.response()));
  session.on("unbind", (pdu) => {
    session.send(pdu.response());
    session.close();
  });
  session.on("submit_sm", (pdu) => take(session, pdu));
}

function take(session: Session, pdu: Pdu): void {
  const { source_addr: from, destination_addr: to, esm_class: esmClass, data_coding: dataCoding } = pdu;
  const number = nextId;
  nextId += 1;
  const id = number.toString(16);
  const text = pdu.short_message.message;
  const udh = Buffer.concat(pdu.short_message.udh ?? []).toString("hex");
  say({ submit: { from, to, text, udh, esmClass, dataCoding, id } });
  session.send(pdu.response({ message_id: id }));
  if ((pdu.registered_delivery & 1) === 1) setTimeout(() => report(session, pdu, number), RECEIPT_AFTER_MS);
  if (text.startsWith(REPLY)) deliver(session, { to: from, from: to, short_message: text.slice(REPLY.length) });
}

function report(session: Session, { source_addr: from, destination_addr: to }: Pdu, number: number): void {
  const isFailed = to.endsWith("9");
  const date = new Date().toISOString().replaceAll(/\D/g, "").slice(2, 12);
  const [state, err, count] = isFailed ? ["UNDELIV", "069", "000"] : ["DELIVRD", "000", "001"];
  const id = String(number).padStart(10, "0");
  const dates = `submit date:${date} done date:${date}`;
  const words = `id:${id} sub:001 dlvrd:${count} ${dates} stat:${state} err:${err} text:Ola`;
  deliver(session, { from: to, to: from, short_message: words, esm_class: RECEIPT });
}

function deliver(session: Session, fields: { from: string; to: string; short_message: string; esm_class?: number }) {
  const { from, to, ...rest } = fields;
  session.deliver_sm({ source_addr: from, destination_addr: to, ...rest }, ({ command_status: status }) =>
    say({ acknowledged: { status } }),
  );
}

smpp.createServer(welcome).listen(Number(process.argv[2]), "127.0.0.1");
