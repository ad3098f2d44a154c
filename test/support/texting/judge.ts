// What must be true after every run, whatever was done to it: the SMSCs' journals against the database. Each text goes
// to a number of its own, by which the two are joined.

import type { SmscHandle } from "../peers/smsc/client.ts";
import { headOf, ID, partOf, readMessage, type Message } from "../peers/smsc/codec.ts";
import type { Noted } from "../peers/smsc/journal.ts";

export interface Run {
  smscs: SmscHandle[];
  /** Rows of pombo's database. */
  read: <T>(query: string) => T[];
  /** Ids that were answered with 202. */
  accepted: Iterable<string>;
  /** Texts whose 202 may have been lost: kills while they were sent. */
  isSomeUnanswered?: boolean;
  /** Of a link. */
  window: number;
  /** Segments a second that a link may send, as the SMSC's clock has it; null: not looked at. */
  rate?: number | null;
  /** Credits that were granted in all. */
  credits: number;
}

interface Submit {
  at: number;
  /** Which SMSC, and which of its connections. */
  link: string;
  number: string;
  part: number;
  message: Message;
  /** What it was answered under its own number; null: nothing. */
  status: number | null;
}

interface Text {
  id: number;
  uid: string;
  recipient: string;
  segments: number;
  status: string;
  isFinal: number;
  isMarked: number;
  credits: number;
}

interface Part {
  messageId: number;
  seq: number;
  parts: number;
  state: string;
  acceptedAt: number | null;
  receiptAt: number | null;
  credit: string;
}

interface Seen extends Run {
  submits: Submit[];
  /** By number and part. */
  arrivals: Map<string, Submit[]>;
  texts: Text[];
  parts: Map<number, Part[]>;
  journals: Noted[][];
}

export interface Verdict {
  /** Empty when all is well: which of the eight, and what. */
  broken: string[];
  submits: number;
  /** Texts marked as possible duplicates, and those that an SMSC took twice. */
  marked: number;
  doubled: number;
  mostUnanswered: number;
}

const SUBMIT_ANSWER = 0x80000004;
const DELIVER_ANSWERS = [0x80000005, 0x80000103];

/** Looks at all eight; an SMSC must be asked when nothing is on its way any more. */
export async function judge(run: Run): Promise<Verdict> {
  const seen = await look(run);
  const states = await Promise.all(run.smscs.map((smsc) => smsc.state()));
  const mostUnanswered = Math.max(...states.map(({ maxUnanswered }) => maxUnanswered));
  const doubled = seen.texts.filter((text) => partsOf(text, seen).some((taken) => taken.length > 1));
  const marked = seen.texts.filter(({ isMarked }) => isMarked === 1);
  const broken = [
    ...named("1: lost or invented", nothingLost(seen)),
    ...named("2: called accepted and never read", nothingImagined(seen)),
    ...named("3: duplicates", duplicatesMarked(seen, doubled, marked)),
    ...named("4: window or rate", [
      ...(mostUnanswered > run.window ? [`${mostUnanswered} without an answer`] : []),
      ...rateKept(seen),
    ]),
    ...named("5: acknowledged and not kept", acknowledgedKept(seen)),
    ...named("6: credits", creditsRight(seen)),
    ...named("7: states and events", eventsOnce(seen)),
    ...named("8: parts", partsInOrder(seen)),
  ];
  return { broken, submits: seen.submits.length, marked: marked.length, doubled: doubled.length, mostUnanswered };
}

function named(name: string, faults: string[]): string[] {
  return faults.slice(0, 5).map((fault) => `${name}: ${fault}`);
}

async function look(run: Run): Promise<Seen> {
  const journals = await Promise.all(run.smscs.map((smsc) => smsc.journal()));
  const submits = journals.flatMap((journal, index) => submitsIn(journal, index)).toSorted((a, b) => a.at - b.at);
  const arrivals = Map.groupBy(submits, ({ number, part }) => `${number} ${part}`);
  const texts = run.read<Text>(
    `SELECT id, uid, recipient, segments, status, is_final AS isFinal, possible_duplicate AS isMarked, credits FROM sms_message`,
  );
  const parts = run.read<Part>(
    `SELECT message_id AS messageId, seq, parts, state, accepted_at AS acceptedAt, receipt_at AS receiptAt, credit
     FROM sms_segment ORDER BY message_id, seq`,
  );
  return { ...run, journals, submits, arrivals, texts, parts: Map.groupBy(parts, ({ messageId }) => messageId) };
}

function submitsIn(journal: Noted[], smsc: number): Submit[] {
  const open = new Map<string, Submit>();
  const submits: Submit[] = [];
  for (const { at, connection, direction, what } of journal) {
    if (direction === "=") continue;
    const bytes = Buffer.from(what, "hex");
    if (bytes.length < 16) continue;
    const { id, sequence, status } = headOf(bytes);
    const key = `${connection} ${sequence}`;
    if (direction === "<" && id === ID.submitSm) {
      const message = readMessage(bytes);
      const part = partOf(message)?.part ?? 1;
      const link = `${smsc} ${connection}`;
      const submit = { at, link, number: `+${message.destination}`, part, message, status: null };
      submits.push(submit);
      open.set(key, submit);
    }
    const submit = open.get(key);
    if (direction === ">" && submit !== undefined && (id === SUBMIT_ANSWER || id === ID.genericNack)) {
      submit.status = status;
      open.delete(key);
    }
  }
  return submits;
}

