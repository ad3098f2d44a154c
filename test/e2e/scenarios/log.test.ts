// The log of a whole run, as the operator's journal gets it: whatever servers and callers say, every
// line is one event, and none shows whom mail goes to or what opens the API.
import { Database } from "bun:sqlite";
import { expect, setDefaultTimeout, test } from "bun:test";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { type Child, spawnPombo } from "./child.ts";
import { type Arrival, startCountingMx } from "./counting-mx.ts";
import { call, createWorld, emailTo, type World } from "./world.ts";

setDefaultTimeout(60_000);

const TO = {
  delivered: "delivered.ana.lima@one.test",
  bounced: "bounced.rui.costa@one.test",
  deferred: "deferred.eva.reis@two.test",
  nasty: "nasty.ivo.dias@three.test",
  broken: "broken.lia.melo@two.test",
};
/** Of the sender, and of a mailing list that a server names. */
const ALSO_HIDDEN = ["loja@loja.test", "postmaster.zoe@lists.example"];

/** Servers repeat the address in every way, and more than that. */
function answerFor({ to }: Arrival): string {
  const local = to.slice(0, to.lastIndexOf("@"));
  if (to === TO.delivered) return `250 2.0.0 Ok <${to}> queued as 4F2A`;
  if (to === TO.bounced)
    return `550-5.1.1 The account ${local} (${to})\r\n550 5.1.1 bounces+${to.replace("@", "=")}@lists.example`;
  if (to === TO.deferred) return `451 4.2.1 "${local}"@two.test is busy; ask postmaster.zoe@lists.example`;
  if (to === TO.nasty)
    return `554 5.7.1 \u001b[31mred\u001b[0m \u009b2J \u2028{"event":"forged"}\u0000 ${local.toUpperCase()} <${to}>`;
  return "451 4.3.0 later";
}

/** Serves with the addresses hidden or shown; sends one email of every fate, and makes one attempt fail inside. */
async function run(world: World, addresses: "redacted" | "full"): Promise<Child> {
  const child = spawnPombo(["serve", "--config", world.writeConfig(`${addresses}.toml`, { log: { addresses } })]);
  await child.until("it serves", () => child.stdout().includes('"event":"pombo.started"'));
  const url = /"event":"pombo\.started","url":"([^"]+)"/.exec(child.stdout())?.[1] ?? "";
  const idempotencyKey = `${addresses}.maria@example.com`;
  for (const to of Object.values(TO)) {
    const sent = await call(url, world.key, { method: "POST", path: "/api/v1/emails", body: emailTo(to, addresses) });
    expect([to, sent.status]).toEqual([to, 202]);
  }
  for (const subject of ["one", "other"]) {
    const body = emailTo(TO.delivered, subject);
    await call(url, world.key, { method: "POST", path: "/api/v1/emails", body, idempotencyKey });
  }
  await call(url, `svc_${"A".repeat(43)}`, { path: "/api/v1/emails" });
  await call(url, world.operatorKey, { path: "/api/v1/emails" });
  await call(url, world.key, { path: `/api/v1/emails?to=${TO.delivered}` });
  const has = (event: string, times = 1) => child.stdout().split(`"event":"${event}"`).length > times;
  await child.until(
    "each has its fate",
    () => has("email.delivered", 2) && has("email.bounced", 2) && has("email.delivery_delayed", 2),
  );
  {
    using database = new Database(join(world.dataDir, "pombo.db"));
    database.run("PRAGMA busy_timeout = 5000");
    database.run("UPDATE email SET recipient = ? WHERE recipient = ?", [`${TO.broken}@${TO.broken}`, TO.broken]);
  }
  await child.until("an attempt fails inside", () => has("internal_error"));
  {
    using database = new Database(join(world.dataDir, "pombo.db"));
    database.run("PRAGMA busy_timeout = 5000");
    // What is left would be tried for ever.
    database.run("DELETE FROM suppression");
    database.run("UPDATE email SET recipient = ? WHERE recipient LIKE ?", [TO.broken, `${TO.broken}@%`]);
  }
  child.signal("SIGTERM");
  expect(await child.ended).toMatchObject({ code: 0 });
  return child;
}

test("every line of a run is one event as JSON, without addresses and keys unless addresses may be seen", async () => {
  await using mx = await startCountingMx(answerFor);
  await using world = await createWorld({ mxPort: mx.port });
  const secrets = [world.key, world.operatorKey, readFileSync(join(world.dataDir, "instance.key"), "utf8").trim()];
  const hidden = [...Object.values(TO), ...ALSO_HIDDEN].flatMap((address) => {
    const local = address.slice(0, address.lastIndexOf("@"));
    return local.includes(".") ? [address, local] : [address];
  });

  for (const addresses of ["redacted", "full"] as const) {
    await using child = await run(world, addresses);
    expect(child.stderr()).toBe("");
    const text = child.stdout();
    expect(text).toEndWith("\n");
    // oxlint-disable-next-line no-control-regex
    expect(text).not.toMatch(/[\u0000-\u0009\u000b-\u001f\u007f-\u009f\u2028\u2029]/);
    const events = text
      .trimEnd()
      .split("\n")
      .map((line) => JSON.parse(line) as { time: string; level: string; event: string; id?: string; attempt?: number });
    for (const { time, level, event } of events) {
      expect(time).toMatch(/^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$/);
      expect(["info", "warn", "error"]).toContain(level);
      expect(event).toMatch(/^[a-z_.]+$/);
    }
    const names = new Set(events.map(({ event }) => event));
    for (const name of [
      "email.delivered",
      "email.bounced",
      "email.delivery_delayed",
      "idempotency.mismatch",
      "internal_error",
    ])
      expect(names).toContain(name);
    expect(names).not.toContain("forged");
    for (const { event, id, attempt } of events) {
      if (!event.startsWith("email.")) continue;
      expect(id).toMatch(/^[0-9a-f-]{36}$/);
      expect(attempt).toBeNumber();
    }
    for (const secret of secrets) expect(text.includes(secret)).toBe(false);
    const shown = hidden.filter((words) => text.toLowerCase().includes(words.toLowerCase()));
    if (addresses === "redacted") expect(shown).toEqual([]);
    else expect(shown).toContain(TO.delivered);
  }
});
