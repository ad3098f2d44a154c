import { expect, test } from "bun:test";
import { readdirSync, readFileSync, statSync } from "node:fs";
import { join } from "node:path";
import { type Answer, type Client, type Instance, type Json, startInstance } from "../../support/fakes/instance.ts";
import { errorItems, expectErrors, TIMESTAMP, UNKNOWN_ID, UUID_V7 } from "../../support/api/kit.ts";

const DOMAINS = "/api/v1/domains";

const create = (client: Client, domain: unknown) => client.call("POST", DOMAINS, { body: { domain } });
const check = (client: Client, id: string) => client.call("POST", `${DOMAINS}/${id}/verification-checks`);
const remove = (client: Client, id: string) => client.call("DELETE", `${DOMAINS}/${id}`);

/** The domain as the list shows it. */
async function listed(client: Client, id: string): Promise<Json> {
  const { body } = await client.call("GET", DOMAINS);
  return body.data.find((one: { id: string }) => one.id === id);
}

/** Publishes the records of a create or check answer. */
function publish(pombo: Instance, { body }: Answer): void {
  const { dns } = body.data;
  for (const { type, name, value } of [...dns.dkim, dns.spf, dns.dmarc]) {
    pombo.dns.zone[name] = type === "CNAME" ? { CNAME: value } : { TXT: [value] };
  }
}

const sendFrom = (pombo: Instance, client: Client, from: string) =>
  client.call("POST", "/api/v1/emails", { body: pombo.email({ from }) });

test("registering a domain answers 201 with the records to publish and no status", async () => {
  await using pombo = await startInstance();
  const { status, body } = await create(pombo.workspace, "Exemplo.MZ");
  expect(status).toBe(201);
  expect(body).toEqual({
    data: {
      ...{
        id: expect.stringMatching(UUID_V7),
        domain: "exemplo.mz",
        createdAt: expect.stringMatching(TIMESTAMP),
        verifiedAt: null,
      },
      dns: {
        dkim: [
          {
            type: "TXT",
            name: "pombo1._domainkey.exemplo.mz",
            value: expect.stringMatching(/^v=DKIM1; k=rsa; p=[\w+/=]{390,}$/),
          },
          {
            type: "TXT",
            name: "pombo2._domainkey.exemplo.mz",
            value: expect.stringMatching(/^v=DKIM1; k=ed25519; p=[\w+/=]{44}$/),
          },
        ],
        spf: { type: "CNAME", name: "bounce.exemplo.mz", value: "mail.pombo.test" },
        dmarc: { type: "TXT", name: "_dmarc.exemplo.mz", value: "v=DMARC1; p=none" },
      },
    },
  });
  expect(await listed(pombo.workspace, body.data.id)).toMatchObject({
    domain: "exemplo.mz",
    status: "pending",
    verifiedAt: null,
  });
});

test("a name that mail cannot use is 422, one beyond ASCII is kept as its A-label", async () => {
  await using pombo = await startInstance();
  const notNames = [
    ...[
      "localhost",
      "loja",
      "-a.test",
      "a-.test",
      "a..test",
      ".a.test",
      "a.test.",
      "a_b.test",
      "a b.test",
      "http://a.test",
      "a.test/x",
    ],
    ...[
      "a.test:80",
      "user@a.test",
      "*.a.test",
      "192.0.2.1",
      "[192.0.2.1]",
      "xn--a.test",
      "a\r\n.test",
      "a\0.test",
      "a\u00ad.test",
    ],
    ...[`${"a".repeat(64)}.test`, `${"a.".repeat(126)}test`],
  ];
  for (const domain of notNames) {
    const answer = await create(pombo.workspace, domain);
    expect([domain, answer.status]).toEqual([domain, 422]);
    expectErrors(answer, 422, [{ field: "domain", message: /^domain must / }]);
  }
  const wrong: [unknown, string][] = [
    ...([
      [null, "not null"],
      [5, "not a number"],
      [[], "not an array"],
    ] as [unknown, string][]),
    ...([
      ["", "must not be empty"],
      ["x".repeat(254), "at most 253"],
    ] as [unknown, string][]),
  ];
  for (const [domain, message] of wrong)
    expectErrors(await create(pombo.workspace, domain), 422, [{ field: "domain", message }]);
  expectErrors(await pombo.workspace.call("POST", DOMAINS, { body: {} }), 422, [
    { field: "domain", message: "domain is required" },
  ]);
  expect((await create(pombo.workspace, "Exemplo-Ç.com")).body.data.domain).toBe("xn--exemplo--z0a.com");
  const longest = `${`${"a".repeat(61)}.`.repeat(4)}test`;
  expect([longest.length, (await create(pombo.workspace, longest)).status]).toEqual([252, 201]);
});

