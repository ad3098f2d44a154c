// The list against a plain look at every row, over random histories: whatever was claimed, deferred,
// given back, canceled, retried, ended, reported about by mail, rolled back or cut off by a crash, each
// filter's total and pages are those of the emails that it names.

import { expect, test } from "bun:test";
import { Committer } from "../../../../../src/platform/db/group-commit.ts";
import { openDatabase } from "../../../../../src/platform/db/open.ts";
import { cancelEmail } from "../../../../../src/modules/emails/api/cancel.ts";
import { retryEmail } from "../../../../../src/modules/emails/api/retry.ts";
import { endEmail } from "../../../../../src/modules/emails/events.ts";
import { RefusalWatch } from "../../../../../src/modules/emails/delivery/refusal-watch.ts";
import { type EmailReport, processReport } from "../../../../../src/modules/emails/reports/process-report.ts";
import { EMAIL_STATUSES, type EmailStatus } from "../../../../../src/modules/emails/api/schema.ts";
import { toStatus } from "../../../../../src/modules/emails/api/serialize.ts";
import { USUAL } from "../../../../../src/modules/emails/store/store.ts";
import type { EmailFilter } from "../../../../../src/modules/emails/store/list-store.ts";
import { AppError } from "../../../../../src/platform/errors.ts";
import { freeInterrupted } from "../../../../../src/platform/queue/recover.ts";
import type { Job } from "../../../../../src/platform/queue/job.ts";
import { openStores } from "../../../../../src/server/stores.ts";
import { seeded, temporaryFolder } from "../../../../support/db/temporary.ts";

const STEPS = 700;
const CHECK_EVERY = 60;
const WORKSPACES = [1, 2];
const RECIPIENTS = ["a@example.com", "b@example.com", "c@example.net"];
const SENDERS = ["loja@loja.test", "caixa@loja.test"];
const TAG = "receipt";
const ENDS = ["delivered", "sent", "bounced", "failed", "suppressed"] as const;

type Random = () => number;

interface Domain {
  id: number;
  workspaceId: number;
}

/** One life of the process: what a crash takes away. */
interface Life {
  db: ReturnType<typeof openDatabase>;
  committer: Committer;
  stores: ReturnType<typeof openStores>;
  running: Map<number, Job>;
}

interface World {
  random: Random;
  file: string;
  now: number;
  nextDomainId: number;
  domains: Domain[];
  life: Life;
  /** Statuses that were looked at, and `canceled`, `retried`: the walk must come everywhere. */
  seen: Set<string>;
}

const noCounts = { accepted: () => undefined, ended: () => undefined, attempted: () => undefined };

function begin(file: string): Life {
  const db = openDatabase(file);
  // A crash here is the end of a process, not of the power.
  db.sqlite.run("PRAGMA synchronous = OFF");
  return { db, committer: new Committer(db), stores: openStores(db, noCounts, new Uint8Array(32)), running: new Map() };
}

function pick<T>(random: Random, from: readonly T[]): T | undefined {
  return from[Math.floor(random() * from.length)];
}

/** Rejected when the storage fails, and only then. */
async function commit(on: World, work: () => void): Promise<void> {
  await on.life.committer.commit(work).catch((error: unknown) => {
    if (!String(error).includes("readonly") && !String(error).includes("planted")) throw error;
  });
}

function accept(on: World): void {
  const domain = pick(on.random, on.domains);
  if (domain === undefined) return;
  const { emails, queue } = on.life.stores;
  const to = pick(on.random, RECIPIENTS) ?? "";
  const from = pick(on.random, SENDERS) ?? "";
  const uid = crypto.randomUUID();
  const sendAt = on.random() < 0.3 ? on.now + Math.floor(on.random() * 100) : null;
  const id = emails.insert({
    ...USUAL,
    ...{ uid, workspaceId: domain.workspaceId, domainId: domain.id, subject: "x", replyTo: null },
    ...{ createdAt: on.now, sendAt },
    ...{ sender: from, senderAddress: from, senderDomain: "loja.test", recipient: to, recipientAddress: to },
    tag: on.now % 3 === 0 ? TAG : null,
    returnPath: "b@loja.test",
    body: { content: Buffer.from("x"), htmlBytes: null, textBytes: 1, encoding: "plain", mime: null },
  });
  emails.addTotal({ workspaceId: domain.workspaceId, domainId: domain.id, status: "queued" }, 1);
  const laneId = queue.laneFor(domain.workspaceId, to);
  const owner = { workspaceId: domain.workspaceId, domainId: domain.id, createdAt: on.now };
  queue.add({ ...owner, id, laneId, nextAt: sendAt ?? on.now, sendAt, expiresAt: on.now + 1e9 });
}

