// A large string of a body that is not decoded: parsing, and every copy of it, would stop the event loop.

/** The octets of a string without escapes, as they came; they may be no UTF-8. */
export class LargeText {
  readonly length: number;
  readonly #octets: Uint8Array;

  constructor(octets: Uint8Array) {
    this.#octets = octets;
    this.length = octets.length;
  }

  /** A part of it, each octet as a character. */
  slice(from: number, end: number): string {
    return Buffer.from(this.#octets.subarray(from, end)).toString("latin1");
  }

  /** Throws once the request is answered: its body is gone. */
  copyTo(target: Uint8Array, from: number, end: number): void {
    if (this.#octets.length !== this.length) throw new Error("the body of an answered request is read");
    target.set(this.#octets.subarray(from, end), from);
  }
}