test("a domain that the workspace has is 409 with its id, two at once make one", async () => {
  await using pombo = await startInstance();
  const answers = await Promise.all([create(pombo.workspace, "one.test"), create(pombo.workspace, "ONE.test")]);
  expect(answers.map(({ status }) => status).toSorted()).toEqual([201, 409]);
  const again = await create(pombo.workspace, "one.test");
  expectErrors(again, 409, [{ code: "DOMAIN_ALREADY_EXISTS", field: "domain" }]);
  const id = answers.find(({ status }) => status === 201)?.body.data.id;
  expect(errorItems(again)[0]?.hint).toContain(id);
});

test("a check tells what of each record was found and verifies the domain by its RSA key alone", async () => {
  await using pombo = await startInstance();
  const created = await create(pombo.workspace, "one.test");
  const { id, dns } = created.body.data;
  const missing = await check(pombo.workspace, id);
  expect(missing.status).toBe(200);
  for (const record of [...missing.body.data.dns.dkim, missing.body.data.dns.spf, missing.body.data.dns.dmarc]) {
    expect(record).toMatchObject({ status: "missing", found: [], hint: expect.stringContaining("Publish this") });
  }
  expect(missing.body.data.verifiedAt).toBeNull();
  expect(missing.body.data).not.toHaveProperty("status");
  // The RSA key as DNS holds it: several strings of one record.
  const [rsa] = dns.dkim;
  pombo.dns.zone[rsa.name] = { TXT: [[rsa.value.slice(0, 200), rsa.value.slice(200)]] };
  const found = (await check(pombo.workspace, id)).body.data;
  expect(found.dns.dkim[0]).toEqual({ ...rsa, status: "found", found: [rsa.value] });
  expect(found.dns.dkim[1].status).toBe("missing");
  expect(found.verifiedAt).toMatch(TIMESTAMP);
  expect((await listed(pombo.workspace, id)).status).toBe("verified");
  expect((await sendFrom(pombo, pombo.workspace, "a@one.test")).status).toBe(202);
  publish(pombo, created);
  const whole = (await check(pombo.workspace, id)).body.data;
  expect([...whole.dns.dkim, whole.dns.spf, whole.dns.dmarc].map(({ status }) => status)).toEqual([
    "found",
    "found",
    "found",
    "found",
  ]);
  expect(whole.verifiedAt).toBe(found.verifiedAt);
});

test("a key behind a CNAME is followed, and a second record beside it is a mismatch", async () => {
  await using pombo = await startInstance();
  const created = await create(pombo.workspace, "one.test");
  const { id, dns } = created.body.data;
  const [rsa] = dns.dkim;
  pombo.dns.zone[rsa.name] = { CNAME: "keys.elsewhere.test" };
  const dangling = (await check(pombo.workspace, id)).body.data;
  expect(dangling.dns.dkim[0]).toMatchObject({
    status: "mismatch",
    hint: expect.stringContaining("keys.elsewhere.test"),
  });
  pombo.dns.zone["keys.elsewhere.test"] = { TXT: [rsa.value, "v=DKIM1; p=AAAA"] };
  const doubled = (await check(pombo.workspace, id)).body.data;
  expect(doubled.dns.dkim[0]).toMatchObject({
    status: "mismatch",
    hint: expect.stringContaining("more than one TXT record"),
  });
  expect(doubled.verifiedAt).toBeNull();
  pombo.dns.zone["keys.elsewhere.test"] = { TXT: [rsa.value] };
  expect((await check(pombo.workspace, id)).body.data.verifiedAt).toMatch(TIMESTAMP);
});

test("what DNS does not answer changes nothing: pending stays pending and verified stays verified", async () => {
  await using pombo = await startInstance();
  const created = await create(pombo.workspace, "one.test");
  const { id } = created.body.data;
  pombo.dns.faults["*"] = "servfail";
  const unknown = (await check(pombo.workspace, id)).body.data;
  expect(unknown.dns.dkim[0]).not.toHaveProperty("status");
  expect(unknown.dns.dkim[0].hint).toContain("nothing changes");
  expect((await listed(pombo.workspace, id)).status).toBe("pending");
  delete pombo.dns.faults["*"];
  publish(pombo, created);
  await check(pombo.workspace, id);
  pombo.dns.faults["*"] = "servfail";
  await check(pombo.workspace, id);
  expect((await listed(pombo.workspace, id)).status).toBe("verified");
  delete pombo.dns.faults["*"];
  expect((await sendFrom(pombo, pombo.workspace, "a@one.test")).status).toBe(202);
});