function claim(on: World): void {
  const { queue } = on.life.stores;
  const laneId = queue.laneFor(pick(on.random, WORKSPACES) ?? 1, pick(on.random, RECIPIENTS) ?? "");
  const limit = 1 + Math.floor(on.random() * 4);
  const claimed = queue.claim({ laneId, now: on.now, limit, retryAt: () => on.now + 30 });
  for (const job of claimed) on.life.running.set(job.id, job);
}

function takeRunning(on: World): Job | undefined {
  const job = pick(on.random, [...on.life.running.values()]);
  if (job !== undefined) on.life.running.delete(job.id);
  return job;
}

function end(on: World): void {
  const job = takeRunning(on);
  const status = pick(on.random, ENDS);
  if (job === undefined || status === undefined || !on.life.stores.queue.complete(job)) return;
  const times = { endedAt: on.now, sentAt: null, deliveredAt: null };
  endEmail(job.id, { status, ...times, attempts: job.attempt }, { ...on.life.stores, ...edgesOf(on) });
}

function defer(on: World): void {
  const job = takeRunning(on);
  if (job !== undefined)
    on.life.stores.queue.retry(job, { nextAt: on.now + 20, state: { lastReply: "451 Later", badDomainAt: null } });
}

function giveBack(on: World): void {
  const job = takeRunning(on);
  if (job !== undefined) on.life.stores.queue.release(job);
}

/** A row is freed whose attempt was taken for lost and goes on. */
function lose(on: World): void {
  const job = pick(on.random, [...on.life.running.values()]);
  if (job !== undefined) on.life.stores.queue.freeInterrupted({ id: job.id, attempts: job.attempt }, null);
}

/** What may come back by mail about an email, whatever became of it. */
const REPORTS: EmailReport[] = (["bounce", "delayed", "complaint"] as const).map((kind) => {
  const returnPaths: string[] = [];
  if (kind === "delayed") return { kind, status: "4.4.1", diagnostic: null, returnPaths };
  if (kind === "complaint") return { kind, feedbackType: "abuse", isUnwanted: true, returnPaths };
  const codes = { status: "5.1.1", smtpCode: 550, diagnostic: "550 5.1.1 No such user", remoteMta: "mx.example.com" };
  const judged = { isPermanent: true, isHard: true, category: "invalid_recipient", type: "permanent" } as const;
  return { kind, recipients: [], returnPaths, finalRecipient: null, ...codes, ...judged };
});

function report(on: World): void {
  // As likely about the few that are being sent as about the many that were.
  const every = Map.groupBy(everyEmail(on), ({ status }) => status);
  const found = pick(on.random, pick(on.random, [...every.values()]) ?? []);
  const said = pick(on.random, REPORTS);
  if (found === undefined || said === undefined) return;
  const nothing = () => undefined;
  const rates = { answered: nothing, reported: nothing };
  const transport = { isDirect: true, siteFor: (domain: string) => domain, deliver: () => Promise.reject(new Error()) };
  const environment = { findTransport: () => transport, show: (words: string) => words };
  const workspaces = { byId: () => ({}) };
  const parts = {
    ...on.life.stores,
    ...edgesOf(on),
    ...environment,
    workspaces,
    rates,
    reportedRefusals: new RefusalWatch(),
  };
  const reported = { report: said, reporter: "mx.example.com", at: on.now, isFromProvider: false };
  const { outcome } = processReport(found.uid, reported, parts);
  on.seen.add(`${found.status} ${outcome}`);
}

/** A closure that does all of this and then fails: nothing of it may stay. */
async function rollBack(on: World): Promise<void> {
  const running = new Map(on.life.running);
  await commit(on, () => {
    for (const work of [accept, claim, defer, end, report, giveBack, accept]) work(on);
    throw new Error("planted");
  });
  on.life.running = running;
}

