import { expect, test } from "bun:test";
import type { Delivery } from "../../support/peers/smsc/codec.ts";
import { waitUntil } from "../../support/peers/process.ts";
import { shiftedClock, startTexting, type TextWorld } from "../../support/texting/world.ts";

const SUBSCRIBER = "258841234567";

function text(body: string, change: Partial<Delivery> = {}): Delivery {
  return {
    command: "deliver_sm",
    from: SUBSCRIBER,
    to: "84000",
    esmClass: 0,
    dataCoding: 0,
    bytes: Buffer.from(body, "latin1").toString("hex"),
    isPayload: false,
    tlvs: [],
    ...change,
  };
}

/** A part with a header of eight bits. */
function part(seq: number, total: number, body: string): Delivery {
  const header = Buffer.from([5, 0, 3, 9, total, seq]);
  return text("", { esmClass: 0x40, bytes: Buffer.concat([header, Buffer.from(body, "latin1")]).toString("hex") });
}

/** Gives the workspace a number that can be answered. */
async function giveNumber({ instance }: TextWorld, workspaceId = instance.workspace.id): Promise<void> {
  const path = `/api/v1/operator/workspaces/${workspaceId}/sender-ids`;
  const answer = await instance.operator.call("POST", path, { body: { name: "84000" } });
  expect(answer.status).toBe(201);
}

async function received({ instance }: TextWorld, workspace = instance.workspace) {
  return (await workspace.call("GET", "/api/v1/sms/inbound")).body.data;
}

test("a text to a workspace's number is its, and is told of", async () => {
  await using world = await startTexting();
  await giveNumber(world);
  await world.smsc.deliver("loja", text("Bom dia"));
  await world.smsc.until({ acknowledged: 1 });
  expect(await received(world)).toMatchObject([{ from: "+258841234567", to: "84000", body: "Bom dia" }]);
  const types = world.instance.app.db.sqlite.query("SELECT type FROM event WHERE type = 'sms.received'").all();
  expect(types).toHaveLength(1);
});

test("parts in the opposite order, one of them twice, are one text", async () => {
  await using world = await startTexting();
  await giveNumber(world);
  await world.smsc.deliver("loja", part(3, 3, "tarde."), part(2, 3, "dia, boa "), part(2, 3, "dia, boa "));
  await world.smsc.until({ acknowledged: 3 });
  expect(await received(world)).toEqual([]);
  await world.smsc.deliver("loja", part(1, 3, "Bom "));
  await world.smsc.until({ acknowledged: 4 });
  expect(await received(world)).toMatchObject([{ body: "Bom dia, boa tarde." }]);
});

test("on a shared number a text is for who texted last, and a STOP for all who texted", async () => {
  const clock = shiftedClock();
  await using world = await startTexting({ instance: { clock } });
  const other = await world.instance.newWorkspace();
  await world.instance.enableSms(other);
  await giveNumber(world);
  await giveNumber(world, other.id);
  await world.text({ from: "84000" });
  clock.shift(1_000);
  await world.text({ from: "84000" }, other);
  await world.smsc.deliver("loja", text(" stóp "));
  await waitUntil("the text is there", 15_000, async () => (await received(world, other)).length === 1);
  expect(await received(world)).toEqual([]);
  for (const workspace of [world.instance.workspace, other]) {
    const list = await workspace.call("GET", "/api/v1/suppressions");
    expect(list.body.data).toMatchObject([{ address: "+258841234567", channel: "sms", reason: "opt_out" }]);
    const refused = await workspace.call("POST", "/api/v1/sms", { body: { to: "+258841234567", body: "x" } });
    expect(refused.text).toContain("RECIPIENT_SUPPRESSED");
  }
  await world.smsc.deliver("loja", text("SIM"));
  await waitUntil("the suppressions are lifted", 15_000, async () => {
    const list = await world.instance.workspace.call("GET", "/api/v1/suppressions");
    return list.body.data.length === 0;
  });
  await world.text({ from: "84000" });
});

test("a text to a number that is nobody's, or in no coding, is kept and acknowledged", async () => {
  await using world = await startTexting();
  await world.smsc.deliver("loja", text("olá"), text("", { dataCoding: 4, bytes: "0102ff" }));
  await world.smsc.until({ acknowledged: 2 });
  const rows = world.instance.app.db.sqlite.query("SELECT workspace_id, body FROM sms_inbound ORDER BY id").all();
  expect(rows).toEqual([
    { workspace_id: null, body: "olá" },
    { workspace_id: null, body: "" },
  ]);
  expect((await world.smsc.state()).counters.refused).toBe(0);
});
