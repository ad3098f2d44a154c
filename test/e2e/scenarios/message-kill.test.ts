// kill -9, again and again, while emails with files, copies and times are accepted, taken back, fall due and leave: none is
// lost, early or wrong, only what was between dot and record comes twice, and no file is missing or left over.
import { expect, setDefaultTimeout, test } from "bun:test";
import { createHash, randomBytes } from "node:crypto";
import { waitUntil } from "../../support/peers/process.ts";
import { within } from "./child.ts";
import { type Arrival, startCountingMx } from "./counting-mx.ts";
import { countHalfFiles, queueDepth, readEmails, readFiles, type StoredEmail } from "./stored.ts";
import { bugsOf, call, createWorld, DESTINATIONS, emailTo, type Reply, type Served } from "./world.ts";

const ROUNDS = Number(process.env["ROUNDS"] ?? 5);
const LIMIT_MS = 60_000;
const CUSTOMERS = 4;
/** With the copies of each tenth they are 520 emails. */
const MAILS = 400;
/** Every fourth request is a batch. */
const BATCH = 5;
const KIB = 1024;
/** Its content is stored in two pieces. */
const LARGE_BYTES = 1536 * KIB;
/** The times lie so far behind the first try of a request. */
const SOONEST_MS = 500;
const SPAN_MS = 4_000;
/** The mail server takes so long over a dot at most, so that kills find messages in between; one that waits for a file waits so long. */
const SLOWEST_ANSWER_MS = 30;
const LATEST_KILL_MS = 1_000;
const LATEST_START_MS = 300;
const HOUR_MS = 3_600_000;

setDefaultTimeout((ROUNDS + 4) * LIMIT_MS);

interface File {
  filename: string;
  content: string;
  sha256: string;
}

interface Mail {
  subject: string;
  recipients: { to: string[]; cc?: string[]; bcc?: string[] };
  files: File[];
  /** Unix ms; null: at once. */
  sendAt: number | null;
  /** Its recipients' emails, once it is accepted. */
  emails: { id: string; address: string }[];
  /** A cancel took it back, or may have. */
  canceled: "no" | "perhaps" | "yes";
}

interface Order {
  key: string;
  mails: Mail[];
}

function makeFile(filename: string, bytes: number, isText: boolean): File {
  const content = isText ? Buffer.alloc(bytes, `${filename} has this line.\n`) : randomBytes(bytes);
  return { filename, content: content.toString("base64"), sha256: hash(content) };
}

function hash(content: Uint8Array): string {
  return createHash("sha256").update(content).digest("hex");
}

/** A small file of its own each, a larger one some; half of the larger ones are the same. */
function makeMails(): Mail[] {
  const logo = makeFile("logo.png", 200 * KIB, false);
  const terms = makeFile("terms.pdf", LARGE_BYTES, false);
  return Array.from({ length: MAILS }, (_, number) => {
    const address = (of: string) => `${of}${number}@${DESTINATIONS[number % DESTINATIONS.length]}`;
    const files = [makeFile(`receipt-${number}.pdf`, 3 * KIB, number % 2 === 0)];
    if (number % 5 === 0) files.push(number % 2 === 0 ? logo : makeFile(`picture-${number}.png`, 200 * KIB, false));
    if (number % 20 === 7) files.push(number % 40 === 7 ? terms : makeFile(`book-${number}.pdf`, LARGE_BYTES, false));
    const copies = { to: [address("a"), address("b")], cc: [address("c")], bcc: [address("hidden")] };
    return {
      subject: `Email ${number}`,
      recipients: number % 10 === 3 ? copies : { to: [address("a")] },
      files,
      sendAt: null,
      emails: [],
      canceled: "no",
    };
  });
}

function makeOrders(mails: Mail[]): Order[] {
  const orders: Order[] = [];
  for (let at = 0; at < mails.length; at += orders.at(-1)?.mails.length ?? 0)
    orders.push({ key: `order-${orders.length}`, mails: mails.slice(at, at + (orders.length % 4 === 3 ? BATCH : 1)) });
  return orders;
}