/** A whole transaction that cannot be made durable. */
async function failToStore(on: World): Promise<void> {
  const running = new Map(on.life.running);
  on.life.db.sqlite.run("PRAGMA query_only = ON");
  await Promise.all([accept, defer, end, report, giveBack].map((work) => commit(on, () => work(on))));
  on.life.db.sqlite.run("PRAGMA query_only = OFF");
  on.life.running = running;
}

async function ask(on: World, what: "cancel" | "retry"): Promise<void> {
  const { emails, queue } = on.life.stores;
  const every = everyEmail(on);
  const waiting = every.filter(({ status }) => ["delivery_delayed", "queued", "scheduled"].includes(status));
  const found = pick(on.random, on.random() < 0.8 ? waiting : every);
  if (found === undefined) return;
  const parts = { emails, queue, commit: on.life.committer.commit, ...edgesOf(on), nudge: () => undefined };
  const scope = { workspaceId: found.workspaceId, domainId: null };
  try {
    await (what === "cancel" ? cancelEmail(scope, found.uid, parts) : retryEmail(scope, found.uid, parts));
    on.seen.add(`${what} done`);
  } catch (error) {
    if (!(error instanceof AppError)) throw error;
  }
}

function edgesOf(on: World) {
  return {
    recordEvent: () => undefined,
    clock: { now: () => on.now, after: () => () => undefined },
    log: {
      event: () => undefined,
      error: (where: string, error: unknown) => {
        throw new Error(where, { cause: error });
      },
    },
  };
}

async function deleteDomain(on: World): Promise<void> {
  const domain = pick(on.random, on.domains);
  if (domain === undefined) return;
  const parts = { ...on.life.stores, commit: on.life.committer.commit, ...edgesOf(on) };
  on.domains = on.domains.filter((one) => one !== domain);
  on.domains.push({ id: on.nextDomainId++, workspaceId: domain.workspaceId });
  await parts.commit(() => {
    // As src/modules/emails/delivery/deleted-domain-sweep.ts does.
    for (const { id } of parts.emails.listWaitingOfDomain(
      { workspaceId: domain.workspaceId, domainId: domain.id },
      1_000,
    )) {
      const attempts = parts.queue.removeWaiting(id);
      if (attempts === null) continue;
      endEmail(id, { status: "failed", endedAt: parts.clock.now(), failedReason: "gone", attempts }, parts);
    }
  });
}

/** The process ends with rows in flight; they are freed at the next start. */
async function crash(on: World): Promise<void> {
  on.life.db.close();
  on.life = begin(on.file);
  const { queue, emails } = on.life.stores;
  await freeInterrupted({
    ...{ queue, handler: { recordUncertain: ({ id }) => emails.setPossibleDuplicate(id) } },
    ...{ commit: on.life.committer.commit, ...edgesOf(on) },
    random: { bytes: (count) => new Uint8Array(count), unit: on.random },
    failed: { keep: () => undefined, has: () => false, getName: String },
    freed: () => undefined,
  });
}

const WORKS = [accept, accept, claim, claim, end, defer, defer, giveBack, giveBack, lose, report, report];

async function step(on: World): Promise<void> {
  // The clock is set back now and then.
  on.now += Math.floor(on.random() * 20) - (on.random() < 0.05 ? 60 : 0);
  const chance = on.random();
  if (chance < 0.08) return ask(on, "cancel");
  if (chance < 0.16) return ask(on, "retry");
  if (chance < 0.2) return rollBack(on);
  if (chance < 0.23) return failToStore(on);
  if (chance < 0.25) return deleteDomain(on);
  if (chance < 0.28) return crash(on);
  // Some of them in one transaction.
  const works = Array.from({ length: 1 + Math.floor(on.random() * 5) }, () => pick(on.random, WORKS) ?? accept);
  await Promise.all(works.map((work) => commit(on, () => work(on))));
}

interface Row {
  uid: string;
  workspaceId: number;
  domainId: number;
  to: string;
  from: string;
  tag: string | null;
  status: EmailStatus;
}

type Stored = Omit<Row, "status"> & { stored: EmailStatus } & Record<"attempts" | "inFlight" | "sendAt", number | null>;

