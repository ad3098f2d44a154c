// A person is erased: what was delivered, bounced and waits, SMS with their receipts, webhook calls, a late bounce, an
// attempt under way. Afterwards neither an answer nor a byte of the files names it, while its suppression still blocks; and
// an erasure that is killed is finished by the same command.
import { Database } from "bun:sqlite";
import { expect, setDefaultTimeout, test } from "bun:test";
import { join } from "node:path";
import { findInFiles } from "../../support/api/erased.ts";
import { startMx } from "../../support/fakes/mx.ts";
import { startReceiver } from "../../support/fakes/receiver.ts";
import { startSmsc } from "../../support/peers/smsc/client.ts";
import { waitUntil } from "../../support/peers/process.ts";
import { runPombo, spawnPombo } from "./child.ts";
import { returnTo } from "./returning.ts";
import { bugsOf, call, createWorld, emailTo, type Served, type World } from "./world.ts";

setDefaultTimeout(120_000);

const LIMIT_MS = 30_000;
const PERSON = "zq.person@one.test";
const NUMBER = "+258847654321";
const WORDS = ["zq.person", "SubjectOfZq", "ContentOfZq", "847654321", "TextOfZq"];
const PATH = "/api/v1/recipients/zq.person%40one.test";
const MANY = 3_000;

function query<Row>(world: World, sql: string): Row[] {
  using database = new Database(join(world.dataDir, "pombo.db"), { readonly: true });
  return database.query<Row, []>(sql).all();
}

const count = (world: World, sql: string) => query<{ n: number }>(world, `SELECT COUNT(*) AS n ${sql}`)[0]?.n ?? -1;

interface Receipt {
  complete: boolean;
  emails: number;
  canceledEmails: number;
  sms: number;
  inFlight: number;
  suppressions: number;
}

async function forget(world: World, recipient: string): Promise<Receipt> {
  const { code, stdout, stderr } = await runPombo(["forget", recipient, "--json", "--config", world.configFile]);
  expect([code, stderr]).toEqual([0, ""]);
  return JSON.parse(stdout) as Receipt;
}

/** All that the workspace can read of its messages, and of its webhook. */
async function readAll({ url }: Served, { key }: World, ids: string[]): Promise<string> {
  const hooks = (await call(url, key, { path: "/api/v1/webhooks" })).body.data as { id: string }[];
  const paths = [
    ...["emails", "sms", "sms/inbound", "suppressions", "webhooks", "domains", "auth/keys", "workspace/usage"],
    ...ids.flatMap((id) => ["emails", "sms"].flatMap((kind) => [`${kind}/${id}`, `${kind}/${id}/events`])),
    ...hooks.map(({ id }) => `webhooks/${id}/deliveries?limit=100`),
  ];
  const replies = await Promise.all(paths.map((path) => call(url, key, { path: `/api/v1/${path}` })));
  return JSON.stringify(replies.map(({ body }) => body as unknown));
}

