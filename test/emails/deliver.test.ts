import { Database } from "bun:sqlite";
import { expect, test } from "bun:test";
import { copyFileSync } from "node:fs";
import { join } from "node:path";
import { startInstance } from "../fakes/instance.ts";

test("an email that cannot be read from the database fails at the end of its life, and is not tried for ever", async () => {
  await using pombo = await startInstance({
    mx: { rcpt: "451 4.7.1 Come back later" },
    configure(config) {
      config.email.retryMs = [50];
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