/** Two of three get a time, the same with each try. */
function makeRequest({ key, mails }: Order) {
  const emails = mails.map((mail) => {
    const number = Number(mail.subject.split(" ")[1]);
    if (number % 3 !== 0) mail.sendAt = Date.now() + SOONEST_MS + ((number * 37) % 100) * (SPAN_MS / 100);
    return {
      ...emailTo("", mail.subject),
      ...mail.recipients,
      attachments: mail.files.map(({ filename, content }) => ({ filename, content })),
      ...(mail.sendAt === null ? {} : { sendAt: new Date(mail.sendAt).toISOString() }),
    };
  });
  const path = "/api/v1/emails";
  const body = emails.length === 1 ? { path, body: emails[0] } : { path: `${path}/batch`, body: { emails } };
  return { method: "POST", idempotencyKey: key, ...body };
}

test("after kill -9 at any moment no email is lost, early or wrong, and no file is missing or left over", async () => {
  const slowly = () =>
    new Promise<string>((resolve) => setTimeout(() => resolve("250 2.0.0 Ok"), Math.random() * SLOWEST_ANSWER_MS));
  const came = new Map<Arrival, string[]>();
  await using mx = await startCountingMx(slowly, (arrival, content) => void came.set(arrival, listFiles(content)));
  await using world = await createWorld({ mxPort: mx.port });
  const mails = makeMails();
  const orders = makeOrders(mails).values();
  let serving = Promise.withResolvers<Served>();

  /** Until it is answered; `lost`: so many tries were not. */
  const ask = async (request: Parameters<typeof call>[2]): Promise<{ reply: Reply; lost: number }> => {
    for (let lost = 0; ;) {
      const { url } = await serving.promise;
      try {
        const reply = await call(url, world.key, request);
        if (reply.status !== 503) return { reply, lost };
        await Bun.sleep(50);
      } catch {
        lost += 1;
        // The port of a process that was just killed refuses at once: let its end be noticed.
        await Bun.sleep(1);
      }
    }
  };
  const runCustomer = async () => {
    for (const order of orders) {
      const request = makeRequest(order);
      const { reply } = await ask(request);
      expect([reply.status, reply.body.errors]).toEqual([202, undefined]);
      for (const [index, accepted] of [reply.body.data].flat().entries()) note(order.mails[index], accepted);
      for (const mail of order.mails) await change(mail, ask);
    }
  };
  const emails = () => mails.flatMap((mail) => mail.emails);
  const expected = mails.reduce((sum, { recipients }) => sum + Object.values(recipients).flat().length, 0);
  const progress = () => (emails().length + mx.arrivals.length) / (2 * expected);

  const customers = Promise.all(Array.from({ length: CUSTOMERS }, runCustomer));
  let halves = 0;
  for (let round = 1; round <= ROUNDS; round += 1) {
    await using served = await world.serve();
    halves = Math.max(halves, countHalfFiles(world.dataDir));
    serving.resolve(served);
    await Promise.race([customers, waitUntil("some progress", LIMIT_MS, () => progress() >= round / (ROUNDS + 1.5))]);
    // Every other one between two pieces of a file, where one comes in time.
    const latestAt = performance.now() + (round % 2) * LATEST_KILL_MS;
    while (performance.now() < latestAt && countHalfFiles(world.dataDir) === 0) await Bun.sleep(1);
    serving = Promise.withResolvers();
    served.signal("SIGKILL");
    await served.ended;
    expect(bugsOf(served)).toEqual([]);
    // Some fall due meanwhile.
    await Bun.sleep(Math.random() * LATEST_START_MS);
  }
  await using last = await world.serve();
  serving.resolve(last);
  await within(LIMIT_MS, "the customers", customers);
  await waitUntil("the queue is empty", LIMIT_MS, () => queueDepth(world.dataDir) === 0);
  last.signal("SIGTERM");
  expect(await last.ended).toEqual({ code: 0, signal: null });
  expect(bugsOf(last)).toEqual([]);
  await within(
    LIMIT_MS,
    "the end of the connections",
    mx.until(() => mx.openConnections === 0),
  );

  const stored = readEmails(world.dataDir);
  const arrivals = Map.groupBy(mx.arrivals, ({ messageId, to }) => `${messageId.split("@")[0]} ${to}`);
  let twice = 0;
  for (const mail of mails) {
    for (const { id, address } of mail.emails) {
      const copies = arrivals.get(`${mail.emails[0]?.id} ${address}`) ?? [];
      expectTrue(mail, { id, email: stored.get(id), copies, came });
      if (copies.length > 1) twice += 1;
    }
  }
  expect([emails().length, new Set(emails().map(({ id }) => id)).size, stored.size]).toEqual([
    expected,
    expected,
    expected,
  ]);
  // Nothing came that nobody had sent.
  expect(mails.flatMap((mail) => mail.emails.map(({ address }) => `${mail.emails[0]?.id} ${address}`))).toEqual(
    expect.arrayContaining([...arrivals.keys()]),
  );
  const files = readFiles(world.dataDir, Date.now() + 2 * HOUR_MS);
  expect(files.kept.sort()).toEqual(
    [...new Set(mails.flatMap((mail) => mail.files.map(({ sha256 }) => sha256)))].sort(),
  );
  expect(files).toMatchObject({ pieces: files.piecesOfKept, countedBytes: files.storedBytes });
  console.log(
    `messages: ${ROUNDS} kills, ${expected} emails, ${mx.arrivals.length} arrivals, ${twice} twice and marked; ` +
      `${files.kept.length} files, ${halves} half ones left by kills, ${files.removed} swept`,
  );
});

