import type { DaemonControl, DaemonState } from "../../../../src/backup/litestream/control.ts";
import type { ReplicaState } from "../../../../src/backup/litestream/replica.ts";
import { RestorableCheck } from "../../../../src/backup/litestream/restorable.ts";
import { type DaemonChild, Supervisor } from "../../../../src/backup/litestream/supervisor.ts";
import type { HealthIssue } from "../../../../src/platform/health-issue.ts";
import { turn } from "../../../support/db/temporary.ts";
import { fakeClock } from "../../../support/fakes/clock.ts";

/** A supervisor whose daemon does what the test says. */
export function supervised() {
  const steady = fakeClock();
  const done: string[] = [];
  const events: string[] = [];
  const limits: number[] = [];
  /** For each daemon that was prepared: why it needs a new lineage. */
  const renewals: (string | null)[] = [];
  const children: { end(code: number | null): void; say(line: string): void }[] = [];
  const at = {
    state: null as DaemonState | null,
    walBytes: 0,
    canSync: true,
    /** How far the wall clock was set on (or back). */
    setOnMs: 0,
    answersAfterMs: 0,
    cannotStart: false,
    /** Why the first daemon may not run yet. */
    waitsFor: null as string | null,
    whileSyncing: () => undefined as void,
    /** A SIGTERM is obeyed. */
    obeys: true,
    replica: { kind: "backup", lineage: "", transaction: 7, at: 0 } as ReplicaState,
    /** Whether the last step is here. */
    hasStep: true,
    settled: 0,
    /** What the lineages say is wrong. */
    lineagesIssue: null as HealthIssue | null,
  };
  const clock = { ...steady, now: () => steady.now() + at.setOnMs };
  const spawn = (line: (text: string) => void): DaemonChild => {
    if (at.cannotStart) throw new Error("ENOENT: no such file");
    const { promise, resolve } = Promise.withResolvers<number | null>();
    children.push({ end: resolve, say: line });
    done.push("spawn");
    return {
      pid: 1_000 + children.length,
      ended: promise,
      kill(signal) {
        done.push(signal);
        if (signal === "SIGKILL" || at.obeys) resolve(signal === "SIGKILL" ? null : 0);
      },
    };
  };
  const control: DaemonControl = {
    pid: () => Promise.resolve(null),
    async state() {
      if (at.answersAfterMs > 0) await new Promise<void>((resolve) => clock.after(at.answersAfterMs, resolve));
      return at.state;
    },
    sync(database, limitMs) {
      limits.push(limitMs);
      done.push(`sync ${database}`);
      at.whileSyncing();
      return turn(2).then(() => (at.canSync ? 1 : null));
    },
  };
  const log = {
    event: (name: string, fields: unknown) => void events.push(`${name} ${JSON.stringify(fields)}`),
    error: (where: string, error: unknown) => void events.push(`bug ${where} ${String(error)}`),
  };
  const supervisor = new Supervisor({
    lineages: {
      prepare(reason) {
        if (at.waitsFor === null) renewals.push(reason);
        return Promise.resolve(at.waitsFor);
      },
      hasStep: () => at.hasStep,
      get issue() {
        return at.lineagesIssue;
      },
    },
    spawn,
    control,
    databases: { main: "main", owner: "owner" },
    checkpoints: {
      leave: () => void done.push("leave"),
      take: () => void done.push("take"),
      walBytes: () => at.walBytes,
    },
    clock,
    steady,
    log,
    restorable: new RestorableCheck({
      inspect: () => Promise.resolve(at.replica),
      // The first daemon's lineage, and one more.
      isRenewalDue: () => renewals.length < 2,
      settle() {
        at.settled += 1;
        return Promise.resolve();
      },
      clock,
      log,
    }),
  });
  const pass = async (ms: number, step = 1_000) => {
    for (let passed = 0; passed < ms; passed += step) {
      clock.advance(step);
      await turn(3);
    }
  };
  const begin = async () => {
    supervisor.start();
    await turn(3);
  };
  const answers = () => (at.state = { lastSyncAt: clock.now(), transaction: 7, fault: null, isAtIt: false });
  return { renewals, clock, begin, limits, supervisor, done, events, children, at, pass, answers };
}