test("a verified domain whose record vanishes is in warning and still sends, and recovers with its first verifiedAt", async () => {
  await using pombo = await startInstance();
  const id = await pombo.addDomain(pombo.workspace, "one.test");
  const { verifiedAt } = await listed(pombo.workspace, id);
  const name = "pombo1._domainkey.one.test";
  const kept = pombo.dns.zone[name];
  delete pombo.dns.zone[name];
  expect((await check(pombo.workspace, id)).body.data.verifiedAt).toBe(verifiedAt);
  expect(await listed(pombo.workspace, id)).toMatchObject({ status: "warning", verifiedAt });
  expect((await sendFrom(pombo, pombo.workspace, "a@one.test")).status).toBe(202);
  pombo.dns.zone[name] = kept ?? {};
  await check(pombo.workspace, id);
  expect(await listed(pombo.workspace, id)).toMatchObject({ status: "verified", verifiedAt });
});

test("of two workspaces with one domain the first to verify has it, until it is gone there", async () => {
  await using pombo = await startInstance();
  const [one, two] = [await pombo.newWorkspace(), await pombo.newWorkspace()];
  const [first, second] = [await create(one, "shared.test"), await create(two, "shared.test")];
  expect([first.status, second.status]).toEqual([201, 201]);
  expect(second.body.data.id).not.toBe(first.body.data.id);
  expect(second.body.data.dns.dkim[0].value).not.toBe(first.body.data.dns.dkim[0].value);
  publish(pombo, first);
  expect((await check(one, first.body.data.id)).body.data.verifiedAt).toMatch(TIMESTAMP);
  publish(pombo, second);
  const late = await check(two, second.body.data.id);
  expect(late.status).toBe(200);
  expect(late.body.data).toMatchObject({ verifiedAt: null, hint: expect.stringContaining("Another workspace") });
  expect((await listed(two, second.body.data.id)).status).toBe("pending");
  expectErrors(await sendFrom(pombo, two, "a@shared.test"), 422, [{ field: "from", message: "Domain not verified" }]);
  expect((await sendFrom(pombo, one, "a@shared.test")).status).toBe(202);
  expect((await remove(one, first.body.data.id)).status).toBe(200);
  const won = await check(two, second.body.data.id);
  expect(won.body.data.verifiedAt).toMatch(TIMESTAMP);
  expect(won.body.data).not.toHaveProperty("hint");
  expect((await sendFrom(pombo, two, "a@shared.test")).status).toBe(202);
}, 30_000);

test("two workspaces that verify one domain at the same moment: one has it", async () => {
  await using pombo = await startInstance();
  const [one, two] = [await pombo.newWorkspace(), await pombo.newWorkspace()];
  const [first, second] = [await create(one, "shared.test"), await create(two, "shared.test")];
  publish(pombo, second);
  // DNS holds one key at a time; for both checks to find theirs the first workspace is given the second's public keys.
  pombo.app.db.sqlite.run(`
    UPDATE dkim_key SET public_key = (
      SELECT other.public_key FROM dkim_key AS other
      WHERE other.selector = dkim_key.selector AND other.domain_id = (SELECT max(id) FROM domain)
    ) WHERE domain_id = (SELECT max(id) - 1 FROM domain)`);
  const answers = await Promise.all([check(one, first.body.data.id), check(two, second.body.data.id)]);
  expect(answers.map(({ status }) => status)).toEqual([200, 200]);
  expect(answers.filter(({ body }) => body.data.verifiedAt !== null)).toHaveLength(1);
  expect(answers.filter(({ body }) => body.data.hint !== undefined)).toHaveLength(1);
  expect(pombo.bugs).toEqual([]);
});

test("deleting a domain destroys its signing keys and its API keys, and fails its queued mail with the reason", async () => {
  await using pombo = await startInstance({ mx: { rcpt: "450 4.2.1 Later" } });
  const id = await pombo.addDomain(pombo.workspace, "one.test");
  const key = (await pombo.workspace.call("POST", "/api/v1/auth/keys", { body: { name: "shop", domainId: id } })).body
    .data.key;
  const sent = await pombo.workspace.call("POST", "/api/v1/emails", { key, body: pombo.email({ from: "a@one.test" }) });
  await pombo.mx.until(() =>
    pombo.mx.connections.some(({ commands }) => commands.some((line) => line.startsWith("RCPT"))),
  );
  await pombo.app.worker.idle();
  const path = `/api/v1/emails/${sent.body.data.id}`;
  expect((await pombo.workspace.call("GET", path)).body.data).toMatchObject({
    status: "delivery_delayed",
    lastReply: expect.stringContaining("450"),
  });

  const removed = await remove(pombo.workspace, id);
  expect([removed.status, removed.body]).toEqual([200, { data: { id, deleted: true } }]);
  const keys = pombo.app.db.sqlite.query(
    "SELECT (SELECT count(*) FROM dkim_key) AS signing, (SELECT count(*) FROM api_key WHERE domain_id IS NOT NULL) AS api",
  );
  expect(keys.get()).toEqual({ signing: 2, api: 0 });
  expectErrors(await pombo.workspace.call("GET", "/api/v1/emails", { key }), 401, [{ code: "INVALID_API_KEY" }]);
  expectErrors(await sendFrom(pombo, pombo.workspace, "a@one.test"), 422, [
    { field: "from", message: "Domain not verified" },
  ]);
  expectErrors(await remove(pombo.workspace, id), 404, [{ code: "NOT_FOUND" }]);
  expectErrors(await check(pombo.workspace, id), 404, [{ code: "NOT_FOUND" }]);
  expect(await listed(pombo.workspace, id)).toBeUndefined();
  // The commit after which the mail is failed was begun with the answer.
  await pombo.app.committer.commit(() => null);
  const { data } = (await pombo.workspace.call("GET", path)).body;
  expect(data).toMatchObject({
    status: "failed",
    failedReason: expect.stringContaining("domain was deleted"),
    nextAttemptAt: null,
  });
  expect((await create(pombo.workspace, "one.test")).status).toBe(201);
});