/** Of each part the submits that an SMSC took, or may have taken. */
function partsOf({ recipient, segments }: Text, { arrivals }: Seen): Submit[][] {
  return Array.from({ length: segments }, (_, index) =>
    (arrivals.get(`${recipient} ${index + 1}`) ?? []).filter(({ status }) => status === null || status === 0),
  );
}

function nothingLost({ texts, submits, accepted, isSomeUnanswered = false }: Seen): string[] {
  const known = new Map(texts.map((text) => [text.uid, text]));
  const numbers = new Set(texts.map(({ recipient }) => recipient));
  const given = new Set(accepted);
  return [
    ...[...given].filter((uid) => !known.has(uid)).map((uid) => `${uid} was accepted and is gone`),
    ...texts.filter(({ uid }) => !isSomeUnanswered && !given.has(uid)).map(({ uid }) => `${uid} was not accepted`),
    ...submits.filter(({ number }) => !numbers.has(number)).map(({ number }) => `${number} is nobody's`),
    ...(numbers.size < texts.length ? ["two texts to one number"] : []),
  ];
}

function nothingImagined({ texts, parts, arrivals }: Seen): string[] {
  return texts.flatMap(({ id, recipient }) =>
    (parts.get(id) ?? [])
      .filter(({ acceptedAt }) => acceptedAt !== null)
      .filter(({ seq }) => !arrivals.has(`${recipient} ${seq}`))
      // One that went whole has one submit.
      .filter(() => !(arrivals.get(`${recipient} 1`) ?? []).some(({ message }) => message.shortMessage.length === 0))
      .map(({ seq }) => `part ${seq} to ${recipient}`),
  );
}

function duplicatesMarked(seen: Seen, doubled: Text[], marked: Text[]): string[] {
  const { journals, window } = seen;
  // A kill of pombo's is one too.
  const losses = journals.flat().filter(({ what }) => what === "closed").length;
  const unanswered = seen.submits.filter(({ status }) => status === null).length;
  const bound = losses * window + unanswered;
  return [
    ...doubled.filter(({ isMarked }) => isMarked !== 1).map(({ recipient }) => `${recipient} is not marked`),
    ...doubled.filter(({ segments }) => segments > 1).map(({ recipient }) => `parts to ${recipient} twice`),
    ...doubled
      .filter((text) => partsOf(text, seen).some((taken) => taken.length > 2))
      .map(({ recipient }) => `${recipient} thrice`),
    ...(marked.length > bound ? [`${marked.length} marked, and no more than ${bound} were in doubt`] : []),
  ];
}

/** In no second more than the rate, a burst of a tenth of it, and what a busy machine holds back: a window. */
function rateKept({ submits, rate = null, window }: Seen): string[] {
  if (rate === null) return [];
  const most = rate * 1.1 + 1 + window;
  const faults: string[] = [];
  for (const [link, own] of Map.groupBy(submits, (submit) => submit.link)) {
    let first = 0;
    for (const [last, { at }] of own.entries()) {
      while ((own[first]?.at ?? at) < at - 1_000) first += 1;
      if (last - first + 1 > most) faults.push(`${last - first + 1} in a second on ${link}`);
    }
  }
  return faults;
}

function acknowledgedKept({ journals, texts, parts, read }: Seen): string[] {
  const byNumber = new Map(texts.map((text) => [text.recipient, text]));
  const orphans = new Set(
    read<{ key: string }>("SELECT number_key AS key FROM sms_receipt_orphan").map(({ key }) => key),
  );
  const senders = read<{ sender: string }>(
    "SELECT sender FROM sms_inbound UNION ALL SELECT source AS sender FROM sms_inbound_part",
  ).map(({ sender }) => sender.replace("+", ""));
  const isKept = (number: string) => {
    const text = byNumber.get(`+${number}`);
    const isTold = (parts.get(text?.id ?? 0) ?? []).some(({ receiptAt }) => receiptAt !== null);
    return isTold || orphans.has(number.slice(-9));
  };
  return journals.flatMap(acknowledgedIn).flatMap(({ from, isReceipt }) => {
    if (isReceipt) return isKept(from) ? [] : [`a receipt of ${from}`];
    return senders.includes(from) ? [] : [`a text of ${from}`];
  });
}

