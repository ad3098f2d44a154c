// Suppressions for one list: made, shown, imported, lifted and erased beside those for all mail.

import { expect, test } from "bun:test";
import { erase, findLeft, PERSON, startTold } from "../../support/api/erased.ts";
import { errorItems, expectErrors } from "../../support/api/kit.ts";
import { type Client, type Instance, startInstance } from "../../support/fakes/instance.ts";
import { startReceiver } from "../../support/fakes/receiver.ts";

const SUPPRESSIONS = "/api/v1/suppressions";
const add = (client: Client, body: unknown) => client.call("POST", SUPPRESSIONS, { body });
const lift = (client: Client, query = "") => client.call("DELETE", `${SUPPRESSIONS}/maria%40example.com${query}`);

async function rowsOf({ workspace }: Instance): Promise<string[]> {
  const { body } = await workspace.call("GET", SUPPRESSIONS);
  return body.data.map(({ address, reason, list }: Record<string, string>) => `${address} ${reason} ${list}`);
}

test("an address has a suppression for each list and one for all mail, and each is lifted by itself", async () => {
  await using pombo = await startInstance();
  const made = [
    await add(pombo.workspace, { address: "Maria@example.com", list: "news" }),
    await add(pombo.workspace, { address: "maria@example.com", list: "offers", reason: "unsubscribe" }),
    await add(pombo.workspace, { address: "maria@example.com" }),
    await add(pombo.workspace, { address: "maria@example.com", list: "news", reason: "unsubscribe" }),
  ];
  expect(made.map(({ status }) => status)).toEqual([201, 201, 201, 200]);
  expect(made.map(({ body }) => body.data.list)).toEqual(["news", "offers", null, "news"]);
  const [news, offers, all] = [
    "maria@example.com manual news",
    "maria@example.com unsubscribe offers",
    "maria@example.com manual null",
  ] as const;
  expect(await rowsOf(pombo)).toEqual([all, offers, news]);
  expect((await lift(pombo.workspace)).status).toBe(200);
  expect(await rowsOf(pombo)).toEqual([offers, news]);
  const none = await lift(pombo.workspace);
  expectErrors(none, 404, [{ code: "NOT_FOUND", message: "not suppressed in this workspace for all messages" }]);
  expect(errorItems(none)[0]?.hint).toContain("for which list");
  expectErrors(await lift(pombo.workspace, "?list=News"), 404, [{ code: "NOT_FOUND", message: "for the list News" }]);
  expect((await lift(pombo.workspace, "?list=news&channel=sms")).status).toBe(404);
  expect((await lift(pombo.workspace, "?list=news&channel=email")).status).toBe(200);
  expect((await lift(pombo.workspace, "?list=offers")).status).toBe(200);
  expect(await rowsOf(pombo)).toEqual([]);
});

const WRONG: [body: Record<string, unknown>, field: string, message: string][] = [
  ...["", "a b", "ä", "a/b", "x".repeat(65), "news\n", "a'b", "<b>"].map(
    (list): [Record<string, unknown>, string, string] => [{ list }, "list", "list must"],
  ),
  [{ list: 1 }, "list", "must be a string"],
  [{ list: ["news"] }, "list", "must be a string"],
  [{ list: "news", reason: "complaint" }, "reason", "must be unsubscribe or manual with a list"],
  [{ list: "news", reason: "hard_bounce" }, "reason", "must be unsubscribe or manual with a list"],
  [{ list: "news", address: "+258841234567" }, "list", "is only for email"],
  [{ address: "+258841234567", reason: "unsubscribe" }, "reason", "on the channel sms"],
];

test("a name that is none, and a list where there can be none, are refused by name", async () => {
  await using pombo = await startInstance();
  for (const [body, field, message] of WRONG) {
    const answer = await add(pombo.workspace, { address: "maria@example.com", ...body });
    expectErrors(answer, 422, [{ field, message }]);
  }
  expectErrors(await lift(pombo.workspace, "?list=a%20b"), 422, [{ field: "list", message: "list must" }]);
  expectErrors(await lift(pombo.workspace, "?list="), 422, [{ field: "list", message: "must not be empty" }]);
  expect(await rowsOf(pombo)).toEqual([]);
});

test("the operator imports and lists them, and a message's trace shows them", async () => {
  await using pombo = await startInstance();
  const path = `/api/v1/operator/workspaces/${pombo.workspace.id}/suppressions`;
  const suppressions = [
    { address: "maria@example.com", list: "news", reason: "unsubscribe" },
    { address: "maria@example.com", list: "offers" },
    { address: "joao@example.com", list: null },
    { address: "maria@example.com", list: "news" },
  ];
  const imported = await pombo.operator.call("POST", `${path}/import`, { body: { suppressions } });
  expect(imported.body).toEqual({ data: { imported: 3, alreadyThere: 1 } });
  const refused = await pombo.operator.call("POST", `${path}/import`, {
    body: { suppressions: [suppressions[0], { address: "a@example.com", list: "a b" }] },
  });
  expectErrors(refused, 422, [{ field: "list", path: "suppressions[1].list" }]);
  const listed = await pombo.operator.call("GET", path);
  expect(listed.body.data.map(({ list }: { list: string }) => list)).toEqual([null, "offers", "news"]);
  const sent = await pombo.workspace.call("POST", "/api/v1/emails", { body: pombo.email() });
  expect(sent.status).toBe(202);
  const traced = await pombo.operator.call("GET", `/api/v1/operator/trace/${sent.body.data.id}`);
  expect(traced.body.data.suppressions.map(({ list }: { list: string }) => list).toSorted()).toEqual([
    "news",
    "offers",
  ]);
});

test("events of them name the list, and an erasure leaves them as hashes that hold and are lifted by the address", async () => {
  await using receiver = startReceiver();
  await using held = await startTold(receiver);
  const { pombo } = held;
  const { workspace } = pombo;
  await add(workspace, { address: PERSON, list: "news", reason: "unsubscribe" });
  await receiver.until(() => receiver.calls.some(({ event }) => event.type === "suppression.created"));
  const [created] = receiver.calls.filter(({ event }) => event.type === "suppression.created");
  expect(created?.event.data).toMatchObject({ reason: "unsubscribe", list: "news" });
  await add(workspace, { address: PERSON });
  await pombo.app.webhooks.worker.idle();
  expect((await erase(pombo)).suppressions).toBe(2);
  expect(await findLeft(held)).toEqual([]);
  expect(await rowsOf(pombo)).toEqual(["erased@erased.invalid manual null", "erased@erased.invalid unsubscribe news"]);
  const again = await add(workspace, { address: PERSON, list: "news" });
  expect([again.status, again.body.data.reason]).toEqual([200, "unsubscribe"]);
  const lifted = `${SUPPRESSIONS}/${encodeURIComponent(PERSON)}`;
  expect((await workspace.call("DELETE", lifted)).status).toBe(200);
  expect((await workspace.call("DELETE", `${lifted}?list=news`)).status).toBe(200);
  expect(await rowsOf(pombo)).toEqual([]);
});
