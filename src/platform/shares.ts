/** Divides an amount among owners: no owner holds more than what it leaves free, or than one of `parts` parts of that. */
export class Shares {
  readonly #total: number;
  readonly #parts: number;
  #taken = 0;
  readonly #byOwner = new Map<string, number>();

  constructor(total: number, parts = 1) {
    this.#total = total;
    this.#parts = parts;
  }

  /** False: there is no room for it. `part`: of the whole, beyond which nothing is for this owner. */
  take(owner: string, amount: number, part = 1): boolean {
    if (!this.#fits(this.#byOwner.get(owner) ?? 0, amount, part)) return false;
    this.#add(owner, amount);
    return true;
  }

  /** There is room for an owner who holds nothing yet. */
  isOpen(amount: number, part = 1): boolean {
    return this.#fits(0, amount, part);
  }

  giveBack(owner: string, amount: number): void {
    this.#add(owner, -amount);
  }

  #fits(held: number, amount: number, part: number): boolean {
    return (held + amount) * this.#parts <= this.#total * part - this.#taken - amount;
  }

  #add(owner: string, amount: number): void {
    const own = (this.#byOwner.get(owner) ?? 0) + amount;
    this.#taken += amount;
    if (own > 0) this.#byOwner.set(owner, own);
    else this.#byOwner.delete(owner);
  }
}
