// The texting half of `pombo dev` as a developer, or a test suite, uses it: texts of every kind to a phone, numbers
// that behave on purpose, webhooks, and what the phone writes back.
import { expect, setDefaultTimeout, test } from "bun:test";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { Json } from "../../support/fakes/instance.ts";
import { type Receiver, startReceiver, verify } from "../../support/fakes/receiver.ts";
import { waitUntil } from "../../support/peers/process.ts";
import { type Child, spawnPombo, within } from "./child.ts";
import { call } from "./world.ts";

setDefaultTimeout(60_000);

const LIMIT_MS = 15_000;
const ONE = "+258841234567";
const LONG = "Segunda via da factura de Janeiro. ".repeat(8).trim();

interface Ready {
  url: string;
  apiKey: string;
}

interface Dev extends Ready {
  child: Child;
  ask(method: string, path: string, body?: object): Promise<{ status: number; body: Json }>;
  /** Sends a text; its id. */
  text(body: object): Promise<string>;
  until(id: string, holds: (message: Json) => boolean): Promise<Json>;
  texts(query?: string): Promise<Json[]>;
  [Symbol.asyncDispose](): Promise<void>;
}

async function startDev(more: string[] = []): Promise<Dev> {
  const folder = mkdtempSync(join(tmpdir(), "pombo-phones-"));
  const child = spawnPombo(["dev", "--json", "--port", "0", ...more], { env: { TMPDIR: folder } });
  await child.until("it is ready", () => child.stdout().includes("\n"));
  const { url, apiKey } = JSON.parse(child.stdout()) as Ready;
  const ask: Dev["ask"] = (method, path, body) =>
    call(url, apiKey, body === undefined ? { method, path } : { method, path, body });
  return {
    url,
    apiKey,
    child,
    ask,
    async text(body) {
      const answer = await ask("POST", "/api/v1/sms", body);
      expect([answer.status, answer.body]).toMatchObject([202, { data: { status: "queued" } }]);
      return answer.body.data.id as string;
    },
    async until(id, holds) {
      let last: Json = null;
      const look = async () => holds((last = (await ask("GET", `/api/v1/sms/${id}`)).body.data));
      await waitUntil("the text is so", LIMIT_MS, look).catch((error: unknown) => {
        throw new Error(`${String(error)}: ${JSON.stringify(last)}\n${child.stderr()}`);
      });
      return last;
    },
    texts: async (query = "") => (await fetch(`${url}/sandbox/texts${query}`)).json() as Promise<Json[]>,
    async [Symbol.asyncDispose]() {
      await child[Symbol.asyncDispose]();
      rmSync(folder, { recursive: true, force: true });
    },
  };
}

async function interrupt({ child }: Dev): Promise<void> {
  child.signal("SIGINT");
  expect(await within(LIMIT_MS, "the end", child.ended)).toEqual({ code: 0, signal: null });
  expect(child.stderr()).not.toContain("BUG");
}

/** A webhook of the ready workspace; its secret. */
async function subscribe(dev: Dev, receiver: Receiver): Promise<string> {
  const made = await dev.ask("POST", "/api/v1/webhooks", {
    url: receiver.url,
    events: ["sms.*", "suppression.created"],
  });
  expect(made.status).toBe(201);
  return made.body.data.secret as string;
}

test("texts in GSM-7, UCS-2 and two parts arrive on the phone as they were written, and each is told as delivered", async () => {
  await using receiver = startReceiver();
  await using dev = await startDev();
  expect(dev.child.stderr()).toBe("");
  const secret = await subscribe(dev, receiver);
  const bodies = ["Pague 5 € até às 17h", "Não é preciso: já está 👍", LONG];
  const ids: string[] = [];
  for (const [at, body] of bodies.entries())
    ids.push(await dev.text({ to: ONE, body, ...(at === 0 ? { from: "84000" } : {}) }));
  const ends: Json[] = [];
  for (const id of ids) ends.push(await dev.until(id, ({ status }) => status === "delivered"));
  expect(ends.map(({ segments, encoding, providerStatus }) => [segments, encoding, providerStatus])).toEqual([
    [1, "gsm7", "DELIVRD"],
    [1, "ucs2", "DELIVRD"],
    [2, "gsm7", "DELIVRD"],
  ]);
  const shown = await dev.texts(`?to=${ONE}`);
  const key = ({ body }: Json) => bodies.indexOf(body);
  const sorted = shown.toSorted((a, b) => key(a) - key(b));
  expect(sorted.map(({ from, to, body, segments, encoding }) => [from, to, body, segments, encoding])).toEqual([
    ["84000", ONE, bodies[0], 1, "gsm7"],
    ["Sandbox", ONE, bodies[1], 1, "ucs2"],
    ["Sandbox", ONE, LONG, 2, "gsm7"],
  ]);
  expect(Object.keys(shown[0])).toEqual(["id", "from", "to", "body", "segments", "encoding", "receivedAt"]);
  const delivered = () => receiver.calls.filter(({ event }) => event.type === "sms.delivered");
  await within(
    LIMIT_MS,
    "the calls",
    receiver.until(() => delivered().length === 3),
  );
  for (const each of delivered()) verify(each, secret);
  expect(
    delivered()
      .map(({ event }) => event.data.id)
      .toSorted(),
  ).toEqual(ids.toSorted());
  await interrupt(dev);
});