test("a person is forgotten in answers and files, by mail and SMS; the suppression blocks on, after a restart too", async () => {
  const envelopes: { from: string; to: string }[] = [];
  const held = Promise.withResolvers<string>();
  const isHeld = Promise.withResolvers<void>();
  let mode: "take" | "refuse" | "hold" = "take";
  const mx = await startMx({
    rcpt: (line) => (mode === "refuse" ? `450 4.2.0 ${line} later: SubjectOfZq` : "250 2.1.5 Ok"),
    dot: async (_command, connection) => {
      const message = connection.messages.at(-1);
      envelopes.push({ from: message?.from ?? "", to: message?.to[0] ?? "" });
      if (mode !== "hold") return "250 2.0.0 Ok";
      isHeld.resolve();
      return held.promise;
    },
  });
  await using _closing = { [Symbol.asyncDispose]: () => mx.close() };
  await using smsc = await startSmsc({});
  await using receiver = startReceiver();
  // It gives back what it got, which is what a failed call keeps.
  receiver.answer = ({ event: { data } }) =>
    new Response(`${data.to ?? data.address} ${data.subject}`, { status: 500 });
  await using world = await createWorld({
    mxPort: mx.port,
    settings: {
      email: { retry_schedule: ["1h"] },
      webhooks: { allow_http: true, allow_private_ranges: ["127.0.0.0/8"] },
      "[sms.routes]": { name: "vodacom" },
      "[sms.routes.links]": {
        ...{ name: "vodacom-a", host: "127.0.0.1", port: smsc.port, tls: "none", system_id: "loja" },
        ...{ password: "segredo", window: 10, rate: 10_000 },
      },
    },
  });
  {
    await using served = await world.serve();
    const { url } = served;
    const ask = (method: string, path: string, body?: unknown) =>
      call(url, world.key, { method, path, ...(body === undefined ? {} : { body }) });
    const list = await call(url, world.operatorKey, { path: "/api/v1/operator/workspaces" });
    const workspace = `/api/v1/operator/workspaces/${list.body.data[0].id}`;
    for (const [path, body] of [
      ["sender-ids", { name: "Loja" }],
      ["credits", { amount: 10 }],
    ] as const)
      await call(url, world.operatorKey, { method: "POST", path: `${workspace}/${path}`, body });
    await ask("POST", "/api/v1/webhooks", { url: receiver.url, events: ["*"] });
    const send = async (to = PERSON) => {
      const email = { ...emailTo(to, "SubjectOfZq"), html: `<p>ContentOfZq</p>${"ContentOfZq ".repeat(2_000)}` };
      return (await ask("POST", "/api/v1/emails", email)).body.data.id as string;
    };
    const recordOf = async (id: string) => (await ask("GET", `/api/v1/emails/${id}`)).body.data;
    const comesTo = (id: string, status: string) =>
      waitUntil(`${id} is ${status}`, LIMIT_MS, async () => (await recordOf(id)).status === status);
    const delivered = await send();
    await comesTo(delivered, "delivered");
    const returned = await send();
    await comesTo(returned, "delivered");
    mode = "refuse";
    const waiting = await send();
    await comesTo(waiting, "delivery_delayed");
    const text = { to: NUMBER, body: "TextOfZq" };
    const sms = (await ask("POST", "/api/v1/sms", text)).body.data.id as string;
    await waitUntil("the SMS is sent", LIMIT_MS, async () =>
      ["sent", "delivered"].includes((await ask("GET", `/api/v1/sms/${sms}`)).body.data.status),
    );
    mode = "hold";
    const running = await send();
    await isHeld.promise;
    // The bounce of another suppresses the person.
    expect(await returnTo(served.inboundPort, envelopes[1] ?? { from: "", to: "" })).toStartWith("250 ");
    await comesTo(returned, "bounced");
    const ids = [delivered, returned, waiting, running, sms];
    const before = await readAll(served, world, ids);
    for (const word of WORDS) expect(before).toContain(word);

    expect(await forget(world, "Zq.Person@ONE.test")).toMatchObject({
      ...{ complete: true, emails: 4, canceledEmails: 1, inFlight: 1, suppressions: 1 },
    });
    expect(await forget(world, NUMBER)).toMatchObject({ complete: true, sms: 1 });
    held.resolve("250 2.0.0 Ok, zq.person@one.test has it");
    await comesTo(running, "delivered");
    expect(await recordOf(running)).toMatchObject({ to: "erased@erased.invalid", attempts: 1, html: null });
    expect(await recordOf(waiting)).toMatchObject({ status: "canceled" });
    // A report about what was erased is believed by its return path, and nothing of it is kept.
    expect(await returnTo(served.inboundPort, envelopes[0] ?? { from: "", to: "" })).toStartWith("250 ");
    await comesTo(delivered, "bounced");
    const after = await readAll(served, world, ids);
    expect(WORDS.filter((word) => after.includes(word))).toEqual([]);
    const refused = await ask("POST", "/api/v1/emails", emailTo(PERSON, "Again"));
    expect([refused.status, refused.body.errors[0].code]).toEqual([422, "RECIPIENT_SUPPRESSED"]);
    expect((await ask("GET", PATH)).body.data).toMatchObject([
      { kind: "suppression", suppression: { address: PERSON } },
    ]);
    expect(mx.messages).toHaveLength(3);
    expect(bugsOf(served)).toEqual([]);
    served.signal("SIGTERM");
    expect(await served.ended).toEqual({ code: 0, signal: null });
  }
  expect(findInFiles(world.dataDir, WORDS)).toEqual([]);
  await using again = await world.serve();
  const refused = await call(again.url, world.key, {
    ...{ method: "POST", path: "/api/v1/emails", body: emailTo(PERSON, "Again") },
  });
  expect([refused.status, refused.body.errors[0].code]).toEqual([422, "RECIPIENT_SUPPRESSED"]);
  expect(findInFiles(world.dataDir, WORDS)).toEqual([]);
});

