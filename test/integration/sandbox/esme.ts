// A bare ESME for the sandbox's SMSC: writes PDUs, hands back what comes, in order. Its codec is the tests' own.

import { connect, type Socket } from "node:net";
import { ANSWER, cstring, Framer, headOf, ID, type Head, pdu, tlv } from "../../support/peers/smsc/codec.ts";

export interface Came extends Head {
  body: Buffer;
}

export interface Submitted {
  from?: string;
  fromTon?: number;
  to?: string;
  esmClass?: number;
  dataCoding?: number;
  registered?: number;
  message?: Buffer;
  tlvs?: Buffer[];
}

export class Esme {
  readonly socket: Socket;
  readonly #framer = new Framer();
  readonly #came: Came[] = [];
  readonly #closed = Promise.withResolvers<void>();
  #wake: () => void = () => undefined;
  #sequence = 0;

  constructor(port: number) {
    this.socket = connect(port, "127.0.0.1");
    this.socket.on("error", () => undefined);
    this.socket.on("close", () => this.#closed.resolve());
    this.socket.on("data", (chunk: Buffer) => {
      for (const bytes of this.#framer.push(chunk)) this.#came.push({ ...headOf(bytes), body: bytes.subarray(16) });
      this.#wake();
    });
  }

  get closed(): Promise<void> {
    return this.#closed.promise;
  }

  write(bytes: Buffer): void {
    this.socket.write(bytes);
  }

  /** The next PDU of a kind; others stay. */
  async next(id: number): Promise<Came> {
    for (;;) {
      const at = this.#came.findIndex((each) => each.id === id);
      const [found] = at < 0 ? [] : this.#came.splice(at, 1);
      if (found !== undefined) return found;
      await new Promise<void>((resolve) => (this.#wake = resolve));
    }
  }

  /** Asks, and waits for the answer. */
  async ask(id: number, body?: Buffer): Promise<Came> {
    this.#sequence += 1;
    this.write(pdu(id, { sequence: this.#sequence }, body));
    return this.next((id | ANSWER) >>> 0);
  }

  async bind(systemId: string, password: string, id: number = ID.bindTransceiver): Promise<number> {
    const rest = Buffer.concat([cstring(""), Buffer.from([0x34, 0, 0]), cstring("")]);
    return (await this.ask(id, Buffer.concat([cstring(systemId), cstring(password), rest]))).status;
  }

  /** The answer's status and id. */
  async submit(text: Submitted): Promise<{ status: number; id: string }> {
    const { status, body } = await this.ask(ID.submitSm, submitBody(text));
    return { status, id: body.toString("latin1").replace(/\0$/, "") };
  }

  /** The next deliver_sm, acknowledged with `status`. */
  async delivered(status = 0): Promise<Came> {
    const came = await this.next(ID.deliverSm);
    this.write(pdu((ID.deliverSm | ANSWER) >>> 0, { status, sequence: came.sequence }, cstring("")));
    return came;
  }

  close(): void {
    this.socket.destroy();
  }
}

export function submitBody(text: Submitted): Buffer {
  const { from = "Loja", to = "258841234567", esmClass = 0, dataCoding = 0, registered = 1 } = text;
  const { fromTon = 5, message = Buffer.from("Bom dia"), tlvs = [] } = text;
  return Buffer.concat([
    cstring(""),
    Buffer.from([fromTon, 0]),
    cstring(from),
    Buffer.from([1, 1]),
    cstring(to),
    Buffer.from([esmClass, 0, 0]),
    cstring(""),
    cstring(""),
    Buffer.from([registered, 0, dataCoding, 0, message.length]),
    message,
    ...tlvs,
  ]);
}

/** A part with a header of 8 or 16 bits. */
export function partOf(part: string, place: { reference: number; total: number; seq: number }, bits: 8 | 16 = 8) {
  const { reference, total, seq } = place;
  const header = bits === 8 ? [5, 0, 3, reference, total, seq] : [6, 8, 4, reference >> 8, reference & 255, total, seq];
  return { esmClass: 0x40, message: Buffer.concat([Buffer.from(header), Buffer.from(part, "latin1")]) };
}

/** The same by TLVs. */
export function sarOf(reference: number, total: number, seq: number): Buffer[] {
  return [
    tlv(0x020c, Buffer.from([reference >> 8, reference & 255])),
    tlv(0x020e, Buffer.from([total])),
    tlv(0x020f, Buffer.from([seq])),
  ];
}
