/**
 * What the hardened package must do, case by case; each throws when it does not. In a file of their own, since
 * they are run from source and in a compiled binary: some of its faults show in one of the two only.
 */
import assert from "node:assert/strict";
import { connect, createServer, type AddressInfo } from "node:net";
import { systemClock } from "../../../src/platform/clock.ts";
import {
  encodeAcknowledgement,
  encodeBind,
  encodeNack,
  encodePlain,
  type Inbound,
  type Pdu,
  readPdu,
} from "../../../src/protocols/smpp/pdu/pdu.ts";
import { encodeSubmit, type SubmitSm } from "../../../src/protocols/smpp/pdu/submit-sm.ts";
import { Wire } from "../../../src/protocols/smpp/session/connection.ts";
import { ID, pdu, tlv, writeDelivery, type Delivery } from "../peers/smsc/codec.ts";

export const SUBMIT: SubmitSm = {
  source: { ton: 5, npi: 0, address: "LOJA" },
  destination: { ton: 1, npi: 1, address: "258841234567" },
  esmClass: 0,
  validityPeriod: "000001000000000R",
  registeredDelivery: 1,
  dataCoding: 0,
  shortMessage: Buffer.from("Ola"),
  messagePayload: null,
  userMessageReference: null,
  sar: null,
  hasMoreMessages: null,
};

const DELIVERY: Delivery = {
  command: "deliver_sm",
  from: "258841234567",
  to: "LOJA",
  esmClass: 4,
  dataCoding: 0,
  bytes: "",
  isPayload: false,
  tlvs: [],
};

function hexOf(text: string): string {
  return Buffer.from(text, "latin1").toString("hex");
}

