/**
 * A street with a bad neighbour: an instance whose clock stands still, a healthy destination that
 * two workspaces write to all the time, and beside it one mail server that does what its script says.
 * While no time passes, only what waits for nobody gets through: so "as quickly as without the
 * neighbour" is no measurement here. Afterwards the neighbour is mended and owes every message.
 */
import { expect } from "bun:test";
import type { Config } from "../../../src/config/config.ts";
import type { FakeClock } from "../../support/fakes/clock.ts";
import { type Instance, type Json, type Workspace } from "../../support/fakes/instance.ts";
import { type Mx, type MxConnection, type MxScript, stall, startMx, type Step } from "../../support/fakes/mx.ts";
import { within } from "./child.ts";
import { attemptsOf, HOUR_MS, record, startStill, suppressedAddresses } from "./mail.ts";

export const BAD_DOMAIN = "bad.test";
export const BAD_HOST = "mx.bad.test";
export const BAD_ADDRESS = "127.0.0.2";
const OTHER_DOMAIN = "outra.test";
/** One to the bad neighbour and two to the healthy one, so often. */
const ROUNDS = 8;
/** Few, so that any that is not given back is missed at once. */
export const SESSIONS_PER_SITE = 2;
const SESSIONS = 20;
/** Further away than all first attempts together take, even where each waits for minutes. */
const RETRY_MS = 12 * HOUR_MS;
const PAST_RETRY_MS = 14 * HOUR_MS;
/** What the instance may take for something that waits for nobody. */
export const LIMIT_MS = 10_000;
/** When nothing has moved for so long, time is what is being waited for. */
const STANDSTILL_MS = 200;

export interface Street extends AsyncDisposable {
  readonly pombo: Instance & { clock: FakeClock };
  readonly bad: Mx;
  /** A second workspace, which writes to the healthy one only. */
  readonly other: Workspace;
  readonly badIds: string[];
  readonly healthyIds: { id: string; owner: Workspace }[];
}

export interface StreetOptions {
  bad?: MxScript;
  configure?: (config: Config) => void;
}

export async function startStreet(options: StreetOptions = {}): Promise<Street> {
  const pombo = await startStill({
    retryMs: [RETRY_MS],
    configure(config) {
      config.email.maxSessions = SESSIONS;
      config.email.sessionsPerDestination = SESSIONS_PER_SITE;
      options.configure?.(config);
    },
  });
  const other = await pombo.newWorkspace();
  await pombo.addDomain(other, OTHER_DOMAIN);
  const bad = await startMx(options.bad ?? {}, { address: BAD_ADDRESS, port: pombo.mx.port });
  pombo.dns.zone[BAD_DOMAIN] = { MX: [[10, BAD_HOST]] };
  pombo.dns.zone[BAD_HOST] = { A: [BAD_ADDRESS] };
  return {
    pombo,
    bad,
    other,
    badIds: [],
    healthyIds: [],
    async [Symbol.asyncDispose]() {
      await bad.close();
      await pombo[Symbol.asyncDispose]();
    },
  };
}

/** Mail to both, round after round; no time passes. A round is over when the healthy neighbour has its messages. */
export async function sendRounds(street: Street, changes: Record<string, unknown> = {}): Promise<void> {
  const { pombo, other } = street;
  for (let round = 1; round <= ROUNDS; round += 1) {
    street.badIds.push(await post(pombo, pombo.workspace, { to: `user${round}@${BAD_DOMAIN}`, ...changes }));
    for (const [owner, from] of [
      [pombo.workspace, "loja@loja.test"],
      [other, `a@${OTHER_DOMAIN}`],
    ] as const) {
      const id = await post(pombo, owner, { from, to: `user${round}@example.com` });
      street.healthyIds.push({ id, owner });
    }
    const arrived = pombo.mx.until(() => pombo.mx.messages.length >= street.healthyIds.length);
    await within(LIMIT_MS, `the healthy mail of round ${round}`, arrived);
  }
}

async function post(pombo: Instance, owner: Workspace, changes: Record<string, unknown>): Promise<string> {
  const answer = await owner.call("POST", "/api/v1/emails", { body: pombo.email(changes) });
  if (answer.status !== 202) throw new Error(`not accepted: ${answer.text}`);
  return answer.body.data.id;
}

/** All healthy mail is recorded as delivered, once each and in the first attempt. */
export async function expectHealthyDelivered({ pombo, healthyIds }: Street): Promise<void> {
  for (const { id, owner } of healthyIds) {
    let email: Json;
    await soon("the record of a delivery", async () => {
      email = (await owner.call("GET", `/api/v1/emails/${id}`)).body.data;
      return email.status === "delivered";
    });
    expect(email).toMatchObject({ attempts: 1, possibleDuplicate: false });
  }
  expect(copiesOf(pombo.mx)).toEqual(new Map(healthyIds.map(({ id }) => [id, 1])));
}

/** How often each message came with its content, by the email's id. */
export function copiesOf(mx: Mx): Map<string, number> {
  const copies = new Map<string, number>();
  for (const { content } of mx.messages) {
    const id = /^Message-ID: *<([^@>]+)@/im.exec(content.toString("latin1"))?.[1];
    if (id !== undefined) copies.set(id, (copies.get(id) ?? 0) + 1);
  }
  return copies;
}

