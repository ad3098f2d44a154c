/**
 * Magic numbers: phone numbers to which texts meet a certain end in the sandbox, whatever the country and operator,
 * so that a customer can watch each of them. This table is the only one: the SMSC acts by it, the docs, the
 * page and the terminal show it, the tests go through it. The ends hold for the settings below. Pure.
 */

/** The sandbox's own in `[sms]`: a day is too long to wait here for a receipt that does not come. */
export const SANDBOX_TIMES = {
  /** How long a message may wait to be sent, whatever its priority; the least validity that an SMSC is given. */
  lifetimeMs: 60_000,
  receiptGraceMs: 5_000,
  lostResponseWaitMs: 5_000,
  responseTimeoutMs: 5_000,
} as const;

/** What happens to a segment after the SMSC took it. */
export interface Step {
  /** After the answer. */
  afterMs: number;
  /** It arrives: the phone has it. */
  isShown: boolean;
  /** The receipt's `stat` and `err`; null: no receipt. */
  receipt: { stat: string; err: string } | null;
}

export type Behaviour =
  | { kind: "takes"; steps: readonly Step[] }
  /** Taken, and the receipt is sent before the answer. */
  | { kind: "reports_first" }
  /** Refused so often, null: always; then delivered. `part`: of several, only that one. */
  | { kind: "refuses"; status: number; times: number | null; part: number | null }
  /** Never answered, and not taken. */
  | { kind: "is_silent" }
  /** Taken, and the connection dropped in place of an answer, the first time. */
  | { kind: "drops" }
  /** Delivered, and its reader writes back. */
  | { kind: "writes_back"; body: string };

export interface MagicNumber {
  /** The last two digits; the five before them are zeros: +258 84 00000 01. */
  ending: string;
  does: Behaviour;
  /** For people: what happens. */
  told: string;
  /** What a text of one segment ends as, but for `parts`. */
  ends: { status: string; deliveryState: string | null; failureCategory: string | null };
  /** How many segments it takes to see it. */
  parts: 1 | 2;
  /** From the 202 to that, about. */
  seconds: number;
  /** It slows or breaks its link: a link of its own keeps it from the others' texts. */
  isApart: boolean;
}

/** A moment for a person to see it sent. */
const ARRIVES_MS = 100;
const SLOW_MS = 10_000;
const ENROUTE_MS = 1_000;
/** How long the reader of a text takes to write back. */
export const WRITES_BACK_MS = 1_000;

const arrives = (afterMs: number): Step => ({ afterMs, isShown: true, receipt: { stat: "DELIVRD", err: "000" } });
const reported = (stat: string, err: string): Behaviour => ({
  kind: "takes",
  steps: [{ afterMs: ARRIVES_MS, isShown: false, receipt: { stat, err } }],
});
const refused = (status: number, times: number | null = null): Behaviour => ({
  kind: "refuses",
  status,
  times,
  part: null,
});

/** Of every number that is not in the table. */
export const DELIVERED: Behaviour = { kind: "takes", steps: [arrives(ARRIVES_MS)] };

const DELIVERED_ENDS = { status: "delivered", deliveryState: "delivered", failureCategory: null };
const OVERDUE_ENDS = { status: "sent", deliveryState: "unknown", failureCategory: "receipt_timeout" };
const OVERDUE_S = (SANDBOX_TIMES.lifetimeMs + SANDBOX_TIMES.receiptGraceMs) / 1_000;

function failed(failureCategory: string, deliveryState = "rejected"): MagicNumber["ends"] {
  return { status: "failed", deliveryState, failureCategory };
}

type Row = [ending: string, told: string, does: Behaviour, ends: MagicNumber["ends"], seconds?: number];

/** A receipt's `stat` and `err`, why, and the `status`, `deliveryState` and `failureCategory` that they become. */
function undelivered(ending: string, receipt: string, why: string, becomes: string): Row {
  const [stat = "", err = ""] = receipt.split(" ");
  const [status = "", deliveryState = "", failureCategory = ""] = becomes.split(" ");
  const told = `${stat}${err === "000" ? "" : `, err ${err}`}: ${why}`;
  return [ending, told, reported(stat, err), { status, deliveryState, failureCategory }];
}

