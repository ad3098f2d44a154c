import type { Database } from "bun:sqlite";
import { expect, test } from "bun:test";
import { startInstance } from "../../support/fakes/instance.ts";
import { UUID_V7 } from "../../support/api/kit.ts";

// An email without groups, extras and attachments costs what it cost before there were any.

/** The statements that run from now on; those that were prepared before are not seen. */
function watchStatements(sqlite: Database): string[] {
  const seen: string[] = [];
  const prepare = sqlite.prepare.bind(sqlite);
  const watched = (text: string, ...rest: never[]) => {
    const statement = prepare(text, ...rest);
    return new Proxy(statement, {
      get(target, name) {
        const member: unknown = Reflect.get(target, name, target);
        if (typeof member !== "function") return member;
        return (...given: unknown[]): unknown => {
          if (["run", "get", "all", "values"].includes(String(name))) seen.push(text);
          return member.apply(target, given);
        };
      },
    });
  };
  sqlite.prepare = watched as typeof sqlite.prepare;
  return seen;
}

/** What each statement does, and to which table. */
function kindsOf(statements: string[]): string[] {
  const kinds = statements.map(
    (sql) => (/^(?:insert into|update|delete from) "\w+"/.exec(sql) ?? / from "\w+"/.exec(sql))?.[0] ?? sql,
  );
  return kinds.toSorted();
}

test("its acceptance runs as many statements, writes as many rows, and answers the same", async () => {
  await using pombo = await startInstance();
  await pombo.operator.call("POST", "/api/v1/operator/queue/pause", { body: {} });
  const { sqlite } = pombo.app.db;
  const seen = watchStatements(sqlite);
  const send = () =>
    pombo.workspace.call("POST", "/api/v1/emails", { body: pombo.email({ replyTo: "ana@example.com" }) });
  const countChanges = () => sqlite.query<{ n: number }, []>("SELECT total_changes() AS n").get()?.n ?? 0;
  await send();
  seen.length = 0;
  const before = countChanges();
  const { status, text } = await send();
  expect([status, text]).toEqual([202, expect.stringMatching(/^\{"data":\{"id":"[^"]{36}","status":"queued"\}\}$/)]);
  expect(JSON.parse(text).data.id).toMatch(UUID_V7);
  expect(countChanges() - before).toBe(6);
  expect(kindsOf(seen)).toEqual([
    ' from "suppression"',
    'insert into "email"',
    'insert into "email_body"',
    'insert into "email_queue"',
    'insert into "email_total"',
    'insert into "usage"',
    'insert into "usage"',
  ]);
});

test("from its acceptance to its end it runs as many statements, and writes as many rows", async () => {
  await using pombo = await startInstance();
  const { sqlite } = pombo.app.db;
  const seen = watchStatements(sqlite);
  const countChanges = () => sqlite.query<{ n: number }, []>("SELECT total_changes() AS n").get()?.n ?? 0;
  const send = async () => {
    await pombo.workspace.call("POST", "/api/v1/emails", { body: pombo.email({ replyTo: "ana@example.com" }) });
    await pombo.app.worker.idle();
  };
  // Statements are prepared, and the lane is made, for the first.
  await send();
  seen.length = 0;
  const before = countChanges();
  await send();
  expect(pombo.mx.messages.length).toBe(2);
  expect(countChanges() - before).toBe(14);
  expect(kindsOf(seen)).toEqual([
    ...Array<string>(3).fill(' from "email"'),
    ...[' from "email_queue"', ' from "email_queue"', ' from "lane"', ' from "suppression"', ' from "suppression"'],
    ...[' from "usage"', 'delete from "email_queue"', 'insert into "attempt"', 'insert into "email"'],
    ...['insert into "email_body"', 'insert into "email_queue"'],
    ...Array<string>(3).fill('insert into "email_total"'),
    ...Array<string>(3).fill('insert into "usage"'),
    ...['update "email"', 'update "email_queue"', 'update "email_queue"'],
  ]);
});
