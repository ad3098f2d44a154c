import { expect, test } from "bun:test";
import { jsonLog } from "../../../src/platform/log.ts";
import { type Answer, type Instance, type RequestOptions, startInstance } from "../../support/fakes/instance.ts";
import { exchange, head, UNKNOWN_ID } from "../../support/api/kit.ts";

/** A well-formed key that nobody has. */
const WRONG = `svc_${"Wr0ng_kEy-".repeat(5).slice(0, 43)}`;

interface Try {
  method: string;
  path: string;
  options?: RequestOptions;
}

/** Every route of the document, with an id where one belongs. */
async function routesOf(pombo: Instance): Promise<Omit<Try, "options">[]> {
  const { body } = await pombo.workspace.call("GET", "/api/v1/openapi.json");
  return Object.entries<object>(body.paths).flatMap(([path, methods]) =>
    Object.keys(methods).map((method) => ({
      method: method.toUpperCase(),
      path: path.replaceAll(/\{\w+\}/g, UNKNOWN_ID),
    })),
  );
}

/** Requests to one route in which `secret` stands wherever a mistake may put it. */
function triesOf({ method, path }: Omit<Try, "options">, secret: string): Try[] {
  const inUrl = [`${path}?key=${secret}`, `${path}/${secret}`, path.replace(UNKNOWN_ID, secret), `/${secret}${path}`];
  const inHeaders: Record<string, string>[] = [
    { authorization: `Bearer ${secret}` },
    { "x-request-id": secret, "x-forwarded-for": secret, "user-agent": secret, cookie: `key=${secret}` },
    { "idempotency-key": secret, "x-idempotency-key": secret },
    { "content-type": secret },
    { "content-type": `application/json; charset=${secret}` },
  ];
  const bodies = [
    secret,
    `{"${secret}": 1}`,
    `{"name": ${secret}}`,
    JSON.stringify({ [`x${secret}`]: { [secret]: secret } }),
    JSON.stringify({ name: [secret], domain: secret, domainId: secret, plan: secret, url: secret, address: secret }),
    JSON.stringify({ from: secret, to: `${secret}@`, subject: `${secret}\n`, html: 1, replyTo: secret, body: secret }),
    JSON.stringify({ emails: [{ from: `<${secret}>`, [secret]: secret }, secret] }),
  ];
  const withBody = method === "GET" ? [] : bodies.map((rawBody) => ({ method, path, options: { rawBody } }));
  return [
    { method, path, options: { key: secret } },
    { method, path, options: { key: `${secret}x` } },
    { method, path, options: { key: ` Bearer ${secret}` } },
    ...inUrl.map((one) => ({ method, path: one })),
    ...inUrl.map((one) => ({ method, path: one, options: { key: null } })),
    ...inHeaders.map((headers) => ({ method, path, options: { headers } })),
    ...inHeaders.map((headers) => ({ method, path, options: { headers, key: null } })),
    ...withBody,
    { method: "PUT", path, options: { rawBody: JSON.stringify({ key: secret }) } },
  ];
}

/** What the log's lines would be, and what was told to the log before it hid anything. */
function logOf(pombo: Instance): { lines: string; told: string } {
  const lines: string[] = [];
  const log = jsonLog({ write: (line) => lines.push(line), now: () => 0, addresses: "full" });
  for (const { name, fields } of pombo.events) log.event(name, fields);
  for (const { where, error, ...fields } of pombo.bugs as { where: string; error: unknown }[])
    log.error(where, error, fields);
  return { lines: lines.join("\n"), told: JSON.stringify(pombo.events) };
}

test("no key is in a log line, an error's answer or a metric, wherever a request has it", async () => {
  await using pombo = await startInstance({
    configure(config) {
      config.metrics.listen = { address: "127.0.0.1", port: 0 };
      config.log.addresses = "full";
    },
  });
  // What shows of a key in a list is shorter.
  const secrets = [pombo.workspace.key, pombo.operator.key, WRONG];
  const shown = (text: string) =>
    secrets.filter((secret) => text.toLowerCase().includes(secret.slice(4, 20).toLowerCase()));
  const headersOf = ({ headers }: Answer) => JSON.stringify([...headers]);

  let refused = 0;
  for (const route of await routesOf(pombo)) {
    for (const secret of secrets) {
      for (const { method, path, options } of triesOf(route, secret)) {
        const answer = await pombo.workspace.call(method, path, options);
        const { status } = answer;
        expect([method, path, status, status === 500, shown(headersOf(answer))]).toEqual([
          method,
          path,
          status,
          false,
          [],
        ]);
        if (status < 400) continue;
        refused += 1;
        expect([method, path, options, shown(answer.text)]).toEqual([method, path, options, []]);
      }
    }
  }
  expect(refused).toBeGreaterThan(1_000);

  // Sent along with what is accepted: the sender's own words, which no log repeats.
  for (const secret of secrets) {
    const body = pombo.email({ to: `${secret}@example.com`, subject: secret, text: secret });
    expect((await pombo.workspace.call("POST", "/api/v1/emails", { body })).status).toBe(202);
  }
  await pombo.mx.until(() => pombo.mx.messages.length === secrets.length);
  await pombo.app.worker.idle();

  // A fault of our own, with the key in all that an error might name.
  pombo.app.db.sqlite.run("ALTER TABLE email RENAME TO elsewhere");
  for (const secret of secrets) {
    const body = pombo.email({ subject: secret, replyTo: `${secret}@example.com` });
    const path = `/api/v1/emails?key=${secret}`;
    const answer = await pombo.workspace.call("POST", path, { body, headers: { "idempotency-key": secret } });
    expect([answer.status, shown(answer.text)]).toEqual([500, []]);
    const target = `GET /api/v1/emails/${UNKNOWN_ID} HTTP/1.1 ${secret}`;
    expect(shown((await exchange(pombo.app.url, head(target, { "X-API-Key": pombo.workspace.key }))).text)).toEqual([]);
  }
  pombo.app.db.sqlite.run("ALTER TABLE elsewhere RENAME TO email");
  expect(pombo.bugs.length).toBeGreaterThanOrEqual(secrets.length);

  const { lines, told } = logOf(pombo);
  expect(lines).toContain("email.delivered");
  expect([shown(lines), shown(await (await fetch(pombo.app.metricsUrl ?? "")).text())]).toEqual([[], []]);
  // Not even for the log to hide, but in the addresses that it may show in full.
  expect(shown(told.replaceAll(/svc_[\w-]+@example\.com/gi, ""))).toEqual([]);
}, 60_000);
