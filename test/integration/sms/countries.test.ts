// Numbers of other countries: which are taken, and what SMSCs that leave the country code out write of them.

import { expect, test } from "bun:test";
import type { Json } from "../../support/fakes/instance.ts";
import { startTexting, type TextWorld } from "../../support/texting/world.ts";

const PORTUGAL = "3519xxxxxxxx";
const BRAZIL = "55xx9xxxxxxxx";
const MARIA = "+351912345678";

function startWith(prefixes: string[], helpText: string | null = null): Promise<TextWorld> {
  return startTexting({
    configure(config) {
      config.sms.prefixes = prefixes;
      config.sms.helpText = helpText;
    },
  });
}

async function deliver(world: TextWorld, from: string, body: string, esmClass = 0): Promise<void> {
  const { acknowledged } = (await world.smsc.state()).counters;
  const bytes = Buffer.from(body, "latin1").toString("hex");
  const rest = { to: "84000", dataCoding: 0, isPayload: false, tlvs: [] };
  await world.smsc.deliver("loja", { command: "deliver_sm", from, bytes, esmClass, ...rest });
  await world.smsc.until({ acknowledged: acknowledged + 1 });
}

const delivered = ({ status }: Json) => status === "delivered";

test("of two countries both are delivered, and what is of neither is refused with what can be texted", async () => {
  await using world = await startWith([PORTUGAL, BRAZIL]);
  for (const to of [MARIA, "+5511987654321"]) {
    const id = await world.text({ to });
    expect(await world.until(id, delivered)).toMatchObject({ to, providerStatus: "DELIVRD", credits: 1 });
  }
  const journal = (await world.smsc.journal()).map(({ what }) => what);
  // As the wire has them: TON and NPI 1, no plus.
  for (const digits of ["351912345678", "5511987654321"])
    expect(journal.filter((pdu) => pdu.includes(`0101${Buffer.from(`${digits}\0`).toString("hex")}`))).not.toBeEmpty();
  for (const [to, hint] of [
    [
      "+258841234567",
      "This instance sends no SMS to numbers that begin so; it sends to +3519, +55xx9 (x: any digit). The operator sets them with [sms] prefixes (in the sandbox: pombo dev --prefixes).",
    ],
    ["+35191234567", "It has 11 digits behind the +; such a number has 12."],
    ["912345678", `Write + and the country code at its beginning: ${MARIA}.`],
  ]) {
    const { status, body } = await world.instance.workspace.call("POST", "/api/v1/sms", { body: { to, body: "Olá" } });
    const message =
      "to must be a mobile number in E.164 that begins with +3519, +55xx9 (x: any digit), like +351912345678";
    expect([status, body.errors]).toEqual([422, [{ code: "VALIDATION_ERROR", message, field: "to", hint }]]);
  }
  const document = JSON.stringify((await world.instance.workspace.call("GET", "/api/v1/openapi.json")).body);
  expect(document).toContain(JSON.stringify(String.raw`^\+(?:3519\d{8}|55\d{2}9\d{8})$`));
  // Its examples can be sent, and an error says the same there.
  expect(document).toContain(JSON.stringify({ to: MARIA, body: "O seu código é 482913." }));
  expect(document).toContain(`{\\"to\\": \\"${MARIA}\\"`);
  expect(document).toContain("to must be a mobile number in E.164 that begins with +3519");
  expect(document).not.toContain("+258841234567");
});

test("a receipt finds its message where the SMSC leaves the country code out", async () => {
  await using world = await startWith([PORTUGAL, BRAZIL]);
  await world.smsc.script({ receipts: { states: [] } });
  for (const [to, national] of [
    [MARIA, "912345678"],
    ["+5511987654321", "011987654321"],
  ] as const) {
    const id = await world.text({ to });
    const { providerId } = await world.until(id, ({ status }) => status === "sent");
    const other = national.replace(/\d$/, "0");
    await deliver(world, other, `id:${providerId} stat:UNDELIV err:001`, 4);
    await deliver(world, national, `id:${providerId} stat:DELIVRD err:000`, 4);
    await world.until(id, delivered);
  }
});

test("STOP and HELP from a national number are its subscriber's", async () => {
  await using world = await startWith([PORTUGAL, BRAZIL], "Loja Maria");
  const { instance } = world;
  const path = `/api/v1/operator/workspaces/${instance.workspace.id}/sender-ids`;
  await instance.operator.call("POST", path, { body: { name: "84000" } });
  await deliver(world, "912345678", "HELP");
  const [answer] = (await instance.workspace.call("GET", "/api/v1/sms")).body.data as Json[];
  expect(answer).toMatchObject({ to: MARIA, from: "84000", body: "Loja Maria" });
  await deliver(world, "912345678", "STOP");
  const refused = await instance.workspace.call("POST", "/api/v1/sms", { body: { to: MARIA, body: "Promoção" } });
  expect([refused.status, refused.body.errors[0].code]).toEqual([422, "RECIPIENT_SUPPRESSED"]);
  const inbound = (await instance.workspace.call("GET", "/api/v1/sms/inbound")).body.data as Json[];
  expect(inbound.map(({ from }) => from)).toEqual([MARIA, MARIA]);
});
