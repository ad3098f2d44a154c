// A lean SMTP client for `script/bench submission`: STARTTLS and AUTH PLAIN at its beginning, then whatever it is given to say.

import { once } from "node:events";
import { connect as connectPlain, type Socket } from "node:net";
import { connect, type TLSSocket } from "node:tls";
import { AUTHORITY } from "../test/support/fakes/certificates.ts";

/** Of the certificate that both sides show. */
const NAME = "relay.test";
const PIECE_BYTES = 256 * 1024;

export interface Account {
  port: number;
  username: string;
  password: string;
}

export interface Reply {
  code: number;
  text: string;
}

export class SmtpSession {
  #socket: Socket | TLSSocket;
  #unread = "";
  readonly #replies: Reply[] = [];
  #wanted = 0;
  #answered: { resolve(replies: Reply[]): void; reject(error: Error): void } | null = null;
  #failure: Error | null = null;

  private constructor(socket: Socket) {
    this.#socket = socket;
  }

  /** Resolves once the server has taken the password. */
  static async open({ port, username, password }: Account): Promise<SmtpSession> {
    const plain = connectPlain({ port, host: "127.0.0.1", noDelay: true });
    const session = new SmtpSession(plain);
    session.#listen(plain);
    await session.expect("", 220);
    await session.expect("EHLO bench.example.test\r\n", 250);
    await session.expect("STARTTLS\r\n", 220);
    plain.removeAllListeners("data").removeAllListeners("close").removeAllListeners("error");
    const secure = connect({ socket: plain, ca: AUTHORITY, servername: NAME });
    session.#socket = secure;
    session.#listen(secure);
    await once(secure, "secureConnect");
    await session.expect("EHLO bench.example.test\r\n", 250);
    const secret = Buffer.from(`\0${username}\0${password}`).toString("base64");
    await session.expect(`AUTH PLAIN ${secret}\r\n`, 235);
    return session;
  }

  /** Resolves with so many replies; rejects when the connection ends before. */
  ask(said: string | Buffer, replies = 1): Promise<Reply[]> {
    const answer = this.#await(replies);
    if (said.length > 0) this.#socket.write(said);
    return answer;
  }

  /** As `ask`, for more than fits into the sockets. */
  async push(pieces: Buffer[]): Promise<Reply[]> {
    const answer = this.#await(1);
    // The reply may come in the middle, and the end too.
    let isOver = false;
    const over = answer.then(
      () => void (isOver = true),
      () => void (isOver = true),
    );
    for (const piece of pieces) {
      for (let at = 0; at < piece.length && !isOver; at += PIECE_BYTES) {
        if (this.#socket.write(piece.subarray(at, at + PIECE_BYTES))) continue;
        await Promise.race([once(this.#socket, "drain").catch(() => undefined), over]);
      }
    }
    return answer;
  }

  async expect(said: string, code: number): Promise<void> {
    const [reply] = await this.ask(said);
    if (reply?.code !== code) throw new Error(`${said.split(" ")[0]?.trim()}: ${reply?.code} ${reply?.text}`);
  }

  end(): void {
    this.#socket.end("QUIT\r\n");
  }

  #await(replies: number): Promise<Reply[]> {
    if (this.#failure !== null) return Promise.reject(this.#failure);
    const { promise, resolve, reject } = Promise.withResolvers<Reply[]>();
    this.#wanted = replies;
    this.#answered = { resolve, reject };
    this.#settle();
    return promise;
  }

  #listen(socket: Socket): void {
    socket.on("data", (chunk: Buffer) => this.#read(chunk.toString("latin1")));
    socket.on("error", (error) => this.#fail(error));
    socket.on("close", () => this.#fail(new Error("the server has ended the connection")));
  }

  #read(chunk: string): void {
    const text = this.#unread + chunk;
    let at = 0;
    for (let end = text.indexOf("\r\n"); end >= 0; end = text.indexOf("\r\n", at)) {
      // RFC 5321 §4.2.1: a hyphen says that more lines come.
      if (text[at + 3] !== "-") {
        this.#replies.push({ code: Number(text.slice(at, at + 3)), text: text.slice(at + 4, end) });
      }
      at = end + 2;
    }
    this.#unread = text.slice(at);
    this.#settle();
  }

  #settle(): void {
    if (this.#answered === null || this.#replies.length < this.#wanted) return;
    const { resolve } = this.#answered;
    this.#answered = null;
    resolve(this.#replies.splice(0, this.#wanted));
  }

  #fail(error: Error): void {
    this.#failure ??= error;
    this.#answered?.reject(this.#failure);
    this.#answered = null;
  }
}