const TOGETHER: Row[] = [
  undelivered("01", "UNDELIV 001", "nobody has this number", "undelivered undeliverable unknown_subscriber"),
  undelivered("02", "UNDELIV 027", "the phone is switched off", "undelivered undeliverable absent_subscriber"),
  undelivered("03", "EXPIRED 000", "the network gave up trying", "expired expired expired"),
  undelivered("04", "REJECTD 013", "the subscriber is barred", "undelivered rejected blocked"),
  undelivered("05", "DELETED 000", "taken out of the network's queue", "undelivered deleted provider_error"),
  undelivered("21", "UNDELIV 022", "the phone's memory is full", "undelivered undeliverable handset_error"),
  ["06", "UNKNOWN: the network does not know, and says no more", reported("UNKNOWN", "000"), OVERDUE_ENDS, OVERDUE_S],
  [
    "07",
    "ENROUTE after a second, DELIVRD after ten",
    {
      kind: "takes",
      steps: [{ afterMs: ENROUTE_MS, isShown: false, receipt: { stat: "ENROUTE", err: "000" } }, arrives(SLOW_MS)],
    },
    DELIVERED_ENDS,
    SLOW_MS / 1_000,
  ],
  [
    "08",
    "arrives, and no receipt ever comes",
    { kind: "takes", steps: [{ afterMs: ARRIVES_MS, isShown: true, receipt: null }] },
    OVERDUE_ENDS,
    OVERDUE_S,
  ],
  ["09", "arrives, its receipt before the SMSC's answer", { kind: "reports_first" }, DELIVERED_ENDS],
  ["10", "refused with 0x0B: no such destination", refused(0x0b), failed("invalid_destination")],
  ["11", "refused with 0x0A: the sender may not", refused(0x0a), failed("sender_rejected")],
  ["12", "refused with 0x45 (submit failed), three times", refused(0x45), failed("provider_error"), 15],
  ["15", "refused with 0x08 (system error) twice, then delivered", refused(0x08, 2), DELIVERED_ENDS, 15],
  ["19", "arrives, and its reader writes back STOP", { kind: "writes_back", body: "STOP" }, DELIVERED_ENDS, 1],
  ["20", "arrives, and its reader writes back Olá", { kind: "writes_back", body: "Olá" }, DELIVERED_ENDS, 1],
];

const APART: Row[] = [
  ["13", "refused with 0x58 (too fast) twice, then delivered", refused(0x58, 2), DELIVERED_ENDS, 3],
  ["14", "refused with 0x14 (queue full) once, then delivered", refused(0x14, 1), DELIVERED_ENDS, 30],
  [
    "16",
    "never answered: sent twice, marked possibleDuplicate, given up",
    { kind: "is_silent" },
    failed("outcome_unknown", "unknown"),
    16,
  ],
  [
    "17",
    "arrives, the connection breaks before the answer: sent twice, so it arrives twice, marked possibleDuplicate",
    { kind: "drops" },
    DELIVERED_ENDS,
    2,
  ],
];

const SECOND_PART: Row = [
  "18",
  "of a text in several segments the second is refused with 0x66, so the phone shows none",
  { kind: "refuses", status: 0x66, times: null, part: 2 },
  failed("content_rejected", "partially_delivered"),
];

/** All of them, in the order of their digits. */
export const MAGIC_NUMBERS: readonly MagicNumber[] = [
  ...TOGETHER.map((row) => magicNumber(row)),
  ...APART.map((row) => magicNumber(row, { isApart: true })),
  magicNumber(SECOND_PART, { parts: 2 }),
].toSorted((a, b) => Number(a.ending) - Number(b.ending));

function magicNumber([ending, told, does, ends, seconds = 0]: Row, more: Partial<MagicNumber> = {}): MagicNumber {
  return { ending, told, does, ends, seconds, parts: 1, isApart: false, ...more };
}

const BY_ENDING = new Map(MAGIC_NUMBERS.map((each) => [each.ending, each]));

/** Numbers of any country, with or without `+`. */
const MAGIC = /^\+?\d{1,8}00000(\d\d)$/;
const MAGIC_DIGITS = 7;

/** What is done with texts to a number. */
export function findBehaviour(number: string): Behaviour {
  return BY_ENDING.get(MAGIC.exec(number)?.[1] ?? "")?.does ?? DELIVERED;
}

/** A row's number, which begins as `like` does, a number in E.164. */
export function buildNumber({ ending }: Pick<MagicNumber, "ending">, like = "+258841234567"): string {
  return `${like.slice(0, -MAGIC_DIGITS)}00000${ending}`;
}

/** What it ends as, as people read it: `failed, unknown_subscriber, after about 15 s`. */
export function findEnd({ ends, seconds }: MagicNumber): string {
  const { status, deliveryState, failureCategory } = ends;
  const state = deliveryState === status || deliveryState === null ? [] : [deliveryState];
  const words = [
    status,
    ...state,
    ...(failureCategory === null || failureCategory === status ? [] : [failureCategory]),
  ];
  return `${words.join(", ")}${seconds > 1 ? `; takes ${seconds} s` : ""}`;
}
