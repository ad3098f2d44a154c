// The list of emails by time, domain, category and subject, by cursors, and as a file.

import { expect, test } from "bun:test";
import { Database } from "bun:sqlite";
import { databaseFile } from "../../../src/platform/db/open.ts";
import { type Client, type Instance, startInstance } from "../../support/fakes/instance.ts";
import { expectErrors } from "../../support/api/kit.ts";
import { addPerson } from "../../support/people/member.ts";

const EMAILS = "/api/v1/emails";
const FILE = "/api/v1/emails.csv";

async function send(pombo: Instance, changes: Record<string, unknown>): Promise<string> {
  const { status, body } = await pombo.workspace.call("POST", EMAILS, { body: pombo.email(changes) });
  expect(status).toBe(202);
  return body.data.id as string;
}

async function list(client: Client, query: string) {
  const { status, body } = await client.call("GET", `${EMAILS}?${query}`);
  expect([query, status]).toEqual([query, 200]);
  return { subjects: body.data.map(({ subject }: { subject: string }) => subject) as string[], meta: body.meta };
}

async function startWithMail(): Promise<Instance> {
  const pombo = await startInstance({
    mx: { rcpt: (command) => (command.includes("gone") ? "550 5.1.1 No such user" : "250 Ok") },
  });
  await pombo.addDomain(pombo.workspace, "outra.test");
  await send(pombo, { subject: "O seu recibo" });
  await send(pombo, { subject: "ÚLTIMA promoção", from: "a@outra.test" });
  await send(pombo, { subject: "=1+1", to: "gone@example.com", tag: "receipt" });
  await pombo.mx.until(() => pombo.mx.messages.length === 2);
  await pombo.app.worker.idle();
  return pombo;
}

test("each filter narrows the list, alone and together", async () => {
  await using pombo = await startWithMail();
  const { workspace } = pombo;
  const all = await workspace.call("GET", EMAILS);
  const times = all.body.data.map(({ createdAt }: { createdAt: string }) => createdAt) as string[];
  const cases: [query: Record<string, string>, subjects: string[]][] = [
    [{ subject: "última PROMO" }, ["ÚLTIMA promoção"]],
    [{ subject: "%" }, []],
    [{ domain: "outra.test" }, ["ÚLTIMA promoção"]],
    [{ domain: "OUTRA.test" }, ["ÚLTIMA promoção"]],
    [{ domain: "nobody.test" }, []],
    [{ category: "invalid_recipient" }, ["=1+1"]],
    [{ category: "invalid_recipient", domain: "outra.test" }, []],
    [{ since: times.at(-1) ?? "", subject: "RECIBO" }, ["O seu recibo"]],
    [{ until: times.at(-1) ?? "" }, []],
    [{ since: "2999-01-01T00:00:00Z" }, []],
    [{ category: "policy", status: "bounced" }, []],
    [{ status: "bounced", since: "1970-01-02T00:00:00+02:00" }, ["=1+1"]],
  ];
  for (const [query, subjects] of cases) {
    const found = await list(workspace, new URLSearchParams(query).toString());
    expect([query, found.subjects]).toEqual([query, subjects]);
    expect(found.meta).toEqual({
      ...{ total: subjects.length, perPage: 20, page: 1, lastPage: 1, has_more: false, next_cursor: null },
    });
    const file = await workspace.call("GET", `${FILE}?${new URLSearchParams(query).toString()}`);
    expect([query, file.text.trimEnd().split("\r\n").length - 1]).toEqual([query, subjects.length]);
  }
  // As ever for those who ask for none of it.
  expect((await list(workspace, "")).meta).toEqual({ total: 3, perPage: 20, page: 1, lastPage: 1 });
});

test("cursors lead through all of it, with and without filters", async () => {
  await using pombo = await startWithMail();
  const { workspace } = pombo;
  const walk = async (query: string, first: string) => {
    const found: string[] = [];
    for (let cursor: string | null = first; cursor !== null;) {
      const page = await list(workspace, `${query}&limit=1${cursor === "" ? "" : `&cursor=${cursor}`}`);
      found.push(...page.subjects);
      cursor = page.meta.next_cursor as string | null;
      expect(page.meta.has_more).toBe(cursor !== null);
    }
    return found;
  };
  const all = ["=1+1", "ÚLTIMA promoção", "O seu recibo"];
  expect(await walk("", "start")).toEqual(all);
  expect(await walk("since=2000-01-01T00:00:00Z", "")).toEqual(all);
  expect(await walk("status=delivered", "start")).toEqual(all.slice(1));
  expectErrors(await workspace.call("GET", `${EMAILS}?cursor=x`), 422, [{ field: "cursor" }]);
  const other = (await workspace.call("GET", "/api/v1/domains?limit=1")).body.meta.next_cursor as string;
  expectErrors(await workspace.call("GET", `${EMAILS}?cursor=${other}`), 422, [{ field: "cursor" }]);
  for (const query of ["since=yesterday", "category=x", "subject=", "domain="])
    expectErrors(await workspace.call("GET", `${EMAILS}?${query}`), 422, [
      { field: query.slice(0, query.indexOf("=")) },
    ]);
});

