// A pombo whose operator is told by webhook and by email, with troubles that begin and end as the scenario says, and the
// clocks in its hands: the two minutes of an alert pass in a moment.
import { Database } from "bun:sqlite";
import { join } from "node:path";
import { Webhook } from "standardwebhooks";
import { type ReceivedCall, type Receiver, startReceiver } from "../../support/fakes/receiver.ts";
import { type Arrival, type CountingMx, startCountingMx } from "./counting-mx.ts";
import { steerClock } from "./steered-clock.ts";
import { bugsOf, call, createWorld, type Served, type World } from "./world.ts";

export const SECOND = 1_000;
export const MINUTE = 60 * SECOND;
const OPERATOR = "ops@one.test";
/** The interval between pombo's own looks. */
const STEP_MS = 15 * SECOND;
const SETTLE_MS = 5;

export interface AlertWorld extends AsyncDisposable {
  readonly world: World;
  readonly receiver: Receiver;
  readonly mx: CountingMx;
  /** The process that runs, or ran last. */
  readonly process: Served;
  serve(): Promise<void>;
  kill(): Promise<void>;
  /** kill -9, and the next start `downMs` later. */
  killAndServe(downMs?: number): Promise<void>;
  /** Moves the time on; ends early when `isTrue`. */
  pass(ms: number, isTrue?: () => boolean): Promise<void>;
  /** A workspace called `name`, whose block for its bounces is the trouble: written into the database from outside. */
  addTrouble(name: string): Promise<Switch>;
  ask(method: string, path: string): Promise<void>;
  /** What the webhook heard: `kind id`, and the webhook-ids of its calls. */
  called(): Map<string, Set<string>>;
  /** What the operator's mailbox has: `kind name`, and the Message-IDs. */
  mailed(): Map<string, Set<string>>;
  /** What is wrong with calls: a signature, an id with two bodies. */
  faults(): Promise<string[]>;
  readonly bugs: string[];
}

export interface Switch {
  id: string;
  begin(): void;
  end(): void;
}

export async function startAlertWorld(): Promise<AlertWorld> {
  const receiver = startReceiver();
  const texts = new Map<Arrival, string>();
  const mx = await startCountingMx(undefined, (arrival, content) => void texts.set(arrival, content));
  const world = await createWorld({
    mxPort: mx.port,
    settings: {
      webhooks: { allow_http: true, allow_private_ranges: ["127.0.0.0/8"] },
      // Its looks outside are none of the troubles here, and a time server would see the steered clock.
      doctor: { every: "0s" },
      "[alerts]": { kind: "webhook", to: [receiver.url] },
      // A second [[alerts]] block: the keys of an object must differ.
      "[ alerts ]": { kind: "email", to: [OPERATOR] },
    },
  });
  const clock = steerClock(world.folder);
  const serve = () => world.serve({ env: clock.nextEnvironment() });
  let process = await serve();
  const bugs: string[] = [];
  const countHeard = () => receiver.calls.length + mx.arrivals.length;
  /** What is under way, as the work of a thread, has seconds for it, which a move would take away. */
  const rest = async () => {
    for (let isBusy = true; isBusy && process.isAlive;) {
      const before = countHeard();
      await Bun.sleep(SETTLE_MS);
      isBusy = await isWorking(process.url, world).catch(() => true);
      isBusy ||= countHeard() !== before;
    }
  };
  const kill = async () => {
    process.signal("SIGKILL");
    await process.ended;
    bugs.push(...bugsOf(process));
  };
  const made: AlertWorld = {
    world,
    receiver,
    mx,
    bugs,
    get process() {
      return process;
    },
    async serve() {
      process = await serve();
    },
    kill,
    async killAndServe(downMs = 5 * SECOND) {
      await kill();
      await clock.move(downMs);
      process = await serve();
    },
    async pass(ms, isTrue = () => false) {
      for (let passed = 0; passed < ms && !isTrue(); passed += STEP_MS) {
        await clock.move(STEP_MS);
        await rest();
      }
    },
    addTrouble: (name) => makeTrouble(process.url, world, name),
    async ask(method, path) {
      const { status, body } = await call(process.url, world.operatorKey, { method, path, body: {} });
      if (status !== 200) throw new Error(`${path}: ${status} ${JSON.stringify(body)}`);
    },
    called: () => readCalls(receiver.calls),
    mailed() {
      const found = new Map<string, Set<string>>();
      for (const arrival of mx.arrivals.filter(({ to }) => to === OPERATOR))
        for (const about of readTroubles(texts.get(arrival) ?? "")) note(found, about, arrival.messageId);
      return found;
    },
    async faults() {
      const { body } = await call(process.url, world.operatorKey, { path: "/api/v1/operator/alerts/secrets" });
      return findFaults(receiver.calls, body.data.webhooks[0].secret);
    },
    async [Symbol.asyncDispose]() {
      await kill();
      await world[Symbol.asyncDispose]();
      await mx.close();
      await receiver[Symbol.asyncDispose]();
    },
  };
  return made;
}

async function makeTrouble(url: string, { dataDir, operatorKey }: World, name: string): Promise<Switch> {
  const { body } = await call(url, operatorKey, {
    method: "POST",
    path: "/api/v1/workspaces",
    body: { name, plan: "scale" },
  });
  const uid: string = body.data.workspaceId;
  const change = (sql: string) => {
    using database = new Database(join(dataDir, "pombo.db"), { readwrite: true });
    database.run("PRAGMA busy_timeout = 10000");
    database.run(`UPDATE workspace SET ${sql} WHERE uid = ?`, [uid]);
  };
  return {
    id: `workspace.blocked.${uid}`,
    begin: () => change("rate_blocked_at = 1, rate_block_reason = 'too many of its emails bounced'"),
    end: () => change("rate_blocked_at = NULL, rate_block_reason = NULL"),
  };
}

function readCalls(calls: readonly ReceivedCall[]): Map<string, Set<string>> {
  const found = new Map<string, Set<string>>();
  for (const { headers, event } of calls)
    for (const { kind, id } of event.data.alerts) note(found, `${kind} ${id}`, headers["webhook-id"]);
  return found;
}

function findFaults(calls: readonly ReceivedCall[], secret: string): string[] {
  const webhook = new Webhook(secret);
  const bodies = new Map<string, string>();
  return calls.flatMap(({ headers, body }) => {
    const id = headers["webhook-id"] ?? "";
    const at = new Date(1_000 * Number(headers["webhook-timestamp"]));
    const faults = webhook.sign(id, at, body) === headers["webhook-signature"] ? [] : [`${id} is signed wrongly`];
    if ((bodies.get(id) ?? body) !== body) faults.push(`${id} has two bodies`);
    bodies.set(id, body);
    return faults;
  });
}

async function isWorking(url: string, { operatorKey }: World): Promise<boolean> {
  const { body } = await call(url, operatorKey, { path: "/api/v1/operator/status" });
  return body.data.queue.emails.running > 0;
}

function note(found: Map<string, Set<string>>, about: string, id = ""): void {
  found.set(about, (found.get(about) ?? new Set()).add(id));
}

/** `kind` and the first words that say which trouble it is. */
function readTroubles(content: string): string[] {
  const text = content.replaceAll("=\r\n", "").replaceAll("\r\n", "\n");
  return [
    ...text.matchAll(
      /^(Warning since|Problem since|Ended at) [^\n]+:\n(Workspace \w+|Delivery is paused|The webhook)/gm,
    ),
  ].map(([, head, what]) => `${head === "Ended at" ? "ended" : "began"} ${what}`);
}
