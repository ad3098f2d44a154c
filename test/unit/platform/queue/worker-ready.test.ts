import { expect, test } from "bun:test";
import { turn } from "../../../support/db/temporary.ts";
import { until, workshop } from "../../../support/queue/kit.ts";

test("a worker is in trouble until it has put in order what a crash left, and while it stops", async () => {
  using on = workshop();
  const startedAt = on.clock.now();
  expect(on.worker.issue).toMatchObject({ component: "worker", since: startedAt });
  expect(on.worker.issue!.reason).toContain("has not begun");
  await on.worker.start();
  expect(on.worker.issue).toBeNull();
  await on.add(1);
  await turn(4);
  expect(on.attempts).toHaveLength(1);

  await on.advance(5_000);
  const stopped = on.worker.stop(60_000);
  expect(on.worker.issue).toMatchObject({ component: "worker", since: startedAt + 5_000 });
  expect(on.worker.issue!.reason).toContain("waits for 1 running deliveries");
  on.attempts[0]!.end({ action: { kind: "complete" }, isReached: true, record: () => undefined });
  await stopped;
  expect(on.worker.issue).not.toBeNull();
});

test("a start whose storage fails stays in trouble until the storage is well", async () => {
  using on = workshop();
  await on.add(1);
  on.of.db.sqlite.run("UPDATE email_queue SET in_flight = 1, started_at = 0 WHERE id = 1");
  on.setWritable(false);
  await on.worker.start();
  expect(on.worker.issue).not.toBeNull();
  on.setWritable(true);
  await on.advance(1_000);
  await until(() => on.worker.issue === null);
});
