// Twins across kill -9: several clients send each request a few times at once, and again after every
// kill, until they are answered. All answers under a key are the one first seen by anybody, whether
// before a kill or after; and the mail server's log knows each message of a key by one Message-ID.
import { expect, setDefaultTimeout, test } from "bun:test";
import { seeded } from "../../support/db/temporary.ts";
import { waitUntil } from "../../support/peers/process.ts";
import { spawnPombo, within } from "./child.ts";
import { startCountingMx } from "./counting-mx.ts";
import { queueDepth, readEmails, readUsage } from "./stored.ts";
import { bugsOf, call, createWorld, DESTINATIONS, emailTo, type Served, type World } from "./world.ts";

const ROUNDS = Number(process.env["ROUNDS"] ?? 5);
const SEED = Number(process.env["SEED"] ?? Date.now() % 1_000_000);
const CLIENTS = 4;
/** Requests at once under one key. */
const TWINS = 4;
const BATCH = 5;
/** A kill comes at most so many answers after a start, or so long after the process was made. */
const LATEST = { answers: 150, bootMs: 400 };
const SLOWEST_ANSWER_MS = 20;
const ROUND_LIMIT_MS = 30_000;

setDefaultTimeout((ROUNDS + 3) * ROUND_LIMIT_MS);

/** What is sent under one key. */
interface Request {
  key: string;
  path: string;
  body: unknown;
  subjects: string[];
  /** The body of the first answer that anybody saw. */
  answer: string | null;
}

test("twins get one answer and are one message, whenever kill -9 comes between them", async () => {
  console.log(`idempotency: ${ROUNDS} rounds, SEED=${SEED}`);
  const random = seeded(SEED);
  const answerTimes = seeded(SEED + 1);
  await using mx = await startCountingMx(() => later(answerTimes() * SLOWEST_ANSWER_MS, "250 2.0.0 Ok"));
  await using world = await createWorld({ mxPort: mx.port });
  let serving = Promise.withResolvers<Served>();
  const clients = startClients(world, async () => (await serving.promise).url);

  for (let round = 0; round < ROUNDS; round += 1) {
    if (random() < 0.25) {
      await using process = spawnPombo(["serve", "--config", world.configFile]);
      await later(Math.floor(random() * LATEST.bootMs), null);
      process.signal("SIGKILL");
      await process.ended;
      continue;
    }
    await using process = await world.serve();
    serving.resolve(process);
    const target = clients.answers + 1 + Math.floor(random() * LATEST.answers);
    const isEnough = clients.until(() => clients.answers >= target);
    await within(ROUND_LIMIT_MS, "answers", Promise.race([isEnough, clients.ended]));
    serving = Promise.withResolvers<Served>();
    process.signal("SIGKILL");
    await process.ended;
    expect(bugsOf(process)).toEqual([]);
  }

  await using last = await world.serve();
  serving.resolve(last);
  const before = clients.answers;
  await within(
    ROUND_LIMIT_MS,
    "more answers",
    Promise.race([clients.until(() => clients.answers > before + 40), clients.ended]),
  );
  clients.stop();
  await within(ROUND_LIMIT_MS, "the last answers", clients.ended);
  await expectReplays(last, world, clients.requests);
  await waitUntil("the queue is empty", ROUND_LIMIT_MS, () => queueDepth(world.dataDir) === 0);
  const { body } = await call(last.url, world.key, { path: "/api/v1/workspace/usage" });
  last.signal("SIGTERM");
  expect(await last.ended).toEqual({ code: 0, signal: null });
  expect(bugsOf(last)).toEqual([]);

  const stored = readEmails(world.dataDir);
  const wanted = clients.requests.flatMap(({ subjects }) => subjects);
  expect([...stored.values()].map(({ subject }) => subject).toSorted()).toEqual(wanted.toSorted());
  expect([...stored.values()].filter(({ status }) => status !== "delivered")).toEqual([]);
  // Neither quota nor the rates counted anything twice, or lost it.
  const { emails, answered } = readUsage(world.dataDir);
  expect([body.data.usage.emailsThisMonth, emails, answered]).toEqual([wanted.length, wanted.length, wanted.length]);
  const arrived = Map.groupBy(mx.arrivals, ({ subject }) => subject);
  for (const { uid, subject, possibleDuplicate } of stored.values()) {
    const arrivals = arrived.get(subject) ?? [];
    expect([subject, [...new Set(arrivals.map(({ messageId }) => messageId.split("@")[0]))]]).toEqual([subject, [uid]]);
    // More than once only what a kill found between its dot and the record of its answer.
    if (!possibleDuplicate) expect([subject, arrivals.length]).toEqual([subject, 1]);
  }
  console.log(
    `idempotency: ${clients.requests.length} keys, ${clients.answers} answers, ${clients.replays} of them replays, ` +
      `${clients.retries} requests cut off; ${mx.arrivals.length - wanted.length} messages came twice`,
  );
});

