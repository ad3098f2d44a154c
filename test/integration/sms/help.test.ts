import { expect, test } from "bun:test";
import type { Json } from "../../support/fakes/instance.ts";
import { waitUntil } from "../../support/peers/process.ts";
import { shiftedClock, startTexting, type TextWorld, type TextWorldOptions } from "../../support/texting/world.ts";

const SUBSCRIBER = "258841234567";
const HELP = "Loja Maria: ligue 84000. PARAR para sair.";
const DAY_MS = 86_400_000;

async function startHelping(helpText: string | null = HELP, options: TextWorldOptions = {}): Promise<TextWorld> {
  const world = await startTexting({ ...options, configure: (config) => void (config.sms.helpText = helpText) });
  const path = `/api/v1/operator/workspaces/${world.instance.workspace.id}/sender-ids`;
  await world.instance.operator.call("POST", path, { body: { name: "84000" } });
  return world;
}

async function write(world: TextWorld, body: string, from = SUBSCRIBER): Promise<void> {
  const { acknowledged } = (await world.smsc.state()).counters;
  const bytes = Buffer.from(body, "latin1").toString("hex");
  const rest = { esmClass: 0, dataCoding: 0, isPayload: false, tlvs: [] };
  await world.smsc.deliver("loja", { command: "deliver_sm", from, to: "84000", bytes, ...rest });
  await world.smsc.until({ acknowledged: acknowledged + 1 });
}

async function sent({ instance }: TextWorld): Promise<Json[]> {
  return (await instance.workspace.call("GET", "/api/v1/sms")).body.data;
}

test("HELP is answered from the number that it was written to, as a text of its workspace, which pays", async () => {
  await using world = await startHelping();
  await write(world, " ajuda ");
  const [answer, ...others] = await sent(world);
  expect(others).toEqual([]);
  expect(answer).toMatchObject({ to: `+${SUBSCRIBER}`, from: "84000", body: HELP, credits: 1 });
  await world.until(answer.id, ({ status }) => status === "delivered");
  const { body } = await world.instance.operator.call(
    "GET",
    `/api/v1/operator/workspaces/${world.instance.workspace.id}`,
  );
  expect(body.data).toMatchObject({ smsCredits: 99_999, usage: { smsThisMonth: 1 } });
  expect(world.instance.bugs).toEqual([]);
});

test("HELP is answered once a day and subscriber", async () => {
  const clock = shiftedClock();
  await using world = await startHelping(HELP, { instance: { clock } });
  await write(world, "HELP");
  await write(world, "HELP");
  expect(await sent(world)).toHaveLength(1);
  await write(world, "HELP", "258847654321");
  expect(await sent(world)).toHaveLength(2);
  clock.shift(DAY_MS + 1_000);
  await write(world, "HELP");
  expect(await sent(world)).toHaveLength(3);
});

test("who opted out is helped all the same, and stays opted out", async () => {
  await using world = await startHelping();
  await write(world, "PARAR");
  await write(world, "HELP");
  const [answer] = await sent(world);
  await world.until(answer.id, ({ status }) => status === "delivered");
  const list = await world.instance.workspace.call("GET", "/api/v1/suppressions");
  expect(list.body.data).toMatchObject([{ address: `+${SUBSCRIBER}`, reason: "opt_out" }]);
});

test("HELP is not answered without a text, to no subscriber, by a blocked workspace or one without credits", async () => {
  await using silent = await startHelping(null);
  await write(silent, "HELP");
  expect(await sent(silent)).toEqual([]);
  await using world = await startHelping();
  await write(world, "HELP", "12345");
  const path = `/api/v1/operator/workspaces/${world.instance.workspace.id}`;
  await world.instance.operator.call("POST", `${path}/block`, { body: {} });
  await write(world, "HELP");
  await world.instance.operator.call("POST", `${path}/unblock`, {});
  await world.instance.operator.call("POST", `${path}/credits`, { body: { amount: -100_000 } });
  await write(world, "HELP");
  expect(await sent(world)).toEqual([]);
  await waitUntil("it is logged", 15_000, () =>
    Promise.resolve(world.instance.events.filter(({ name }) => name === "sms.help_unanswered").length === 2),
  );
  // All of them were kept.
  expect((await world.instance.workspace.call("GET", "/api/v1/sms/inbound")).body.data).toHaveLength(3);
});
