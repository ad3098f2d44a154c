import { expect, test } from "bun:test";
import { erase, ERASED, exported, findLeft, PERSON, readAll, startTold } from "../../support/api/erased.ts";
import type { Json } from "../../support/fakes/instance.ts";
import { LATER, recordOf, totalsOf } from "../../support/api/one-email.ts";
import { startReceiver } from "../../support/fakes/receiver.ts";

// Erasing one of several recipients of an email.

const EMAILS = "/api/v1/emails";
const HOUR = 60 * 60_000;

test("the others keep content and header without the person, whose name and address are in no byte of the files", async () => {
  await using receiver = startReceiver();
  const reply = (line: string) => (line.includes("joao") ? LATER : "250 Ok");
  await using held = await startTold(receiver, { rcpt: reply });
  const { pombo } = held;
  const body = pombo.email({
    to: ["Zq.Person da Silva <Zq.Person@Example.com>", "joao@example.com"],
    bcc: "contas@example.com",
    metadata: { order: "4711" },
  });
  const headers = { "idempotency-key": "once" };
  const sent = await pombo.workspace.call("POST", EMAILS, { body, headers });
  await pombo.app.worker.idle();
  await receiver.until(() => receiver.calls.filter(({ event }) => event.type === "email.delivered").length === 2);
  await pombo.app.webhooks.worker.idle();
  const ids: string[] = sent.body.data.recipients.map(({ id }: Json) => id);
  const [first = "", joao = ""] = ids;
  expect(await readAll(pombo, ids)).toContain("Zq.Person da Silva");
  // The addresses of others are theirs, a blind copy's most of all.
  const [item] = await exported(pombo);
  expect(item.email).toMatchObject({ to: "Zq.Person@example.com", recipients: null });
  expect(JSON.stringify(item)).not.toContain("contas@");

  expect(await erase(pombo)).toMatchObject({ complete: true, emails: 1, canceledEmails: 0 });
  expect(await readAll(pombo, ids)).not.toMatch(/Zq\.Person/i);
  expect(await recordOf(pombo, first)).toMatchObject({
    ...{ to: ERASED, toName: null, text: null, metadata: null, status: "delivered" },
  });
  expect(await recordOf(pombo, joao)).toMatchObject({ text: "Bom dia", metadata: { order: "4711" }, groupId: first });
  const again = await pombo.workspace.call("POST", EMAILS, { body, headers });
  expect(again.body.data.recipients).toMatchObject([{ id: first, address: ERASED }, { id: joao }, { id: ids[2] }]);

  pombo.mx.script = {};
  await held.advance(HOUR);
  await pombo.mx.until(() => pombo.mx.messages.length === 3);
  await pombo.app.worker.idle();
  const late = pombo.mx.messages.at(-1)?.content.toString() ?? "";
  expect(late).toContain("\r\nTo: joao@example.com\r\n");
  expect(late).toContain("Bom dia");
  const { kept, counted } = totalsOf(pombo);
  expect(kept).toEqual(counted);
  expect(await findLeft(held)).toEqual([]);
  expect(pombo.bugs).toEqual([]);
});

test("alone, its metadata, header fields and own way to unsubscribe go too, also from the events", async () => {
  await using receiver = startReceiver();
  await using held = await startTold(receiver);
  const { pombo } = held;
  const sent = await pombo.workspace.call("POST", EMAILS, {
    body: pombo.email({
      ...{ to: `Zq.Person <${PERSON}>`, metadata: { note: "ContentOfZq" }, headers: { "X-Note": "SubjectOfZq" } },
      unsubscribe: { url: "https://loja.test/?to=zq.person", mailto: "zq.person@loja.test" },
    }),
  });
  await receiver.until(() => receiver.calls.some(({ event }) => event.type === "email.delivered"));
  await pombo.app.webhooks.worker.idle();
  expect(await recordOf(pombo, sent.body.data.id)).toMatchObject({ metadata: { note: "ContentOfZq" } });
  await erase(pombo);
  const nothing = { metadata: null, headers: null, toName: null, unsubscribe: null };
  expect(await recordOf(pombo, sent.body.data.id)).toMatchObject(nothing);
  expect(await findLeft(held)).toEqual([]);
});