/** Clients that send request after request, each under a key of its own and several times at once. */
function startClients(world: World, urlOf: () => Promise<string>) {
  const watchers = new Set<() => void>();
  const requests: Request[] = [];
  const seen = { answers: 0, replays: 0, retries: 0 };
  let isOver = false;

  const sendOne = async (request: Request) => {
    for (;;) {
      const url = await urlOf();
      let answer: { status: number; text: string; isReplay: boolean };
      try {
        answer = await post(url, world.key, request);
      } catch {
        seen.retries += 1;
        // The port of a process that was just killed refuses at once: let its end be noticed.
        await new Promise<void>((resolve) => setImmediate(resolve));
        continue;
      }
      expect([request.key, answer.status]).toEqual([request.key, 202]);
      request.answer ??= answer.text;
      expect([request.key, answer.text]).toEqual([request.key, request.answer]);
      seen.answers += 1;
      if (answer.isReplay) seen.replays += 1;
      for (const watcher of watchers) watcher();
      return;
    }
  };
  const runClient = async () => {
    while (!isOver) {
      const request = makeRequest(requests.length);
      requests.push(request);
      await Promise.all(Array.from({ length: TWINS }, () => sendOne(request)));
    }
  };
  const ended = Promise.all(Array.from({ length: CLIENTS }, runClient));
  ended.catch(() => undefined); // each wait has it beside it
  return {
    requests,
    ended,
    get answers() {
      return seen.answers;
    },
    get replays() {
      return seen.replays;
    },
    get retries() {
      return seen.retries;
    },
    until: (isTrue: () => boolean) =>
      new Promise<void>((resolve) => {
        const watcher = () => {
          if (!isTrue()) return;
          watchers.delete(watcher);
          resolve();
        };
        watchers.add(watcher);
        watcher();
      }),
    stop: () => void (isOver = true),
  };
}

/** Every other one is a batch. */
function makeRequest(number: number): Request {
  const isBatch = number % 2 === 1;
  const subjects = Array.from({ length: isBatch ? BATCH : 1 }, (_, index) => `key ${number} item ${index}`);
  const emails = subjects.map((subject, index) =>
    emailTo(`user${number}@${DESTINATIONS[(number + index) % DESTINATIONS.length]}`, subject),
  );
  return {
    key: `key-${number}`,
    path: isBatch ? "/api/v1/emails/batch" : "/api/v1/emails",
    body: isBatch ? { emails } : emails[0],
    subjects,
    answer: null,
  };
}

/** Rejects when no whole answer came. */
async function post(url: string, key: string, { key: idempotencyKey, path, body }: Request) {
  const response = await fetch(url + path, {
    method: "POST",
    headers: { "x-api-key": key, "content-type": "application/json", "idempotency-key": idempotencyKey },
    body: JSON.stringify(body),
    signal: AbortSignal.timeout(ROUND_LIMIT_MS),
  });
  const text = await response.text();
  return { status: response.status, text, isReplay: response.headers.get("idempotent-replayed") === "true" };
}

async function expectReplays(served: Served, world: World, requests: Request[]): Promise<void> {
  for (const request of requests) {
    const again = await post(served.url, world.key, request);
    expect({ key: request.key, ...again }).toEqual({
      key: request.key,
      status: 202,
      text: request.answer ?? "",
      isReplay: true,
    });
  }
}

function later<T>(delayMs: number, value: T): Promise<T> {
  return new Promise((resolve) => setTimeout(() => resolve(value), delayMs));
}
