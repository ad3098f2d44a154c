import { expect, test } from "bun:test";
import type { Json } from "../../support/fakes/instance.ts";
import { startDesk } from "../../support/cli/kit.ts";

const WORKSPACE = "01a1fd60-a478-7fc3-8fd7-7499a9ff2c17";
const DONE: Json = {
  ...{ erasedAt: "2026-11-21T12:00:00.000Z", complete: true, emails: 20, canceledEmails: 3, sms: 0, canceledSms: 0 },
  ...{ inFlight: 1, inboundSms: 0, events: 40, webhookCalls: 7, suppressions: 1, inboxMails: 2 },
};

test("a recipient is forgotten everywhere, however many requests that takes; the receipt adds them up", async () => {
  let left = 3;
  await using desk = startDesk(() => ({ data: { ...DONE, complete: --left === 0 } }));
  const said = await desk.run(["forget", "ana+x@example.com"]);
  expect(desk.asked.map(({ line }) => line)).toEqual(
    Array.from({ length: 3 }, () => "DELETE /operator/recipients/ana%2Bx%40example.com"),
  );
  expect([said.code, said.err]).toEqual([0, ""]);
  expect(said.out).toStartWith("ana+x@example.com is erased, at 2026-11-21T12:00:00.000Z:\n");
  for (const line of [/^ *Emails +60$/m, /^ *Events +120$/m, /^ *Suppressions +3$/m, /^ *Inbox +6$/m])
    expect(said.out).toMatch(line);
  expect(said.out).toContain("What is in flight ends with its attempt");
});

test("only one workspace's, by its name; a fault is the API's", async () => {
  await using desk = startDesk(({ line }) =>
    line.startsWith("GET /operator/workspaces")
      ? { data: [{ id: WORKSPACE, name: "Loja" }], meta: { has_more: false, next_cursor: null } }
      : line.includes("%2B258841234567")
        ? { data: { ...DONE, inFlight: 0 } }
        : { status: 422, errors: [{ message: "address is no address", code: "VALIDATION_ERROR" }] },
  );
  const said = await desk.run(["forget", "+258841234567", "--workspace", "Loja", "--json"]);
  expect(desk.asked.at(-1)?.line).toBe(`DELETE /operator/recipients/%2B258841234567?workspace=${WORKSPACE}`);
  expect([said.code, JSON.parse(said.out)]).toEqual([0, { ...DONE, inFlight: 0 }]);
  const refused = await desk.run(["forget", "x"]);
  expect([refused.code, refused.err]).toEqual([1, expect.stringContaining("address is no address")]);
});

test("of somebody unknown it is said that nothing is stored, since the address may be mistyped", async () => {
  const counts = Object.fromEntries(Object.keys(DONE).map((name) => [name, 0]));
  await using desk = startDesk(({ line }) =>
    line.startsWith("GET /operator/workspaces")
      ? { data: [{ id: WORKSPACE, name: "Loja" }], meta: { has_more: false, next_cursor: null } }
      : { data: { ...counts, erasedAt: DONE["erasedAt"], complete: true } },
  );
  expect((await desk.run(["forget", "anna@example.com"])).out).toBe("Nothing is stored about anna@example.com.\n");
  expect((await desk.run(["forget", "anna@example.com", "--workspace", "Loja"])).out).toBe(
    "Nothing is stored about anna@example.com in workspace Loja.\n",
  );
});

test("on a terminal it asks, unless --yes is given", async () => {
  await using desk = startDesk(() => ({ data: DONE }));
  const refused = await desk.run(["forget", "ana@example.com"], { isInteractive: true, input: "no\n" });
  expect([refused.code, desk.asked]).toEqual([2, []]);
  expect(refused.err).toContain("This erases ana@example.com in all workspaces for good");
  expect(refused.err).toContain("Nothing was erased.");
  expect((await desk.run(["forget", "ana@example.com"], { isInteractive: true, input: "yes\n" })).code).toBe(0);
  expect((await desk.run(["forget", "ana@example.com", "--yes"], { isInteractive: true })).err).toBe("");
  expect(desk.asked).toHaveLength(2);
});
