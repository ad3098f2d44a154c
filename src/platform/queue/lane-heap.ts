// The lanes that wait for a time: a binary heap by dueAt. A lane is in it at most once and knows its place, so that an
// earlier row moves it forward without a search.

import type { Lane } from "./lane.ts";

export class LaneHeap {
  readonly #heap: Lane[] = [];

  /** The lane that is due first. */
  get first(): Lane | undefined {
    return this.#heap[0];
  }

  /** Adds a lane, or moves it to its new place. */
  put(lane: Lane): void {
    if (lane.place < 0) lane.place = this.#heap.push(lane) - 1;
    this.#rise(lane);
    this.#sink(lane);
  }

  removeFirst(): void {
    const first = this.#heap[0];
    if (first !== undefined) this.remove(first);
  }

  /** Does nothing for a lane that is not in it. */
  remove(lane: Lane): void {
    const { place } = lane;
    if (place < 0) return;
    lane.place = -1;
    const last = this.#heap.pop();
    if (last === undefined || last === lane) return;
    this.#set(place, last);
    this.#rise(last);
    this.#sink(last);
  }

  #rise(lane: Lane): void {
    while (lane.place > 0) {
      const above = this.#heap[(lane.place - 1) >> 1];
      if (above === undefined || !isBefore(lane, above)) return;
      this.#swap(lane, above);
    }
  }

  #sink(lane: Lane): void {
    for (;;) {
      const left = this.#heap[2 * lane.place + 1];
      if (left === undefined) return;
      const right = this.#heap[2 * lane.place + 2];
      const below = right !== undefined && isBefore(right, left) ? right : left;
      if (!isBefore(below, lane)) return;
      this.#swap(lane, below);
    }
  }

  #swap(a: Lane, b: Lane): void {
    const place = a.place;
    this.#set(b.place, a);
    this.#set(place, b);
  }

  #set(place: number, lane: Lane): void {
    this.#heap[place] = lane;
    lane.place = place;
  }
}

function isBefore(a: Lane, b: Lane): boolean {
  return (a.dueAt ?? 0) < (b.dueAt ?? 0);
}
