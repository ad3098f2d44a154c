// What the SMSCs of others say of themselves in their logs: one line of JSON for each thing that happened.

export interface Submit {
  from: string;
  to: string;
  /** As the SMSC decoded it. */
  text: string;
  /** The user data header's elements in hexadecimal, its length left out; empty: there is none. */
  udh: string;
  esmClass: number;
  dataCoding: number;
  /** As it was answered. */
  id: string;
}

export type Line =
  | { bound: string }
  | { submit: Submit }
  /** A receipt or a text, by the ESME. */
  | { acknowledged: { status: number } };

/** The lines of a log that has other things in it too; one that is being written is left out. */
export function linesOf(log: string): Line[] {
  return log
    .split("\n")
    .slice(0, -1)
    .filter((line) => line.startsWith("{"))
    .map((line) => JSON.parse(line) as Line);
}

/** What arrived for a number, its parts joined in their order, and whether there is one of each. */
export function textTo(submits: Submit[], number: string): { text: string; parts: number; isWhole: boolean } {
  const own = submits.filter(({ to }) => to === number);
  const parts = own
    .map((submit) => ({ ...placeOf(submit.udh), text: submit.text }))
    .toSorted((a, b) => a.part - b.part);
  const isWhole = parts.every(({ part, total }, index) => part === index + 1 && total === parts.length);
  return { text: parts.map(({ text }) => text).join(""), parts: parts.length, isWhole };
}

/** Element 0x00 or 0x08 of the header. */
function placeOf(udh: string): { part: number; total: number } {
  const bytes = Buffer.from(udh, "hex");
  if (bytes.length === 0) return { part: 1, total: 1 };
  return { total: bytes.at(-2) ?? 0, part: bytes.at(-1) ?? 0 };
}
