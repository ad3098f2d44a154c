// Kannel as an ESME at our simulator: that it binds there, sends, understands receipts and is understood proves the
// simulator, which all tests of texts rely on; and what it sends is what our PDUs are compared with.

import { ID, type Delivery } from "../../support/peers/smsc/codec.ts";
import { startSmsc, type SmscHandle } from "../../support/peers/smsc/client.ts";
import { GOLDEN, withoutNumbers } from "../../support/peers/golden.ts";
import { startKannel, type Kannel } from "../../support/peers/kannel.ts";
import type { Cleanup } from "../../support/peers/process.ts";
import type { Checks } from "./checks.ts";

const SYSTEM_ID = "kannel";
/** Bits of Kannel's dlr-mask. */
const REPORT = { delivered: 1, failed: 2, taken: 8, refused: 16 };
const FAILING = "258849999999";
const REFUSED = "258848888888";

export async function checkKannel(options: { folder: string; checks: Checks; cleanup: Cleanup }): Promise<void> {
  const { folder, checks, cleanup } = options;
  await using smsc = await startSmsc({
    script: {
      ids: "hex",
      receipts: { ids: "padded", tlvs: [] },
      rules: [
        { to: FAILING, answer: { receipt: { states: ["UNDELIV"], err: "069" } } },
        { to: REFUSED, answer: { status: 0x0b } },
      ],
    },
  });
  const kannel = await startKannel({ folder, smscPort: smsc.port, cleanup });
  await smsc.until({ bound: 1 });
  const { connections } = await smsc.state();
  const expected = [[SYSTEM_ID, "bind_transceiver"]];
  checks.equal(
    "Kannel: binds at our simulator",
    connections.map(({ systemId, command }) => [systemId, command]),
    expected,
  );
  await checkSending(kannel, smsc, checks);
  await checkReports(kannel, checks);
  await checkReceiving(kannel, smsc, checks);
  await smsc.tell("enquire", { times: 2 });
  await smsc.until({ enquires: 1, enquireAnswers: 2 });
  checks.claim("Kannel: it and our simulator ask each other whether they are there", true);
  await kannel.stop();
  await smsc.until({ unbinds: 1, closed: 1 });
  const { faults, nacks, refused } = (await smsc.state()).counters;
  checks.equal("Kannel: neither found a fault in the other", { faults, nacks, refused }, NONE);
}

const NONE = { faults: 0, nacks: 0, refused: 0 };

async function checkSending(kannel: Kannel, smsc: SmscHandle, checks: Checks): Promise<void> {
  for (const { from, to, body, isUcs2 } of GOLDEN) await kannel.send({ from, to, text: body, isUcs2 });
  const wanted = GOLDEN.flatMap(({ pdus }) => pdus).map(withoutNumbers);
  await smsc.until({ submits: wanted.length });
  const submits = (await smsc.journal()).filter(({ direction, what }) => {
    return direction === "<" && Number.parseInt(what.slice(8, 16), 16) === ID.submitSm;
  });
  const sent = new Set(submits.map(({ what }) => withoutNumbers(what)));
  const missing = wanted.filter((pdu) => !sent.has(pdu));
  checks.equal("Kannel: its PDUs are those that ours are compared with", missing, []);
  for (const to of [FAILING, REFUSED]) await kannel.send({ from: "Loja", to: `+${to}`, text: "Olá", isUcs2: false });
}

async function checkReports(kannel: Kannel, checks: Checks): Promise<void> {
  const countForWorkspace = (kind: number) => kannel.reports().filter((report) => report.kind === kind).length;
  await kannel.until("Kannel's reports", () => {
    const [delivered, others] = [
      countForWorkspace(REPORT.delivered),
      countForWorkspace(REPORT.failed) + countForWorkspace(REPORT.refused),
    ];
    // They are calls side by side: that a text was taken may be told after its receipt.
    return delivered === GOLDEN.length && others === 2 && countForWorkspace(REPORT.taken) > GOLDEN.length;
  });
  checks.equal("Kannel: takes our simulator's answers", countForWorkspace(REPORT.taken), GOLDEN.length + 1);
  const [failed] = kannel.reports().filter(({ kind }) => kind === REPORT.failed);
  checks.equal("Kannel: finds the text of a failure's receipt", failed?.to, `+${FAILING}`);
  const [refused] = kannel.reports().filter(({ kind }) => kind === REPORT.refused);
  checks.equal("Kannel: finds the text of a refusal", refused?.to, `+${REFUSED}`);
}

async function checkReceiving(kannel: Kannel, smsc: SmscHandle, checks: Checks): Promise<void> {
  const plain = "Bom dia, 5 euros";
  const wide = "Não há 🎉";
  const halves = ["Uma de duas, ", "e a outra."];
  await smsc.deliver(SYSTEM_ID, delivery(0, Buffer.from(plain, "latin1")));
  await smsc.deliver(SYSTEM_ID, delivery(8, Buffer.from(wide, "utf16le").swap16()));
  const parts = halves.map((half, index) => {
    return delivery(0, Buffer.concat([Buffer.from([5, 0, 3, 7, 2, index + 1]), Buffer.from(half)]), 0x40);
  });
  await smsc.deliver(SYSTEM_ID, ...parts);
  await kannel.until("texts at Kannel", () => kannel.received().length === 3);
  const texts = kannel.received().map(({ text }) => text);
  checks.equal(
    "Kannel: reads what our simulator delivers",
    texts.toSorted(),
    [plain, wide, halves.join("")].toSorted(),
  );
}

function delivery(dataCoding: number, bytes: Buffer, esmClass = 0): Delivery {
  const [from, to] = ["258841234567", "84000"];
  const rest = { isPayload: false, tlvs: [], bytes: bytes.toString("hex") };
  return { command: "deliver_sm", from, to, esmClass, dataCoding, ...rest };
}