function acknowledgedIn(journal: Noted[]): { from: string; isReceipt: boolean }[] {
  const open = new Map<string, Buffer>();
  return journal.flatMap(({ connection, direction, what }) => {
    if (direction === "=") return [];
    const bytes = Buffer.from(what, "hex");
    if (bytes.length < 16) return [];
    const { id, sequence, status } = headOf(bytes);
    const key = `${connection} ${sequence}`;
    if (direction === ">" && (id === ID.deliverSm || id === ID.dataSm)) open.set(key, bytes);
    const delivered = open.get(key);
    if (direction === ">" || !DELIVER_ANSWERS.includes(id) || status !== 0 || delivered === undefined) return [];
    return [addressesOf(delivered)];
  });
}

/** The source, and whether it is a receipt: both commands begin alike. */
function addressesOf(bytes: Buffer): { from: string; isReceipt: boolean } {
  const source = bytes.indexOf(0, 16) + 3;
  const sourceEnd = bytes.indexOf(0, source);
  const destinationEnd = bytes.indexOf(0, sourceEnd + 3);
  const esmClass = bytes[destinationEnd + 1] ?? 0;
  return { from: bytes.toString("latin1", source, sourceEnd), isReceipt: (esmClass & 0x3c) !== 0 };
}

function creditsRight({ texts, parts, read, credits }: Seen): string[] {
  const sum = (query: string) => read<{ n: number | null }>(query)[0]?.n ?? 0;
  const balance = sum("SELECT SUM(sms_credits) AS n FROM workspace");
  const ledger = sum("SELECT SUM(amount) AS n FROM sms_credit");
  const writtenOff = sum("SELECT SUM(segments) AS n FROM sms_credit WHERE kind = 'writeoff'");
  const all = [...parts.values()].flat();
  const taken = all.filter(({ credit }) => credit === "reserved").length;
  const lost = all.filter(({ credit }) => credit === "written_off").length;
  const wrong = texts.filter(({ id, isFinal, credits: own }) => {
    const of = parts.get(id) ?? [];
    const isPaid = ({ credit, acceptedAt }: Part) => credit === "reserved" && acceptedAt !== null;
    return isFinal === 1 && own !== of.filter(isPaid).length;
  });
  return [
    ...(balance === ledger ? [] : [`a balance of ${balance} and a ledger of ${ledger}`]),
    ...(balance + taken === credits ? [] : [`${credits} granted, ${taken} taken, ${balance} left`]),
    ...(writtenOff === lost ? [] : [`${lost} segments were given back and taken, ${writtenOff} written off`]),
    ...wrong.map(({ recipient, credits: own }) => `${recipient} cost ${own}`),
  ];
}

/** Which events may follow one: late proof corrects what was given up, and nothing undoes a delivery. */
const MAY_FOLLOW: Record<string, string[]> = {
  "": ["sms.queued"],
  "sms.queued": ["sms.sent", "sms.failed", "sms.expired"],
  "sms.sent": ["sms.delivered", "sms.undelivered", "sms.expired"],
  "sms.failed": ["sms.sent", "sms.delivered", "sms.undelivered", "sms.expired"],
  "sms.expired": ["sms.sent", "sms.delivered", "sms.undelivered"],
  "sms.undelivered": ["sms.delivered"],
  "sms.delivered": [],
};

function eventsOnce({ texts, read }: Seen): string[] {
  const rows = read<{ type: string; resource: string }>(
    "SELECT type, resource FROM event WHERE type LIKE 'sms.%' AND type <> 'sms.received' ORDER BY id",
  );
  const byText = Map.groupBy(rows, ({ resource }) => resource);
  return texts.flatMap(({ uid, status }) => {
    const told = (byText.get(uid) ?? []).map(({ type }) => type);
    // Nobody follows: nothing is kept.
    if (rows.length === 0) return [];
    const story = `${told.join(", ")} of ${uid}, which is ${status}`;
    if (new Set(told).size < told.length) return [`twice: ${story}`];
    const isOrderly = told.every((type, index) => MAY_FOLLOW[told[index - 1] ?? ""]?.includes(type));
    const isLast = status === "queued" || status === "sending" || told.at(-1) === `sms.${status}`;
    return isOrderly && isLast ? [] : [story];
  });
}

function partsInOrder({ texts, submits }: Seen): string[] {
  const byNumber = Map.groupBy(submits, ({ number }) => number);
  return texts
    .filter(({ segments }) => segments > 1)
    .flatMap(({ recipient, segments }) => {
      const own = byNumber.get(recipient) ?? [];
      const places = own.map(({ message }) => partOf(message));
      const references = new Set(own.map(({ message }) => message.shortMessage.subarray(0, 4).toString("hex")));
      const firsts = [...new Set(own.map(({ part }) => part))];
      const smscs = new Set(own.map(({ link }) => link.split(" ")[0]));
      return [
        ...(places.some((place) => place !== null && place.total !== segments) ? [`${recipient}: another total`] : []),
        ...(places.some((place) => place !== null) && references.size > 1 ? [`${recipient}: two references`] : []),
        ...(firsts.some((part, index) => part !== index + 1) ? [`${recipient}: in the order ${firsts.join(" ")}`] : []),
        ...(smscs.size > 1 ? [`${recipient}: by two SMSCs`] : []),
      ];
    });
}
