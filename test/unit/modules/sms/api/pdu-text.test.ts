import { expect, test } from "bun:test";
import { pduText } from "../../../../../src/modules/sms/api/pdu-text.ts";
import { encode, encodeAcknowledgement } from "../../../../../src/protocols/smpp/pdu/pdu.ts";

const SECRET = "O seu codigo e 482913";
const RECEIPT = "id:123 sub:001 stat:DELIVRD err:000 text:O seu codi";

function message(command: string, fields: Record<string, unknown>): Buffer {
  return encode(command, 7, {
    source_addr_ton: 5,
    source_addr: "Loja",
    dest_addr_ton: 1,
    dest_addr_npi: 1,
    destination_addr: "258841234567",
    ...fields,
  });
}

/** What can be read of the hexadecimal. */
function readable(raw: string): string {
  return Buffer.from(raw.replaceAll("··", "2e"), "hex").toString("latin1");
}

test("texts and subscribers' numbers are hidden, all else is as it was", () => {
  const bytes = message("submit_sm", { short_message: Buffer.from(SECRET) });
  const { command, sequence, raw } = pduText(bytes, false);
  expect([command, sequence]).toEqual(["submit_sm", 7]);
  expect(raw.length).toBe(bytes.length * 2);
  expect(readable(raw)).toContain("Loja");
  expect(readable(raw)).toContain("25884.......");
  for (const hidden of [SECRET.slice(0, 3), "482913", "1234567"]) expect(readable(raw)).not.toContain(hidden);
  expect(pduText(bytes, true).raw).toBe(bytes.toString("hex"));
});

test("a text in message_payload is hidden, of a deliver_sm and a data_sm too", () => {
  for (const command of ["submit_sm", "deliver_sm", "data_sm"]) {
    const { raw } = pduText(message(command, { message_payload: Buffer.from(SECRET) }), false);
    expect(readable(raw)).not.toContain("482913");
    expect(raw).toContain("··");
  }
});

test("of a receipt only the text that it repeats is hidden", () => {
  for (const field of ["short_message", "message_payload"]) {
    const { raw } = pduText(message("deliver_sm", { esm_class: 4, [field]: Buffer.from(RECEIPT) }), false);
    expect(readable(raw)).toContain("id:123 sub:001 stat:DELIVRD err:000 text:");
    expect(readable(raw)).not.toContain("O seu");
  }
  // What only calls itself a receipt.
  const { raw } = pduText(message("deliver_sm", { esm_class: 4, short_message: Buffer.from(SECRET) }), false);
  expect(readable(raw)).not.toContain("codigo");
});

test("of what was cut nothing is shown by mistake, and it never throws", () => {
  const whole = message("submit_sm", { short_message: Buffer.from(SECRET) });
  for (let length = 16; length <= whole.length; length += 1) {
    const { raw } = pduText(whole.subarray(0, length), false);
    expect(readable(raw)).not.toContain("O s");
    expect(readable(raw)).not.toContain("8412345");
  }
});

test("answers are named", () => {
  const { command, status } = pduText(encodeAcknowledgement("deliver_sm", 3, 0x64), false);
  expect([command, status]).toEqual(["deliver_sm_resp", 0x64]);
});
