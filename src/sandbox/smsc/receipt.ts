/**
 * Delivery receipts as most SMSCs write them: the text of SMPP 3.4's appendix B, and the same in TLVs. Pure.
 */
import { readPart, reassemble } from "../../modules/sms/encoding/reassemble.ts";
import type { Deliver, Submit } from "../../protocols/smpp/pdu/smsc-pdu.ts";

/** A segment that was taken under this id; `takenAt` Unix ms. */
export interface Reported {
  submit: Submit;
  id: string;
  takenAt: number;
}

/** §5.2.28. */
const STATES: Record<string, number> = {
  ENROUTE: 1,
  DELIVRD: 2,
  EXPIRED: 3,
  DELETED: 4,
  UNDELIV: 5,
  ACCEPTD: 6,
  UNKNOWN: 7,
  REJECTD: 8,
};
/** esm_class of a receipt (§5.2.12). */
const RECEIPT = 0x04;
const TEXT_CHARACTERS = 20;

/** The receipt that says so; null: none was asked for (§5.2.17), of this kind or at all. */
export function buildReceipt(
  { submit, id, takenAt }: Reported,
  { stat, err }: { stat: string; err: string },
  at: number,
): Deliver | null {
  const wanted = submit.registeredDelivery & 0x03;
  if (wanted === 0 || wanted === 3 || (wanted === 2 && stat === "DELIVRD")) return null;
  const arrived = stat === "DELIVRD" ? "001" : "000";
  const words = [
    `id:${id} sub:001 dlvrd:${arrived} submit date:${formatDate(takenAt)} done date:${formatDate(at)}`,
    `stat:${stat} err:${err} text:${readBeginning(submit)}`,
  ];
  return {
    source: { ton: 1, npi: 1, address: submit.destination },
    destination: { ton: submit.sourceTon, npi: submit.sourceTon === 1 ? 1 : 0, address: submit.source },
    esmClass: RECEIPT,
    dataCoding: 0,
    message: Buffer.from(words.join(" "), "latin1"),
    receipt: { id, state: STATES[stat] ?? 7, reference: submit.reference },
  };
}

/** `YYMMDDhhmm`. */
function formatDate(at: number): string {
  return new Date(at).toISOString().replaceAll(/\D/g, "").slice(2, 12);
}

function readBeginning({ esmClass, dataCoding, message, sar }: Submit): string {
  const part = readPart({ esmClass, dataCoding, message, sar });
  const text = reassemble([{ ...part, place: null }], true, "gsm7")?.text ?? "";
  return text.slice(0, TEXT_CHARACTERS).replaceAll(/[^\x20-\x7e]/g, "?");
}
