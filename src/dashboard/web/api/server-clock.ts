// The server's clock, by the Date of its answers: that of the browser may be an hour off.

/** Less is the way of an answer, and Date's whole seconds. */
const MIN_SKEW_MS = 10_000;

let skewMs = 0;

export function noteServerTime({ headers }: Pick<Response, "headers">, now = Date.now()): void {
  const ahead = Date.parse(headers.get("date") ?? "") - now;
  if (!Number.isNaN(ahead)) skewMs = Math.abs(ahead) < MIN_SKEW_MS ? 0 : ahead;
}

/** Unix ms; the times in answers are of this clock. */
export function serverNow(): number {
  return Date.now() + skewMs;
}