test("the mail and keys of a deleted domain never come to belong to the next domain registered", async () => {
  await using pombo = await startInstance();
  const old = await pombo.addDomain(pombo.workspace, "old.test");
  await sendFrom(pombo, pombo.workspace, "a@old.test");
  await remove(pombo.workspace, old);
  const stranger = await pombo.newWorkspace();
  const domainId = await pombo.addDomain(stranger, "new.test");
  const { body } = await stranger.call("POST", "/api/v1/auth/keys", { body: { name: "shop", domainId } });
  const seen = await stranger.call("GET", "/api/v1/emails", { key: body.data.key });
  expect(seen.body).toEqual({ data: [], meta: { total: 0, perPage: 20, page: 1, lastPage: 1 } });
});

test("a domain that is deleted while it is checked is 404 for the check", async () => {
  await using pombo = await startInstance();
  const { id } = (await create(pombo.workspace, "one.test")).body.data;
  pombo.dns.faults["pombo1._domainkey.one.test"] = "slow";
  const seen = pombo.dns.queries.length;
  const checking = check(pombo.workspace, id);
  await pombo.dns.seen(seen + 1);
  expect((await remove(pombo.workspace, id)).status).toBe(200);
  delete pombo.dns.faults["pombo1._domainkey.one.test"];
  pombo.dns.release();
  expectErrors(await checking, 404, [{ code: "NOT_FOUND" }]);
  expect(pombo.bugs).toEqual([]);
});

test("an unknown id is 404 and a malformed one 422, for checks and deletes", async () => {
  await using pombo = await startInstance();
  for (const call of [check, remove]) {
    expectErrors(await call(pombo.workspace, UNKNOWN_ID), 404, [{ code: "NOT_FOUND" }]);
    expectErrors(await call(pombo.workspace, "1"), 422, [{ field: "id", message: "id must be a UUID" }]);
  }
});

test("a check needs no body and takes an empty one, and a delete ignores any", async () => {
  await using pombo = await startInstance();
  const { id } = (await create(pombo.workspace, "one.test")).body.data;
  const path = `${DOMAINS}/${id}/verification-checks`;
  expect((await pombo.workspace.call("POST", path, { body: {} })).status).toBe(200);
  expect((await pombo.workspace.call("POST", path, { headers: { "content-type": "application/json" } })).status).toBe(
    200,
  );
  expect((await pombo.workspace.call("POST", path, { rawBody: "{" })).status).toBe(400);
  const ignored = await pombo.workspace.call("DELETE", `${DOMAINS}/${id}`, {
    rawBody: "{",
    headers: { "content-type": "text/plain" },
  });
  expect(ignored.status).toBe(200);
});

test("no private key and no API key lies in the data directory in the clear", async () => {
  await using pombo = await startInstance();
  const made = await pombo.workspace.call("POST", "/api/v1/auth/keys", { body: { name: "shop" } });
  await sendFrom(pombo, pombo.workspace, "a@loja.test");
  await pombo.app.worker.idle();
  const files = readdirSync(pombo.directory, { recursive: true, encoding: "utf8" })
    .map((name) => join(pombo.directory, name))
    .filter((file) => statSync(file).isFile());
  expect(files.some((file) => file.endsWith("pombo.db-wal"))).toBe(true);
  const secrets = ["PRIVATE KEY", pombo.operator.key, pombo.workspace.key, made.body.data.key];
  // The keys without their prefix too, as text and as the bytes they stand for.
  const needles = secrets.flatMap((secret) => [
    Buffer.from(secret),
    ...(secret.startsWith("svc_") ? [Buffer.from(secret.slice(4)), Buffer.from(secret.slice(4), "base64url")] : []),
  ]);
  for (const file of files) {
    const content = readFileSync(file);
    expect([file, needles.filter((needle) => content.includes(needle)).length]).toEqual([file, 0]);
  }
});