/** Every email there is, in the list's order, by no index of its own and no counter. */
function everyEmail(on: World): Row[] {
  return on.life.db.sqlite
    .query<Stored, []>(
      `SELECT e.uid, e.workspace_id AS workspaceId, e.domain_id AS domainId, e.recipient_address AS "to",
         e.sender_address AS "from", e.tag, e.status AS stored, q.attempts, q.in_flight AS inFlight, q.send_at AS sendAt
       FROM email e LEFT JOIN email_queue q ON q.id = e.id ORDER BY e.created_at DESC, e.id DESC`,
    )
    .all()
    .map(({ stored, attempts, inFlight, sendAt, ...row }) => {
      const queue = attempts === null ? null : { attempts, inFlight: inFlight === 1, sendAt };
      const status = toStatus(stored, queue);
      on.seen.add(status === "sending" && attempts !== null && attempts > 1 ? "sending again" : status);
      return { ...row, status };
    });
}

interface Question {
  scope: { workspaceId: number; domainId: number | null };
  filter: EmailFilter;
}

/** Every status of every scope, with and without addresses. */
function questions(on: World, rows: Row[]): Question[] {
  const asked = new Map<string, Question["scope"]>();
  for (const { workspaceId, domainId } of rows) {
    asked.set(`${workspaceId}`, { workspaceId, domainId: null });
    asked.set(`${workspaceId} ${domainId}`, { workspaceId, domainId });
  }
  const to = pick(on.random, RECIPIENTS) ?? null;
  const from = pick(on.random, SENDERS) ?? null;
  const addresses = [
    { to: null, from: null, tag: null },
    { to, from: null, tag: null },
    { to: null, from, tag: null },
    { to, from, tag: null },
  ];
  const filters = [
    ...[null, ...EMAIL_STATUSES].flatMap((status) => addresses.map((address) => ({ status, ...address }))),
    ...[null, "queued" as const].map((status) => ({ status, to: null, from, tag: TAG })),
  ];
  return [...asked.values()].flatMap((scope) =>
    filters.map((filter) => ({ scope, filter: { group: null, ...filter } })),
  );
}

function isAskedFor(row: Row, { scope, filter }: Question): boolean {
  const isThis = <T>(value: T, asked: T | null) => asked === null || value === asked;
  return (
    row.workspaceId === scope.workspaceId &&
    isThis(row.domainId, scope.domainId) &&
    isThis(row.status, filter.status) &&
    isThis(row.to, filter.to) &&
    isThis(row.tag, filter.tag) &&
    isThis(row.from, filter.from)
  );
}

function expectTrue(on: World): void {
  const rows = everyEmail(on);
  const limit = 1 + Math.floor(on.random() * 30);
  for (const question of questions(on, rows)) {
    const wanted = rows.filter((row) => isAskedFor(row, question)).map(({ uid }) => uid);
    const totals = new Set<number>();
    const uids: string[] = [];
    for (let offset = 0; offset <= wanted.length; offset += limit) {
      const page = on.life.stores.emails.list(question.scope, question.filter, { limit, offset });
      totals.add(page.isMinimum ? NaN : page.total);
      uids.push(...page.emails.map(({ email }) => email.uid));
    }
    const isTrue = totals.size === 1 && totals.has(wanted.length) && uids.join() === wanted.join();
    if (!isTrue)
      expect({ ...question, totals, uids }).toEqual({ ...question, totals: new Set([wanted.length]), uids: wanted });
  }
}

for (const seed of [1, 2, 3, 4, 5]) {
  test(`every filter's total and pages are those of its emails, whatever happened to them (seed ${seed})`, async () => {
    using folder = temporaryFolder();
    const file = `${folder.path}/model.db`;
    const on: World = {
      ...{
        random: seeded(seed),
        file,
        now: Date.UTC(2026, 0, 1),
        life: begin(file),
        seen: new Set(),
        nextDomainId: 10,
      },
      domains: [
        { id: 1, workspaceId: 1 },
        { id: 2, workspaceId: 1 },
        { id: 3, workspaceId: 2 },
      ],
    };
    for (let taken = 1; taken <= STEPS; taken++) {
      await step(on);
      if (taken % CHECK_EVERY === 0) expectTrue(on);
    }
    on.life.db.close();
    const waiting = ["scheduled", "queued", "sending", "sending again", "delivery_delayed"];
    const everything = [...ENDS, ...waiting, "canceled", "retry done"];
    for (const before of ["queued", "sending", "delivery_delayed", "delivered", "sent"])
      everything.push(`${before} bounced`, `${before} complained`);
    expect(everything.filter((one) => !on.seen.has(one))).toEqual([]);
  });
}