test("STOP written on the phone suppresses the number, is told as sms.received, and START lifts it", async () => {
  await using receiver = startReceiver();
  await using dev = await startDev();
  await subscribe(dev, receiver);
  const write = (body: string) => dev.ask("POST", "/sandbox/texts", { from: ONE, body });
  expect((await write("stop")).status).toBe(201);
  const refused = await dev.ask("POST", "/api/v1/sms", { to: ONE, body: "Promoção" });
  expect([refused.status, refused.body.errors[0].code]).toEqual([422, "RECIPIENT_SUPPRESSED"]);
  const list = (await dev.ask("GET", "/api/v1/suppressions?channel=sms")).body.data as Json[];
  expect(list).toMatchObject([{ address: ONE, channel: "sms", reason: "opt_out" }]);
  const types = () => receiver.calls.map(({ event }) => event.type as string);
  await within(
    LIMIT_MS,
    "the calls",
    receiver.until(() => types().length >= 2),
  );
  expect(types().toSorted()).toEqual(["sms.received", "suppression.created"]);
  const received = receiver.calls.find(({ event }) => event.type === "sms.received");
  expect(received?.event.data).toMatchObject({ from: ONE, to: "84000", body: "stop" });

  expect((await write(`Início: ${LONG}`)).status).toBe(201);
  expect((await write("START")).status).toBe(201);
  const inbound = (await dev.ask("GET", "/api/v1/sms/inbound")).body.data as Json[];
  expect(inbound.map(({ body }) => body)).toEqual(["START", `Início: ${LONG}`, "stop"]);
  await dev.until(await dev.text({ to: ONE, body: "De volta" }), ({ status }) => status === "delivered");
  expect((await dev.texts("?include=sent")).map(({ direction }) => direction)).toEqual(["in", "out", "out", "out"]);
  await interrupt(dev);
});

test("numbers end as they say, a dropped connection marks only its own text, and Ctrl-C waits for no answer that never comes", async () => {
  await using dev = await startDev();
  const to = (ending: string) => dev.text({ to: `+25887${"0".repeat(5)}${ending}`, body: `a ${ending}` });
  const [unknown, slow, refused, dropped, silent] = await Promise.all(["01", "07", "10", "17", "16"].map(to));
  const others = await Promise.all(Array.from({ length: 50 }, (_, nth) => dev.text({ to: ONE, body: `n.º ${nth}` })));
  expect(await dev.until(unknown ?? "", ({ status }) => status === "undelivered")).toMatchObject({
    deliveryState: "undeliverable",
    failureCategory: "unknown_subscriber",
    providerStatus: "UNDELIV",
    providerErrorCode: "001",
  });
  expect(await dev.until(refused ?? "", ({ status }) => status === "failed")).toMatchObject({
    failureCategory: "invalid_destination",
    providerStatus: "ESME_RINVDSTADR",
    credits: 0,
  });
  expect(await dev.until(dropped ?? "", ({ status }) => status === "delivered")).toMatchObject({
    possibleDuplicate: true,
  });
  expect(await dev.texts("?to=+258870000017")).toHaveLength(2);
  for (const id of others) await dev.until(id, ({ status }) => status === "delivered");
  const ofOthers = (await Promise.all(others.map((id) => dev.ask("GET", `/api/v1/sms/${id}`)))).map(({ body }) => body);
  expect(ofOthers.filter(({ data }) => data.possibleDuplicate === true)).toEqual([]);
  await dev.until(slow ?? "", ({ deliveryState }) => deliveryState === "enroute");
  expect((await dev.ask("GET", `/api/v1/sms/${silent}`)).body.data.status).toBe("sending");
  const stopped = performance.now();
  await interrupt(dev);
  expect(performance.now() - stopped).toBeLessThan(5_000);
});

test("with --prefixes numbers of other countries are texted, and only those", async () => {
  await using dev = await startDev(["--prefixes", "+3519xxxxxxxx,+5511"]);
  const [maria, joao] = ["+351912345678", "+5511987654321"];
  for (const to of [maria, joao]) {
    const end = await dev.until(
      await dev.text({ to, body: "O seu código é 482913." }),
      ({ status }) => status === "delivered",
    );
    expect(end).toMatchObject({ to, deliveryState: "delivered", providerStatus: "DELIVRD", segments: 1 });
    expect(await dev.texts(`?to=${to}`)).toMatchObject([{ to, body: "O seu código é 482913." }]);
  }
  const refused = await dev.ask("POST", "/api/v1/sms", { to: ONE, body: "Olá" });
  expect([refused.status, refused.body.errors[0].message]).toEqual([
    422,
    `to must be a mobile number in E.164 that begins with +3519, +5511, like ${maria}`,
  ]);
  expect((await dev.ask("POST", "/sandbox/texts", { from: maria, body: "PARAR" })).status).toBe(201);
  const list = (await dev.ask("GET", "/api/v1/suppressions?channel=sms")).body.data as Json[];
  expect(list).toMatchObject([{ address: maria, reason: "opt_out" }]);
  await interrupt(dev);

  await using wrong = spawnPombo(["dev", "--prefixes", "+3519,84"], {});
  expect((await within(LIMIT_MS, "the end", wrong.ended)).code).toBe(2);
  expect(wrong.stderr()).toContain("--prefixes: 84 must be the first digits of mobile numbers with + and country code");
});

test("with --data the phones' texts are there again at the next run, whose SMSC has another port", async () => {
  const folder = mkdtempSync(join(tmpdir(), "pombo-phones-kept-"));
  try {
    for (const nth of [1, 2]) {
      await using dev = await startDev(["--data", folder]);
      await dev.until(await dev.text({ to: ONE, body: `run ${nth}` }), ({ status }) => status === "delivered");
      expect(await dev.texts()).toHaveLength(nth);
      await interrupt(dev);
    }
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
});
