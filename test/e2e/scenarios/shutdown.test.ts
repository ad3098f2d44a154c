// The promise to service managers: SIGTERM to the end within 60 s, whoever keeps pombo waiting — a mail server in
// the middle of DATA, a receiver of webhooks, an SMSC, a client and a replication that say nothing more — with everything that was
// answered on the disk, and nothing lost at the next start. The replication is in the long run (ROUNDS).
import { Database } from "bun:sqlite";
import { expect, setDefaultTimeout, test } from "bun:test";
import { existsSync, mkdtempSync, rmSync } from "node:fs";
import { connect } from "node:net";
import { join } from "node:path";
import { stall, startMx } from "../../support/fakes/mx.ts";
import { startReceiver } from "../../support/fakes/receiver.ts";
import { waitUntil } from "../../support/peers/process.ts";
import { startSmsc } from "../../support/peers/smsc/client.ts";
import { within } from "./child.ts";
import { daemonPid, findDaemon, isDaemon, stopInOrder, subjectsInReplica } from "./replicated.ts";
import { readEmails } from "./stored.ts";
import { bugsOf, call, createWorld, emailTo, hasLogged, type Served, type World } from "./world.ts";

const LIMIT_MS = 30_000;
/** docs/operating.md, the unit, the Dockerfile: they give 90 s. */
const EXIT_LIMIT_MS = 60_000;
const NEVER_MS = 3_600_000;
const CLIENTS = 4;

setDefaultTimeout(240_000);

/** Of the long run: a replication that is mute takes all of the minute. */
const LONG_RUN = 12;
const hasDaemon = Number(process.env["ROUNDS"] ?? 5) >= LONG_RUN && (await findDaemon());

test("SIGTERM ends within 60 s, whoever keeps it waiting, and loses nothing that was accepted", async () => {
  const mx = await startMx({ data: stall() });
  await using receiver = startReceiver();
  receiver.answer = () => new Promise(() => undefined);
  await using smsc = await startSmsc({ script: { answerDelayMs: NEVER_MS } });
  const replica = mkdtempSync("/tmp/pombo-mute-");
  await using _gone = { [Symbol.asyncDispose]: async () => rmSync(replica, { recursive: true, force: true }) };
  const replication = hasDaemon ? { replication: { url: replica } } : {};
  await using world = await createWorld({ mxPort: mx.port, settings: { ...settingsFor(smsc.port), ...replication } });
  const [emails, texts] = [new Set<string>(), new Set<string>()];
  {
    await using served = await world.serve();
    await furnish(served, world, receiver.url);
    const isOver = { value: false };
    const clients = Array.from({ length: CLIENTS }, (_, index) =>
      send(served, world, { index, isOver, emails, texts }),
    );
    await within(
      LIMIT_MS,
      "a call of the webhook",
      receiver.until(() => receiver.calls.length > 0),
    );
    await within(LIMIT_MS, "a segment at the SMSC", smsc.until({ submits: 1 }));
    await waitUntil("a message in DATA", LIMIT_MS, () =>
      mx.connections.some(({ commands }) => commands.some((line) => line.startsWith("DATA"))),
    );
    const half = halfARequest(served, world.key);
    if (hasDaemon) {
      await waitUntil("the daemon answers", LIMIT_MS, () => existsSync(join(world.dataDir, "lite.sock")));
      // It neither answers nor obeys.
      process.kill(daemonPid(world), "SIGSTOP");
    }
    const since = performance.now();
    served.signal("SIGTERM");
    expect(await within(EXIT_LIMIT_MS, "the end", served.ended)).toEqual({ code: 0, signal: null });
    console.log(
      `shutdown: ${((performance.now() - since) / 1_000).toFixed(1)} s, ${emails.size} emails, ${texts.size} texts`,
    );
    isOver.value = true;
    await Promise.all(clients);
    half.destroy();
    expect(hasLogged(served, "pombo.stopped")).toBe(true);
    expect(isDaemon(daemonPid(world))).toBe(false);
    expect(bugsOf(served)).toEqual([]);
  }
  const stored = readEmails(world.dataDir);
  expect([...emails].filter((id) => !stored.has(id))).toEqual([]);
  expect([...texts].filter((id) => !storedTexts(world.dataDir).has(id))).toEqual([]);
  expect(mx.messages).toEqual([]);

  // Everybody answers again.
  delete mx.script.data;
  receiver.answer = () => new Response(null, { status: 204 });
  await smsc.script({ answerDelayMs: 0 });
  await using again = await world.serve();
  await waitUntil("every email is delivered", LIMIT_MS, () =>
    [...readEmails(world.dataDir).values()].every(({ status }) => status === "delivered"),
  );
  await waitUntil("every text went out", LIMIT_MS, () =>
    [...storedTexts(world.dataDir).values()].every((status) => status !== "queued" && status !== "sending"),
  );
  // Its end was told to no session before: nothing came twice.
  expect(mx.messages).toHaveLength(emails.size);
  await stopInOrder(again);
  // What the mute daemon had not copied has followed.
  if (hasDaemon) {
    const kept = new Set([...readEmails(world.dataDir).values()].map(({ subject }) => subject));
    expect(subjectsInReplica(world)).toEqual(kept);
  }
  await mx.close();
});

