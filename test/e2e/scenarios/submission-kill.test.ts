// kill -9 in the middle of a thousand submissions: programs hand in mail over TLS, and again after every kill what had no
// 250. What had its 250 arrives once; what had none is sent again by its program, as it was, and arrives once.

import { expect, setDefaultTimeout, test } from "bun:test";
import { createTransport } from "nodemailer";
import { waitUntil } from "../../support/peers/process.ts";
import { spawnPombo, within } from "./child.ts";
import { startCountingMx } from "./counting-mx.ts";
import { queueDepth, readEmails } from "./stored.ts";
import { bugsOf, createWorld, DESTINATIONS, type Served } from "./world.ts";

const ROUNDS = Number(process.env["ROUNDS"] ?? 5);
const LIMIT_MS = 60_000;
const PROGRAMS = 6;
/** Every fifth has three recipients. */
const MESSAGES = 1_000;
const SLOWEST_ANSWER_MS = 20;
/** A kill comes after at most so many 250s of a start. */
const LATEST_KILL = 200;
const LATEST_BOOT_MS = 300;

setDefaultTimeout((ROUNDS + 4) * LIMIT_MS);

interface Message {
  number: number;
  recipients: string[];
  /** Octet for octet the same with each try: a program keeps what it could not hand in. */
  raw: string;
  /** The 250s that its program heard. */
  answers: string[];
}

function makeMessage(number: number): Message {
  const address = (name: string) => `${name}${number}@${DESTINATIONS[number % DESTINATIONS.length]}`;
  const recipients = number % 5 === 0 ? [address("a"), address("b"), address("hidden")] : [address("a")];
  const visible = recipients.filter((each) => !each.startsWith("hidden")).join(", ");
  const fields = [
    `From: Loja <loja@loja.test>`,
    `To: ${visible}`,
    `Subject: message ${number}`,
    `Date: Sat, 28 Nov 2026 12:00:00 +0000`,
    `Message-ID: <${number}@program.test>`,
    `Content-Type: text/plain; charset=utf-8`,
  ];
  return { number, recipients, raw: `${fields.join("\r\n")}\r\n\r\nMessage ${number}\r\n`, answers: [] };
}

test("what had its 250 arrives once, and what had none is handed in again and arrives once", async () => {
  const slowly = () =>
    new Promise<string>((resolve) => setTimeout(() => resolve("250 2.0.0 Ok"), Math.random() * SLOWEST_ANSWER_MS));
  await using mx = await startCountingMx(slowly);
  await using world = await createWorld({
    mxPort: mx.port,
    settings: { submission: { listen: ["127.0.0.1:0"] }, rate_limits: { sends_per_second: 0 } },
  });
  const messages = Array.from({ length: MESSAGES }, (_, number) => makeMessage(number));
  const waiting = messages.values();
  let serving = Promise.withResolvers<Served>();
  const seen = { answers: 0, lost: 0 };
  const watchers = new Set<() => void>();

  const handIn = async (message: Message): Promise<void> => {
    for (;;) {
      const { submissionPort: port } = await serving.promise;
      const transport = createTransport({
        ...{ host: "127.0.0.1", port, requireTLS: true, tls: { rejectUnauthorized: false } },
        auth: { user: "pombo", pass: world.key },
      });
      try {
        const { response } = await transport.sendMail({
          envelope: { from: "loja@loja.test", to: message.recipients },
          raw: message.raw,
        });
        message.answers.push(response);
        seen.answers += 1;
        for (const watcher of watchers) watcher();
        // One of ten forgets the answer, as one that was killed itself.
        if (message.number % 10 === 3 && message.answers.length === 1) continue;
        return;
      } catch {
        seen.lost += 1;
        await new Promise<void>((resolve) => setImmediate(resolve));
      } finally {
        transport.close();
      }
    }
  };
  const runProgram = async () => {
    for (const message of waiting) await handIn(message);
  };
  const ended = Promise.all(Array.from({ length: PROGRAMS }, runProgram));
  ended.catch(() => undefined); // each wait has it beside it
  const until = (isTrue: () => boolean) =>
    new Promise<void>((resolve) => {
      const watcher = () => {
        if (!isTrue()) return;
        watchers.delete(watcher);
        resolve();
      };
      watchers.add(watcher);
      watcher();
    });

  for (let round = 0; round < ROUNDS; round += 1) {
    if (round % 4 === 3) {
      await using process = spawnPombo(["serve", "--config", world.configFile]);
      await new Promise((resolve) => setTimeout(resolve, Math.random() * LATEST_BOOT_MS));
      process.signal("SIGKILL");
      await process.ended;
      continue;
    }
    await using process = await world.serve();
    serving.resolve(process);
    const target = seen.answers + 1 + Math.floor(Math.random() * LATEST_KILL);
    await within(LIMIT_MS, "250s", Promise.race([until(() => seen.answers >= target), ended]));
    serving = Promise.withResolvers<Served>();
    process.signal("SIGKILL");
    await process.ended;
    expect(bugsOf(process)).toEqual([]);
  }

  await using last = await world.serve();
  serving.resolve(last);
  await within(LIMIT_MS, "the last 250s", ended);
  await waitUntil("the queue is empty", LIMIT_MS, () => queueDepth(world.dataDir) === 0);
  last.signal("SIGTERM");
  expect(await last.ended).toEqual({ code: 0, signal: null });
  expect(bugsOf(last)).toEqual([]);

  const stored = [...readEmails(world.dataDir).values()];
  const wanted = messages.flatMap(({ number, recipients }) => recipients.map(() => `message ${number}`));
  expect(stored.map(({ subject }) => subject).toSorted()).toEqual(wanted.toSorted());
  expect(stored.filter(({ status }) => status !== "delivered")).toEqual([]);
  // Whoever asks again hears the first answer.
  expect(messages.filter(({ answers }) => new Set(answers).size > 1)).toEqual([]);
  const uncertain = new Set(stored.filter((each) => each.possibleDuplicate).map(({ subject }) => subject));
  const arrived = Map.groupBy(mx.arrivals, ({ subject, to }) => `${subject} to ${to}`);
  for (const { number, recipients } of messages) {
    for (const recipient of recipients) {
      const arrivals = arrived.get(`message ${number} to ${recipient}`) ?? [];
      expect(new Set(arrivals.map(({ messageId }) => messageId))).toEqual(new Set([`${number}@program.test`]));
      if (!uncertain.has(`message ${number}`)) expect([recipient, arrivals.length]).toEqual([recipient, 1]);
    }
  }
  console.log(
    `submission: ${MESSAGES} messages, ${seen.answers} 250s, ${seen.lost} tries cut off, ${wanted.length} emails, ` +
      `${mx.arrivals.length - wanted.length} came twice, ${uncertain.size} marked`,
  );
});
