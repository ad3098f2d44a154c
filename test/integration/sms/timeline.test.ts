import { describe, expect, test } from "bun:test";
import { startTexting, type TextWorld } from "../../support/texting/world.ts";

const TWO_SEGMENTS = "Um texto que vai em duas partes. ".repeat(6);

async function read(world: TextWorld, id: string): Promise<Record<string, unknown>[]> {
  const { status, body } = await world.instance.workspace.call("GET", `/api/v1/sms/${id}/events`);
  expect(status).toBe(200);
  const times = body.data.map(({ at }: { at: string }) => at);
  expect(times).toEqual(times.toSorted());
  return body.data;
}

describe("the timeline of an SMS", () => {
  test("that was delivered has each segment's submission, answer and receipt", async () => {
    await using world = await startTexting({ script: {} });
    const id = await world.text({ body: TWO_SEGMENTS });
    await world.until(id, ({ status }) => status === "delivered");
    const entries = await read(world, id);
    const types = (segment: number) => entries.filter((each) => each["segment"] === segment).map(({ type }) => type);
    for (const segment of [1, 2])
      expect(types(segment)).toEqual(["segment.submitted", "segment.accepted", "segment.receipt"]);
    expect(entries[0]).toMatchObject({ type: "sms.queued", reason: null });
    expect(entries.map(({ type }) => type)).toContain("sms.sent");
    expect(entries.at(-1)).toMatchObject({ type: "sms.delivered", reason: null });
    const receipt = entries.find(({ type, segment }) => type === "segment.receipt" && segment === 1);
    expect(receipt).toMatchObject({ receiptState: "delivered", providerStatus: "DELIVRD" });
    const accepted = entries.find(({ type, segment }) => type === "segment.accepted" && segment === 1);
    expect(accepted?.["providerId"]).toBe(
      (await world.instance.workspace.call("GET", `/api/v1/sms/${id}`)).body.data.providerId,
    );
  });

  test("that the provider refused says so, and why", async () => {
    await using world = await startTexting({ script: { rules: [{ answer: { status: 0x0b } }] } });
    const id = await world.text();
    const { failedReason } = await world.until(id, ({ status }) => status === "failed");
    expect(await read(world, id)).toMatchObject([
      { type: "sms.queued" },
      { type: "segment.submitted", segment: 1, attempt: 1 },
      { type: "segment.failed", segment: 1, providerStatus: expect.stringContaining("ESME_RINVDSTADR") },
      { type: "sms.failed", reason: failedReason },
    ]);
  });

  test("that waits for another attempt says when", async () => {
    await using world = await startTexting({ script: { rules: [{ answer: { status: 0x08 } }] } });
    const id = await world.text();
    await world.smsc.until({ submits: 1 });
    await world.until(id, () => world.segments()[0]?.state === "ready");
    const last = (await read(world, id)).at(-1);
    expect(last).toMatchObject({ type: "segment.deferred", segment: 1, attempt: 1 });
    expect(Date.parse(String(last?.["nextAttemptAt"]))).toBeGreaterThan(Date.parse(String(last?.["at"])));
  });

  test("whose response was lost says that it may have been delivered", async () => {
    await using world = await startTexting({
      script: { rules: [{ count: 1, answer: { kind: "none", receipt: { states: [] } } }] },
      route: { onLostResponse: "hold" },
    });
    const id = await world.text();
    await world.smsc.until({ submits: 1 });
    await world.smsc.tell("drop", { how: "rst" });
    await world.until(id, () => world.segments().every(({ state }) => state === "unknown"));
    expect((await read(world, id)).at(-1)).toMatchObject({
      type: "segment.uncertain",
      reason: expect.stringContaining("may have been delivered"),
    });
  });
});
