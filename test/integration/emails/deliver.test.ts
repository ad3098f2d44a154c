import { Database } from "bun:sqlite";
import { expect, test } from "bun:test";
import { copyFileSync } from "node:fs";
import { join } from "node:path";
import { startInstance } from "../../support/fakes/instance.ts";

test("an email that cannot be read from the database fails at the end of its life, and is not tried for ever", async () => {
  await using pombo = await startInstance({
    mx: { rcpt: "451 4.7.1 Come back later" },
    configure(config) {
      config.email.retryScheduleMs = [50];
      config.email.lifetimeMs = 400;
    },
  });
  const sent = await pombo.workspace.call("POST", "/api/v1/emails", { body: pombo.email() });
  await pombo.app.committer.commit(() => {
    pombo.app.db.sqlite.run("UPDATE email SET recipient = 'not an address'");
    return null;
  });
  const { id } = sent.body.data;
  const statusNow = async () => (await pombo.workspace.call("GET", `/api/v1/emails/${id}`)).body.data;
  let email = await statusNow();
  for (const deadline = Date.now() + 10_000; email.status !== "failed" && Date.now() < deadline;)
    email = await statusNow();
  expect(email).toMatchObject({
    status: "failed",
    failedReason: expect.stringContaining("4.4.7"),
    nextAttemptAt: null,
  });
  expect(pombo.bugs.length).toBeGreaterThan(0);
});

test("an email that came to its end between its claim and its attempt is not begun", async () => {
  await using pombo = await startInstance();
  const sent = await pombo.workspace.call("POST", "/api/v1/emails", {
    body: pombo.email({ to: "later@unknown.test" }),
  });
  await pombo.app.worker.idle();
  // As a report leaves it that is written after the claim, but for the queue's row.
  await pombo.app.committer.commit(() => {
    pombo.app.db.sqlite.run("UPDATE email SET status = 'bounced'");
    pombo.app.db.sqlite.run("UPDATE email_queue SET next_at = 0");
    return null;
  });
  pombo.dns.zone["unknown.test"] = { MX: [[10, "mx.example.com"]] };
  const lane = pombo.app.db.sqlite.query<{ id: number }, []>("SELECT lane_id AS id FROM email_queue").get();
  pombo.app.worker.nudge(lane?.id ?? 0, 0);
  await pombo.app.worker.idle();
  expect(pombo.mx.connections).toEqual([]);
  expect(pombo.app.db.sqlite.query("SELECT COUNT(*) AS count FROM email_queue").get()).toEqual({ count: 0 });
  const { body } = await pombo.workspace.call("GET", `/api/v1/emails/${sent.body.data.id}`);
  expect(body.data.status).toBe("bounced");
});

test("while pombo is stopped its database file alone is the whole database", async () => {
  await using pombo = await startInstance({ mx: { rcpt: "451 4.7.1 Come back later" } });
  await pombo.workspace.call("POST", "/api/v1/emails", { body: pombo.email() });
  await pombo.app.worker.idle();
  await pombo.app.stop();
  const copy = join(pombo.directory, "copy.db");
  copyFileSync(join(pombo.directory, "pombo.db"), copy);
  using database = new Database(copy, { readonly: true });
  expect(database.query("SELECT COUNT(*) AS count FROM email_queue").get()).toEqual({ count: 1 });
});