/** A stall that knows which connections wait in it. */
export function countedStall(): { step: Step; waiting: () => MxConnection[] } {
  const connections = new Set<MxConnection>();
  return {
    step: (_command, connection) => {
      connections.add(connection);
      return stall();
    },
    waiting: () => [...connections].filter((connection) => !connection.isClosed),
  };
}

/**
 * Lets time pass until every email to the bad neighbour has had `attempts` attempts. Time moves only
 * while nothing else does: by `stepMs` when connections wait at the neighbour, which must end them, and
 * otherwise by `otherwiseMs`, a second, to what is planned next.
 */
export async function passAttempts(
  street: Street,
  options: { attempts?: number; stepMs?: number; otherwiseMs?: number; waiting?: () => MxConnection[] } = {},
): Promise<void> {
  const { attempts = 1, stepMs = 0, otherwiseMs = 1_000, waiting = () => [] } = options;
  const { pombo } = street;
  const isOver = () => street.badIds.every((id) => attemptsOf(pombo, id).length >= attempts);
  const giveUpAt = performance.now() + LIMIT_MS;
  while (!isOver()) {
    if (performance.now() > giveUpAt) throw new Error(`the attempts did not end: ${tellAll(street)}`);
    await standstill(pombo, waiting);
    const before = waiting();
    if (before.length === 0) {
      if (!isOver()) pombo.clock.advance(otherwiseMs);
      continue;
    }
    pombo.clock.advance(stepMs);
    await soon(`the end of what waited ${stepMs} ms`, () => before.every((connection) => connection.isClosed));
  }
  await within(LIMIT_MS, "rest", pombo.app.worker.idle());
}

/** Resolves when everything under way waits at the neighbour, or has not moved for a while. */
export async function standstill(pombo: Instance, waiting: () => readonly unknown[]): Promise<void> {
  const state = () => `${pombo.app.worker.runningCount} ${waiting().length} ${pombo.events.length}`;
  let seen = state();
  let since = performance.now();
  for (;;) {
    await turn();
    const busy = pombo.app.worker.runningCount;
    // Those beyond the neighbour's sessions wait for one of them.
    const isHeld = waiting().length === Math.min(busy, SESSIONS_PER_SITE);
    if (busy === 0 || (isHeld && state() === seen)) return;
    if (state() !== seen) [seen, since] = [state(), performance.now()];
    else if (performance.now() - since > STANDSTILL_MS) return;
  }
}

/** The emails to the bad neighbour, without their texts. */
export function badRecords({ pombo, badIds }: Street): Promise<Json[]> {
  return Promise.all(badIds.map(async (id) => ({ ...(await record(pombo, id)), text: "", html: "" })));
}

/** To the next attempt of all, which is number `attempts`. */
export async function passRetry(street: Street, attempts: number): Promise<void> {
  street.pombo.clock.advance(PAST_RETRY_MS);
  await passAttempts(street, { attempts });
}

/** Mends the neighbour: the next attempts bring it every message, as the `copies`th copy of each; nobody is suppressed. */
export async function expectDeliveredOnceMended(
  street: Street,
  { copies = 1, script = {} }: { copies?: number; script?: MxScript } = {},
): Promise<void> {
  const { pombo, bad, badIds } = street;
  bad.script = script;
  await passRetry(street, 2);
  for (const email of await badRecords(street)) {
    expect(email).toMatchObject({ status: "delivered", attempts: 2, failedReason: null });
    // Where the answer to the dot was lost, and there only, it may have come twice.
    expect({ id: email.id, isMarked: email.possibleDuplicate }).toEqual({
      id: email.id,
      isMarked: attemptsOf(pombo, email.id).some(({ outcome }) => outcome === "unknown"),
    });
    if (copies > 1) expect(email.possibleDuplicate).toBe(true);
  }
  expect(copiesOf(bad)).toEqual(new Map(badIds.map((id) => [id, copies])));
  expect(suppressedAddresses(pombo)).toEqual([]);
}

/** Nothing is left of it: no connection, no place that is still taken, no bug. */
export async function expectNothingLeft({ pombo, bad }: Street): Promise<void> {
  await within(LIMIT_MS, "rest", pombo.app.worker.idle());
  expect(pombo.app.worker.runningCount).toBe(0);
  // Idle sessions are kept for 5 s; QUIT may take as long.
  pombo.clock.advance(6_000);
  for (const mx of [bad, pombo.mx]) {
    await soon("the end of all connections", () => mx.connections.every((connection) => connection.isClosed));
  }
  expect(pombo.bugs).toEqual([]);
}

function tellAll({ pombo, badIds }: Street): string {
  const count = badIds.filter((id) => attemptsOf(pombo, id).length > 0).length;
  const last = pombo.events.slice(-3).map((event) => JSON.stringify(event));
  return `${count} of ${badIds.length} tried, ${pombo.app.worker.runningCount} running; ${last.join(" ")}`;
}

async function soon(what: string, isTrue: () => boolean | Promise<boolean>): Promise<void> {
  const giveUpAt = performance.now() + LIMIT_MS;
  while (!(await isTrue())) {
    if (performance.now() > giveUpAt) throw new Error(`waited ${LIMIT_MS} ms in vain: ${what}`);
    await turn();
  }
}

/** Lets the sockets of this process have their say. */
function turn(): Promise<void> {
  return new Promise((resolve) => setTimeout(resolve, 1));
}
