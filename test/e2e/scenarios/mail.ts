/** One email at a time through an instance in this process, and what became of it. */
import type { Config } from "../../../src/config/config.ts";
import { fakeClock, type FakeClock } from "../../support/fakes/clock.ts";
import { type Instance, type Json, startInstance } from "../../support/fakes/instance.ts";
import type { MxScript } from "../../support/fakes/mx.ts";

export const MINUTE_MS = 60_000;
export const HOUR_MS = 60 * MINUTE_MS;

/** An instance whose clock stands still: nothing is tried again and nothing expires unless the test lets it. */
export async function startStill(
  options: { mx?: MxScript; retryMs?: number[]; configure?: (config: Config) => void } = {},
): Promise<Instance & { clock: FakeClock }> {
  const clock = fakeClock();
  const pombo = await startInstance({
    clock,
    ...(options.mx === undefined ? {} : { mx: options.mx }),
    configure: (config) => {
      if (options.retryMs !== undefined) config.email.retryScheduleMs = options.retryMs;
      options.configure?.(config);
    },
  });
  const end = pombo[Symbol.asyncDispose].bind(pombo);
  return Object.assign(pombo, {
    clock,
    async [Symbol.asyncDispose]() {
      // What a failed test left waiting would wait for ever on a clock that stands still.
      const mover = setInterval(() => clock.advance(MINUTE_MS), 5);
      await end();
      clearInterval(mover);
    },
  });
}

/** Sends one email and waits until it is accepted; its id. */
export async function send(pombo: Instance, to: string, changes: Record<string, unknown> = {}): Promise<string> {
  const answer = await pombo.workspace.call("POST", "/api/v1/emails", { body: pombo.email({ to, ...changes }) });
  if (answer.status !== 202) throw new Error(`${to} was not accepted: ${answer.text}`);
  return answer.body.data.id;
}

/** Sends one email and waits until its attempt is over; its record. */
export async function deliver(pombo: Instance, to: string, changes: Record<string, unknown> = {}): Promise<Json> {
  const id = await send(pombo, to, changes);
  await pombo.app.worker.idle();
  return record(pombo, id);
}

export async function record(pombo: Instance, id: string): Promise<Json> {
  return (await pombo.workspace.call("GET", `/api/v1/emails/${id}`)).body.data;
}

/** Moves the time on and waits for the attempts that fall due. */
export async function pass(pombo: Instance & { clock: FakeClock }, ms: number): Promise<void> {
  pombo.clock.advance(ms);
  await pombo.app.worker.idle();
}

export interface StoredAttempt {
  number: number;
  outcome: string;
  stage: string | null;
  category: string | null;
  code: number | null;
  host: string | null;
  tls: string | null;
}

export function attemptsOf(pombo: Instance, id: string): StoredAttempt[] {
  return pombo.app.db.sqlite
    .query<StoredAttempt, [string]>(
      `SELECT number, outcome, stage, category, code, host, tls FROM attempt
       WHERE email_id = (SELECT id FROM email WHERE uid = ?) ORDER BY number`,
    )
    .all(id);
}

export function suppressedAddresses(pombo: Instance): string[] {
  const rows = pombo.app.db.sqlite
    .query<{ address: string }, []>("SELECT address FROM suppression ORDER BY address")
    .all();
  return rows.map((row) => row.address);
}