function settingsFor(smscPort: number) {
  return {
    webhooks: { allow_http: true, allow_private_ranges: ["127.0.0.0/8"] },
    sms: { lost_response_wait: "2s" },
    "[sms.routes]": { name: "vodacom" },
    "[sms.routes.links]": {
      name: "vodacom-a",
      host: "127.0.0.1",
      port: smscPort,
      tls: "none",
      system_id: "loja",
      password: "segredo",
    },
  };
}

async function furnish({ url }: Served, world: World, hook: string): Promise<void> {
  const post = async (key: string, path: string, body: object) => {
    const answer = await call(url, key, { method: "POST", path: `/api/v1/${path}`, body });
    if (answer.status >= 300) throw new Error(JSON.stringify(answer.body));
  };
  const list = await call(url, world.operatorKey, { path: "/api/v1/operator/workspaces" });
  const workspace = `operator/workspaces/${list.body.data[0].id}`;
  await post(world.operatorKey, `${workspace}/sender-ids`, { name: "Loja" });
  await post(world.operatorKey, `${workspace}/credits`, { amount: 100_000 });
  await post(world.key, "webhooks", { url: hook, events: ["email.*"] });
}

interface Sent {
  index: number;
  isOver: { value: boolean };
  emails: Set<string>;
  texts: Set<string>;
}

/** Sends until the end, some requests still under way at the signal. */
async function send({ url }: Served, { key }: World, { index, isOver, emails, texts }: Sent): Promise<void> {
  for (let count = 0; !isOver.value; count += 1) {
    const name = `${index}-${count}`;
    try {
      const email = await call(url, key, {
        method: "POST",
        path: "/api/v1/emails",
        body: emailTo(`${name}@one.test`, name),
      });
      if (email.status === 202) emails.add(email.body.data.id);
      const to = `+25884${String(index * 100_000 + count).padStart(7, "0")}`;
      const text = await call(url, key, { method: "POST", path: "/api/v1/sms", body: { to, body: name } });
      if (text.status === 202) texts.add(text.body.data.id);
      await Bun.sleep(20);
    } catch {
      await Bun.sleep(20); // it stops, or has
    }
  }
}

/** A client that begins its body and says nothing more. */
function halfARequest({ url }: Served, key: string) {
  const socket = connect(Number(new URL(url).port), "127.0.0.1");
  socket.on("error", () => undefined).resume();
  const head = [
    "POST /api/v1/emails HTTP/1.1",
    "Host: localhost",
    `X-API-Key: ${key}`,
    "Content-Type: application/json",
  ];
  socket.write(`${head.join("\r\n")}\r\nContent-Length: 1000\r\n\r\n{"to`);
  return socket;
}

function storedTexts(dataDir: string): Map<string, string> {
  using database = new Database(join(dataDir, "pombo.db"), { readonly: true });
  const rows = database.query<{ uid: string; status: string }, []>("SELECT uid, status FROM sms_message").all();
  return new Map(rows.map(({ uid, status }) => [uid, status]));
}