test("an erasure that is killed leaves each email as it was or erased, and is finished by the same command", async () => {
  // Nobody listens there: everything waits.
  await using world = await createWorld({ mxPort: 1, settings: { email: { retry_schedule: ["1h"] } } });
  const erased = () => count(world, "FROM email WHERE is_erased = 1");
  {
    await using served = await world.serve();
    for (let batch = 0; batch < MANY / 1_000; batch += 1) {
      const emails = Array.from({ length: 1_000 }, () => ({ ...emailTo(PERSON, "SubjectOfZq"), text: "ContentOfZq" }));
      const reply = await call(served.url, world.key, {
        method: "POST",
        path: "/api/v1/emails/batch",
        body: { emails },
      });
      expect(reply.status).toBe(202);
    }
    const other = await call(served.url, world.key, {
      method: "POST",
      path: "/api/v1/emails",
      body: emailTo("b@one.test", "B"),
    });
    expect(other.status).toBe(202);
    await using forgetting = spawnPombo(["forget", PERSON, "--json", "--config", world.configFile]);
    await waitUntil("some are erased", LIMIT_MS, () => erased() > 0);
    served.signal("SIGKILL");
    await served.ended;
    expect(bugsOf(served)).toEqual([]);
    // It goes on over the data where it can.
    await forgetting.ended;
  }
  const half = erased();
  expect(half).toBeGreaterThan(0);
  // Each is one or the other, with its content, its queue row and its status.
  const left = "is_erased = 0 AND recipient_address = 'zq.person@one.test' AND subject = 'SubjectOfZq'";
  expect(half + count(world, `FROM email WHERE ${left}`)).toBe(MANY);
  expect(count(world, "FROM email JOIN email_body ON email_id = id WHERE is_erased = 1")).toBe(0);
  expect(
    count(world, "FROM email e LEFT JOIN email_body ON email_id = id WHERE is_erased = 0 AND email_id IS NULL"),
  ).toBe(0);
  await using second = await world.serve();
  await waitUntil("all are canceled", LIMIT_MS, async () => {
    expect(await forget(world, PERSON)).toMatchObject({ complete: true });
    return count(world, "FROM email_queue") === 1;
  });
  const totals = query<{ status: string; n: number }>(
    world,
    "SELECT status, SUM(count) AS n FROM email_total GROUP BY status",
  );
  const statuses = query<{ status: string; n: number }>(
    world,
    "SELECT status, COUNT(*) AS n FROM email GROUP BY status",
  );
  const counted = Object.fromEntries(statuses.map(({ status, n }) => [status, n]));
  expect(counted).toEqual({ canceled: MANY, queued: 1 });
  const kept = Object.fromEntries(totals.filter(({ n }) => n > 0).map(({ status, n }) => [status, n]));
  expect([kept["canceled"], (kept["queued"] ?? 0) + (kept["delivery_delayed"] ?? 0)]).toEqual([MANY, 1]);
  second.signal("SIGTERM");
  expect(await second.ended).toEqual({ code: 0, signal: null });
  expect(bugsOf(second)).toEqual([]);
  expect(findInFiles(world.dataDir, WORDS)).toEqual([]);
});
