/**
 * What phones make of the segments that arrive: parts are joined in any order, then the text is shown once. Of a
 * text whose parts do not all arrive nothing is shown, as on most phones, and it is forgotten after a while.
 */
import type { Clock } from "../../platform/clock.ts";
import { type InboundPart, readPart, reassemble, textKey } from "../../modules/sms/encoding/reassemble.ts";
import { putLast } from "../../platform/put-last.ts";
import type { Submit } from "../../protocols/smpp/pdu/smsc-pdu.ts";
import type { TextEncoding, Texts } from "./message-store.ts";

/** Incomplete messages of all phones; the oldest are forgotten. */
export const MAX_INCOMPLETE = 500;
/** A part that is as late belongs to another text: references begin anew after 256. */
const INCOMPLETE_MS = 5 * 60_000;
/** What fits into one segment, and into one of several, in octets as they come: unpacked septets, or UTF-16. */
const CAPACITY = { gsm7: [160, 153], latin1: [140, 134], ucs2: [140, 134], binary: [140, 134] } as const;

/** A segment that arrived, with its user_message_reference. */
interface ArrivedPart extends InboundPart {
  umr: number | null;
}

interface Incomplete {
  since: number;
  parts: ArrivedPart[];
}

export class Handsets {
  readonly #texts: Texts;
  readonly #clock: Pick<Clock, "now">;
  readonly #incomplete = new Map<string, Incomplete>();

  constructor(texts: Texts, clock: Pick<Clock, "now">) {
    this.#texts = texts;
    this.#clock = clock;
  }

  /** A segment arrives at its phone, whose number is in E.164 without `+`. */
  arrive(submit: Submit): void {
    const { esmClass, dataCoding, message, sar, destination } = submit;
    const part = { ...readPart({ esmClass, dataCoding, message, sar }), umr: submit.reference };
    const parts = this.#join(`${formatSender(submit)} ${destination}`, part);
    const text = parts === null ? null : reassemble(parts, false, "gsm7");
    if (parts === null || text === null) return;
    const encoding = text.text === null ? "binary" : findEncoding(dataCoding);
    const octets = parts.reduce((sum, { userData }) => sum + userData.length, 0);
    this.#texts.add({
      from: formatSender(submit),
      to: `+${destination}`,
      body: text.text ?? `(${octets} octets that are no text)`,
      segments: part.place?.total ?? countSegments(octets, encoding),
      encoding,
      receivedAt: this.#clock.now(),
      direction: "in",
      reference: parts.find(({ place }) => place === null || place.seq === 1)?.umr ?? null,
    });
  }

  /** All that have come of the text; null: some are missing. */
  #join(phone: string, part: ArrivedPart): ArrivedPart[] | null {
    if (part.place === null) return [part];
    const now = this.#clock.now();
    const key = `${phone} ${textKey(part.place)}`;
    const before = this.#incomplete.get(key);
    const known = before === undefined || now - before.since > INCOMPLETE_MS ? { since: now, parts: [] } : before;
    if (known.parts.every(({ place }) => place?.seq !== part.place?.seq)) known.parts.push(part);
    if (known.parts.length === part.place.total) {
      this.#incomplete.delete(key);
      return known.parts;
    }
    putLast(this.#incomplete, key, known, MAX_INCOMPLETE);
    return null;
  }
}

/** As a phone shows it: numbers with their `+`. */
function formatSender({ source, sourceTon }: Pick<Submit, "source" | "sourceTon">): string {
  return sourceTon === 1 && /^\d+$/.test(source) ? `+${source}` : source;
}

/** Of text that could be read. */
function findEncoding(dataCoding: number): TextEncoding {
  if (dataCoding === 1 || dataCoding === 3) return "latin1";
  const isUcs2 = dataCoding === 8 || (dataCoding >= 0x10 && dataCoding < 0x40 && (dataCoding & 0x0c) === 8);
  return isUcs2 ? "ucs2" : "gsm7";
}

/** Of a text that came in one piece, in message_payload perhaps: the SMSC splits it. */
function countSegments(octets: number, encoding: TextEncoding): number {
  const [alone, part] = CAPACITY[encoding];
  return octets <= alone ? 1 : Math.ceil(octets / part);
}