function note(mail: Mail | undefined, accepted: { id: string; recipients?: Mail["emails"] }): void {
  if (mail !== undefined)
    mail.emails = accepted.recipients ?? [{ id: accepted.id, address: mail.recipients.to[0] ?? "" }];
}

/** Takes some of those with a time back, with their copies, and gives some another time. */
async function change(
  mail: Mail,
  ask: (request: Parameters<typeof call>[2]) => Promise<{ reply: Reply; lost: number }>,
) {
  const number = Number(mail.subject.split(" ")[1]);
  const [first] = mail.emails;
  if (mail.sendAt === null || first === undefined) return;
  const path = `/api/v1/emails/${first.id}`;
  if (number % 11 === 1) {
    const { reply, lost } = await ask({ method: "POST", path: `${path}/cancel?group=true` });
    expect([200, 409]).toContain(reply.status);
    // Some of several may have gone by then.
    if (reply.status === 200) mail.canceled = mail.emails.length === 1 ? "yes" : "perhaps";
    else if (lost > 0) mail.canceled = "perhaps";
  } else if (number % 11 === 2 && mail.emails.length === 1) {
    const sendAt = mail.sendAt + 1_000;
    const { reply } = await ask({ method: "PATCH", path, body: { sendAt: new Date(sendAt).toISOString() } });
    expect([200, 409]).toContain(reply.status);
    if (reply.status === 200) mail.sendAt = sendAt;
  }
}

/** The email to one recipient and its outcome. */
interface Outcome {
  id: string;
  email: StoredEmail | undefined;
  copies: Arrival[];
  came: Map<Arrival, string[]>;
}

function expectTrue({ sendAt, canceled, files }: Mail, { id, email, copies, came }: Outcome): void {
  const statuses = { no: ["delivered"], perhaps: ["canceled", "delivered"], yes: ["canceled"] }[canceled];
  expect([id, statuses]).toEqual([id, expect.arrayContaining([email?.status])]);
  expect([id, copies.filter(({ arrivedAt }) => arrivedAt < (sendAt ?? 0))]).toEqual([id, []]);
  const least = email?.status === "delivered" ? 1 : 0;
  expect([id, copies.length >= least]).toEqual([id, true]);
  if (copies.length > least) expect([id, email?.possibleDuplicate]).toEqual([id, true]);
  const expected = files.map(({ filename, sha256 }) => `${filename} ${sha256}`);
  for (const copy of copies) expect([id, came.get(copy)]).toEqual([id, expected]);
}

/** Names and hashes; also that no bcc shows. */
function listFiles(content: string): string[] {
  const [head = ""] = content.split("\r\n\r\n", 1);
  if (/hidden/.test(head)) return [`a blind copy shows: ${head}`];
  return content.split("\r\n--").flatMap((part) => {
    const name = /^Content-Disposition: attachment;\s+filename="?([^"\r\n;]+)/im.exec(part.slice(0, 1_000))?.[1];
    const body = part.slice(part.indexOf("\r\n\r\n"));
    return name === undefined ? [] : [`${name} ${hash(Buffer.from(body, "base64"))}`];
  });
}
