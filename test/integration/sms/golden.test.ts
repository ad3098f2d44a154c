import { expect, test } from "bun:test";
import { GOLDEN, withoutNumbers } from "../../support/peers/golden.ts";
import { type Message, readMessage, TAG } from "../../support/peers/smsc/codec.ts";
import { startTexting } from "../../support/texting/world.ts";

// Bytes against Kannel's for the same texts, recorded; the interoperability run holds the recording against Kannel.

/** Kannel's habits, every one of which is a setting of a route. */
const LIKE_KANNEL = {
  esmClass: 3,
  intermediateReceipts: true,
  validity: "omit",
  userMessageReference: false,
  moreMessages: true,
  shortCodeTonNpi: { ton: 2, npi: 1 },
} as const;

test("our submits are Kannel's to the octet, but for what is said of the parts after the first", async () => {
  await using world = await startTexting({ route: LIKE_KANNEL });
  await sendAll(world);
  const ours = await submits(world);
  for (const { name, to, pdus } of GOLDEN) {
    const own = ours.filter((pdu) => `+${fields(pdu).destination}` === to);
    const [first, ...rest] = pdus;
    expect([name, withoutNumbers(own[0] ?? "")]).toEqual([name, withoutNumbers(first ?? "")]);
    // A receipt for every part is asked for, where Kannel asks for the first one's; and the last part says that
    // it is the last, where Kannel says nothing.
    expect(own.slice(1).map(fields)).toEqual(
      rest.map((pdu) => ({ ...fields(pdu), registeredDelivery: 0x11, tlvs: [{ tag: TAG.moreMessages, value: "00" }] })),
    );
  }
});

test("a route's defaults differ from Kannel's habits in six fields and no other", async () => {
  await using world = await startTexting();
  await sendAll(world);
  const ours = await submits(world);
  const differing = new Map<string, Set<string>>();
  for (const { to, pdus } of GOLDEN) {
    const own = ours.map(fields).filter(({ destination }) => `+${destination}` === to);
    expect(own).toHaveLength(pdus.length);
    for (const [index, pdu] of pdus.entries()) {
      const theirs = fields(pdu);
      for (const key of Object.keys(theirs) as (keyof typeof theirs)[]) {
        if (Bun.deepEquals(theirs[key], own[index]?.[key])) continue;
        differing.set(key, (differing.get(key) ?? new Set()).add(`${show(theirs[key])} → ${show(own[index]?.[key])}`));
      }
    }
  }
  const { validity, tlvs, ...others } = Object.fromEntries([...differing].map(([key, values]) => [key, [...values]]));
  expect(others).toEqual({
    esmClass: ["3 → 0", "67 → 64"],
    registeredDelivery: ["17 → 1", "0 → 1"],
    sourceTon: ["2 → 3"],
    sourceNpi: ["1 → 0"],
  });
  // What is left of a day; and our reference in place of more_messages_to_send.
  expect(validity?.every((each) => /^"" → "00000[01]\d{6}000R"$/.test(each))).toBe(true);
  expect(tlvs?.every((each) => /→ \[\{"tag":516,"value":"[\da-f]{4}"\}\]$/.test(each))).toBe(true);
});

function show(value: unknown): string {
  return JSON.stringify(value);
}

async function sendAll(world: Awaited<ReturnType<typeof startTexting>>): Promise<void> {
  const { operator, workspace } = world.instance;
  for (const name of new Set(GOLDEN.map(({ from }) => from))) {
    await operator.call("POST", `/api/v1/operator/workspaces/${workspace.id}/sender-ids`, { body: { name } });
  }
  for (const { from, to, body } of GOLDEN) await world.text({ from, to, body });
  await world.smsc.until({ submits: GOLDEN.flatMap(({ pdus }) => pdus).length });
}

async function submits({ smsc }: Awaited<ReturnType<typeof startTexting>>): Promise<string[]> {
  const noted = await smsc.journal();
  return noted
    .filter(({ direction, what }) => direction === "<" && what.startsWith("00000004", 8))
    .map(({ what }) => what);
}

/** With bytes as hexadecimal, and without the numbers that every text has of its own. */
function fields(pdu: string): Omit<Message, "shortMessage" | "tlvs"> & {
  shortMessage: string;
  tlvs: { tag: number; value: string }[];
} {
  const message = readMessage(Buffer.from(withoutNumbers(pdu), "hex"));
  return {
    ...message,
    shortMessage: message.shortMessage.toString("hex"),
    tlvs: message.tlvs.map(({ tag, value }) => ({ tag, value: value.toString("hex") })),
  };
}
