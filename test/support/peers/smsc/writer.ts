import type { Socket } from "node:net";

/** Writes what is said in one turn in one piece, or all of it in pieces of a few octets, each on its own. */
export class Writer {
  readonly #socket: Socket;
  readonly #pieceOctets: () => number;
  #said: Buffer[] = [];
  readonly #pieces: Buffer[] = [];
  #afterwards: (() => void) | null = null;

  constructor(socket: Socket, pieceOctets: () => number) {
    this.#socket = socket;
    this.#pieceOctets = pieceOctets;
  }

  write(bytes: Buffer): void {
    this.#said.push(bytes);
    if (this.#said.length === 1) queueMicrotask(() => this.flush());
  }

  /** Runs when all that was said is written. */
  afterwards(then: () => void): void {
    this.flush();
    if (this.#pieces.length === 0) then();
    else this.#afterwards = then;
  }

  flush(): void {
    if (this.#said.length === 0) return;
    const bytes = Buffer.concat(this.#said);
    this.#said = [];
    const size = this.#pieceOctets();
    if (size === 0 && this.#pieces.length === 0) return void (this.#socket.writable && this.#socket.write(bytes));
    const isIdle = this.#pieces.length === 0;
    for (let at = 0; at < bytes.length; at += size || bytes.length) {
      this.#pieces.push(bytes.subarray(at, at + (size || bytes.length)));
    }
    if (isIdle) this.#writePiece();
  }

  #writePiece(): void {
    const piece = this.#pieces.shift();
    if (piece === undefined) this.#afterwards?.();
    else if (this.#socket.writable) this.#socket.write(piece, () => setImmediate(() => this.#writePiece()));
  }
}