/** What a peer's octets are read as, in pieces of `size` octets; `broken`: why the connection was given up. */
async function readOver(bytes: Buffer, size = bytes.length): Promise<{ pdus: Pdu[]; broken: string; said: Buffer }> {
  const heard: Buffer[] = [];
  const server = createServer((socket) => {
    socket.setNoDelay(true);
    socket.on("error", () => undefined);
    socket.on("data", (chunk: Buffer) => void heard.push(chunk));
    const write = (at: number) => {
      if (at >= bytes.length) return void socket.end();
      socket.write(bytes.subarray(at, at + size), () => setImmediate(() => write(at + size)));
    };
    write(0);
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  const pdus: Pdu[] = [];
  const socket = connect((server.address() as AddressInfo).port, "127.0.0.1");
  const closed = new Promise((resolve) => socket.once("close", resolve));
  const broken = await new Promise<string>((resolve, reject) => {
    void new Wire(socket, systemClock, readPdu, {
      received: (read) => void pdus.push(read),
      half: () => undefined,
      drained: () => undefined,
      broken: resolve,
      fault: reject,
    });
  });
  await closed;
  await new Promise((resolve) => server.close(resolve));
  return { pdus, broken, said: Buffer.concat(heard) };
}

async function readInbound(delivery: Partial<Delivery>): Promise<Inbound> {
  const { pdus, broken } = await readOver(writeDelivery({ ...DELIVERY, ...delivery }, 7));
  assert.equal(broken, "the peer closed the connection");
  assert.equal(pdus.length, 1);
  const [read] = pdus;
  assert(read?.kind === "inbound" && read.sequence === 7);
  return read.message;
}

/** Encodings written by hand from the tables of SMPP 3.4 §4 and §5. */
const GOLDEN: Record<string, { made: () => Buffer; expected: string }> = {
  "bind_transceiver, §4.1.5": {
    made: () => encodeBind("bind_transceiver", 1, { systemId: "loja", password: "segredo", systemType: "" }),
    expected: "00000022 00000009 00000000 00000001 6c6f6a6100 7365677265646f00 00 34 00 00 00",
  },
  "bind_transmitter, §4.1.1": {
    made: () => encodeBind("bind_transmitter", 2, { systemId: "a", password: "", systemType: "VMA" }),
    expected: "0000001b 00000002 00000000 00000002 6100 00 564d4100 34 00 00 00",
  },
  "bind_receiver, §4.1.3": {
    made: () => encodeBind("bind_receiver", 0x7fffffff, { systemId: "", password: "", systemType: "" }),
    expected: "00000017 00000001 00000000 7fffffff 00 00 00 34 00 00 00",
  },
  "submit_sm from a name, with a relative validity and a receipt, §4.4.1": {
    made: () => encodeSubmit(3, SUBMIT),
    expected:
      "00000044 00000004 00000000 00000003 00 05 00 4c4f4a4100 01 01 32353838343132333435363700 " +
      "00 00 00 00 30303030303130303030303030303052 00 01 00 00 00 03 4f6c61",
  },
  "submit_sm with a user data header, UCS-2, and user_message_reference, §5.3.2.17": {
    made: () =>
      encodeSubmit(4, {
        ...SUBMIT,
        source: { ton: 3, npi: 0, address: "1234" },
        esmClass: 0x43,
        validityPeriod: "",
        dataCoding: 8,
        shortMessage: Buffer.from("05000342020100e3", "hex"),
        userMessageReference: 0x0102,
        hasMoreMessages: true,
      }),
    expected:
      "00000044 00000004 00000000 00000004 00 03 00 3132333400 01 01 32353838343132333435363700 " +
      "43 00 00 00 00 01 00 08 00 08 05000342020100e3 0204 0002 0102 0426 0001 01",
  },
  "submit_sm in parts by TLV, §5.3.2.22": {
    made: () => encodeSubmit(5, { ...SUBMIT, validityPeriod: "", sar: { reference: 0xabcd, total: 3, seq: 2 } }),
    expected:
      "00000044 00000004 00000000 00000005 00 05 00 4c4f4a4100 01 01 32353838343132333435363700 " +
      "00 00 00 00 00 01 00 00 00 03 4f6c61 020c 0002 abcd 020e 0001 03 020f 0001 02",
  },
  "submit_sm with a message_payload, §5.3.2.32": {
    made: () =>
      encodeSubmit(6, {
        ...SUBMIT,
        validityPeriod: "",
        registeredDelivery: 0,
        shortMessage: new Uint8Array(),
        messagePayload: Buffer.from([0x00, 0x1b, 0x65, 0xff]),
      }),
    expected:
      "00000039 00000004 00000000 00000006 00 05 00 4c4f4a4100 01 01 32353838343132333435363700 " +
      "00 00 00 00 00 00 00 00 00 00 0424 0004 001b65ff",
  },
  "enquire_link, §4.11": {
    made: () => encodePlain("enquire_link", 7),
    expected: "00000010 00000015 00000000 00000007",
  },
  "enquire_link_resp for a number of the upper half": {
    made: () => encodePlain("enquire_link_resp", 0xfffffffe),
    expected: "00000010 80000015 00000000 fffffffe",
  },
  "unbind, §4.2": { made: () => encodePlain("unbind", 8), expected: "00000010 00000006 00000000 00000008" },
  unbind_resp: { made: () => encodePlain("unbind_resp", 8), expected: "00000010 80000006 00000000 00000008" },
  "generic_nack, §4.3": { made: () => encodeNack(0, 2), expected: "00000010 80000000 00000002 00000000" },
  "deliver_sm_resp, §4.6.2": {
    made: () => encodeAcknowledgement("deliver_sm", 0x80000001, 0),
    expected: "00000011 80000005 00000000 80000001 00",
  },
  "deliver_sm_resp with an error has no body": {
    made: () => encodeAcknowledgement("deliver_sm", 9, 0x64),
    expected: "00000010 80000005 00000064 00000009",
  },
  "data_sm_resp, §4.7.2": {
    made: () => encodeAcknowledgement("data_sm", 9, 0),
    expected: "00000011 80000103 00000000 00000009 00",
  },
};

/** Lengths that no PDU has. */
const LENGTHS = [0, 2, 4, 8, 15, 16_385, 0x80000000];

export const CASES: Record<string, () => Promise<void> | void> = {
  ...Object.fromEntries(
    Object.entries(GOLDEN).map(([name, { made, expected }]) => [
      `octet by octet: ${name}`,
      () => assert.equal(made().toString("hex"), expected.replaceAll(" ", "")),
    ]),
  ),
  "a receipt's octets stay as they are, whatever the data coding": async () => {
    for (const dataCoding of [0, 1, 3, 8]) {
      const bytes = hexOf("id:ab_c@d$e stat:DELIVRD");
      const message = await readInbound({ dataCoding, bytes });
      assert.equal(message.shortMessage.toString("hex"), bytes);
      assert.equal(message.dataCoding, dataCoding);
      assert.equal(message.messagePayload, null);
    }
  },
  "a receipt in message_payload is read, in a deliver_sm and in a data_sm": async () => {
    for (const command of ["deliver_sm", "data_sm"] as const) {
      const message = await readInbound({ command, bytes: hexOf("id:1 stat:DELIVRD"), isPayload: true });
      assert.equal(message.messagePayload?.toString("latin1"), "id:1 stat:DELIVRD");
      assert.equal(message.shortMessage.length, 0);
      assert.deepEqual(message.source, { ton: 1, npi: 1, address: "258841234567" });
      assert.deepEqual([message.command, message.esmClass], [command, 4]);
    }
  },
  "a user data header stays in front of its text": async () => {
    const bytes = `050003420201${hexOf("Ola")}`;
    const message = await readInbound({ esmClass: 0x40, bytes });
    assert.equal(message.shortMessage.toString("hex"), bytes);
  },
  "an id TLV without its NUL ends where its length says": async () => {
    const tlvs = [
      { tag: 0x001e, value: hexOf("12ab") },
      { tag: 0x0427, value: "02" },
      { tag: 0x0423, value: "03001b" },
      { tag: 0x0204, value: "0102" },
      { tag: 0x1501, value: "cafe" },
    ];
    const message = await readInbound({ tlvs });
    assert.deepEqual([message.receiptedMessageId, message.messageState], ["12ab", 2]);
    assert.equal(message.networkErrorCode?.toString("hex"), "03001b");
    assert.equal(message.userMessageReference, 0x0102);
    assert.equal(message.sar, null);
  },
  "an id TLV with its NUL is the same id": async () => {
    const message = await readInbound({ tlvs: [{ tag: 0x001e, value: `${hexOf("12ab")}00` }] });
    assert.equal(message.receiptedMessageId, "12ab");
  },
  "parts by TLV are read when all three are there": async () => {
    const three = [
      { tag: 0x020c, value: "abcd" },
      { tag: 0x020e, value: "03" },
      { tag: 0x020f, value: "02" },
    ];
    assert.deepEqual((await readInbound({ tlvs: three })).sar, { reference: 0xabcd, total: 3, seq: 2 });
    assert.equal((await readInbound({ tlvs: three.slice(1) })).sar, null);
  },
  "TLVs that the package makes objects of do not end the connection": async () => {
    const message = await readInbound({
      bytes: hexOf("Sim"),
      tlvs: [
        { tag: 0x0381, value: "01" },
        { tag: 0x060b, value: "" },
      ],
    });
    assert.equal(message.shortMessage.toString("latin1"), "Sim");
  },
  "a length that no PDU has ends the connection with generic_nack 0x02": async () => {
    for (const length of LENGTHS) {
      const { pdus, broken, said } = await readOver(pdu(ID.enquireLink, { sequence: 1, length }));
      assert.equal(broken, `command_length ${length}`);
      assert.deepEqual(pdus, []);
      assert.equal(said.toString("hex"), "00000010800000000000000200000000");
    }
  },
  "HTTP ends the connection": async () => {
    const { broken } = await readOver(Buffer.from("HTTP/1.1 400 Bad Request\r\n\r\n"));
    assert.match(broken, /^command_length \d+$/);
  },
  "a TLV that is longer than its PDU ends the connection, and its sequence number is copied": async () => {
    const whole = writeDelivery({ ...DELIVERY, bytes: hexOf("Ola") }, 9);
    for (const tag of [0x001e, 0x0424, 0x0427, 0x0423, 0x0204]) {
      const bytes = Buffer.concat([
        whole,
        tag === 0x0427 || tag === 0x0204 ? tlv(tag, Buffer.alloc(0), 2) : tlv(tag, Buffer.from("ab"), 9),
      ]);
      bytes.writeUInt32BE(bytes.length, 0);
      const { pdus, broken, said } = await readOver(bytes);
      assert.deepEqual(pdus, []);
      assert.notEqual(broken, "the peer closed the connection");
      assert.equal(said.toString("hex"), "00000010800000000000000200000009");
    }
  },
  "an end in the middle of a PDU is no PDU": async () => {
    const whole = pdu(ID.submitSm + 0x80000000, { sequence: 1 }, Buffer.from("1234567\0"));
    for (const size of [2, 4, 10, whole.length - 3]) {
      const { pdus, broken } = await readOver(whole.subarray(0, size));
      assert.deepEqual(pdus, []);
      assert.match(broken, /within a PDU|closed the connection/);
    }
  },
  "a hundred PDUs in one piece, and octet by octet, are a hundred PDUs": async () => {
    const answers = Array.from({ length: 100 }, (_, at) =>
      pdu(ID.submitSm + 0x80000000, { sequence: at + 1 }, Buffer.from(`${at}\0`)),
    );
    for (const size of [100_000, 1]) {
      const { pdus } = await readOver(Buffer.concat(answers), size);
      assert.equal(pdus.length, 100);
      const bytes = pdu(ID.submitSm + 0x80000000, { sequence: 100 }, Buffer.from("99\0"));
      assert.deepEqual(pdus.at(-1), { kind: "submit_response", sequence: 100, status: 0, messageId: "99", bytes });
    }
  },
  "answers without a body have an empty id": async () => {
    const { pdus } = await readOver(
      Buffer.concat([
        pdu(ID.submitSm + 0x80000000, { sequence: 1, status: 0x58 }),
        pdu(ID.submitSm + 0x80000000, { sequence: 2 }),
        pdu(ID.submitSm + 0x80000000, { sequence: 3 }, Buffer.from("\0")),
      ]),
    );
    assert.deepEqual(
      pdus.map((read) => (read.kind === "submit_response" ? [read.status, read.messageId] : null)),
      [
        [0x58, ""],
        [0, ""],
        [0, ""],
      ],
    );
  },
  "a command that nobody knows is told apart, with its number": async () => {
    const { pdus } = await readOver(pdu(0x00010200, { sequence: 5 }, Buffer.from("abc")));
    assert.deepEqual(pdus, [{ kind: "unknown", sequence: 5, command: "0x00010200", isAnswer: false }]);
  },
};