test("the file has what a spreadsheet must not compute behind an apostrophe", async () => {
  await using pombo = await startWithMail();
  const { text, headers } = await pombo.workspace.call("GET", FILE);
  expect(headers.get("content-type")).toStartWith("text/csv");
  expect(headers.get("content-disposition")).toMatch(/^attachment; filename="emails-\d{4}-\d\d-\d\d\.csv"$/);
  const [head, first = "", ...others] = text.trimEnd().split("\r\n");
  expect(head).toBe("id,createdAt,status,from,to,subject,tag,sentAt,deliveredAt,category,failedReason");
  expect(first).toContain(",bounced,");
  expect(first).toContain(",gone@example.com,'=1+1,receipt,");
  expect(first).toContain(",invalid_recipient,");
  expect(others).toHaveLength(2);
});

test("a key of one domain gets that domain's, a stranger nothing, a viewer all", async () => {
  await using pombo = await startWithMail();
  const { workspace } = pombo;
  const domains = (await workspace.call("GET", "/api/v1/domains")).body.data as { id: string; domain: string }[];
  const domainId = domains.find(({ domain }) => domain === "outra.test")?.id;
  const { key } = (await workspace.call("POST", "/api/v1/auth/keys", { body: { name: "outra", domainId } })).body.data;
  const restricted: Client = {
    key,
    call: (method, path, options) => workspace.call(method, path, { ...options, key }),
  };
  const lines = async (answer: Promise<{ text: string }>) => (await answer).text.trimEnd().split("\r\n").length - 1;
  expect(await lines(restricted.call("GET", FILE))).toBe(1);
  expect((await list(restricted, "cursor=start")).subjects).toEqual(["ÚLTIMA promoção"]);
  expect((await list(restricted, "domain=loja.test")).subjects).toEqual([]);
  expect(await lines((await pombo.newWorkspace()).call("GET", FILE))).toBe(0);
  const viewer = addPerson(pombo, { role: "viewer" });
  expect((await viewer.act("GET", FILE)).status).toBe(200);
  expectErrors(await workspace.call("GET", FILE, { key: null }), 401, [{ code: "MISSING_API_KEY" }]);
});

const ROWS = 50_000;

/** So many rows that the file does not fit into what lies between server and client. */
function multiply({ directory }: Instance): void {
  using database = new Database(databaseFile(directory));
  database.run("PRAGMA busy_timeout = 5000");
  const numbers = `WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < ${ROWS})`;
  database.run(
    `INSERT INTO email (uid, workspace_id, domain_id, sender, sender_address, sender_domain, recipient, recipient_address,
       subject, return_path, created_at, status)
     ${numbers} SELECT 'copy ' || i, workspace_id, domain_id, sender, sender_address, sender_domain, recipient, recipient_address,
       printf('%0200d', i), return_path, created_at, 'delivered' FROM n, email WHERE subject = 'O seu recibo'`,
  );
  database.run(
    `INSERT INTO suppression (workspace_id, channel, address, reason, created_at)
     ${numbers} SELECT workspace_id, 'email', printf('%0200d@example.com', i), 'manual', created_at FROM n, email WHERE subject = 'O seu recibo'`,
  );
}

for (const path of [FILE, "/api/v1/suppressions.csv"]) {
  test(`${path} breaks off when its key is deleted, and is whole otherwise`, async () => {
    await using pombo = await startWithMail();
    multiply(pombo);
    const { workspace } = pombo;
    const read = async (headers: Record<string, string>, meanwhile: () => Promise<unknown>) => {
      const response = await fetch(pombo.app.url + path, { headers });
      expect(response.status).toBe(200);
      const reader = response.body?.getReader();
      if (reader === undefined) throw new Error("there is no body");
      let lines = 0;
      for (let isFirst = true; ; isFirst = false) {
        const { done, value } = await reader.read();
        if (done) return lines;
        if (isFirst) await meanwhile();
        lines += value.filter((byte: number) => byte === 10).length;
      }
    };
    expect(await read({ "x-api-key": workspace.key }, () => Promise.resolve())).toBeGreaterThan(ROWS);
    const made = await workspace.call("POST", "/api/v1/auth/keys", { body: { name: "short" } });
    const { id, key } = made.body.data;
    const broken = read({ "x-api-key": key }, () => workspace.call("DELETE", `/api/v1/auth/keys/${id}`)).catch(() => 0);
    expect(await broken).toBeLessThan(ROWS);
  });
}
