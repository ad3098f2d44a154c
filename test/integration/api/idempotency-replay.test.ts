import { expect, setDefaultTimeout, test } from "bun:test";
import { StorageError } from "../../../src/platform/db/storage-error.ts";
import { type Answer, type Instance, startInstance, type Workspace } from "../../support/fakes/instance.ts";
import { countFiles } from "../../support/api/attachments.ts";
import { exchange, expectErrors, head, startHeld, totalOf } from "../../support/api/kit.ts";

setDefaultTimeout(30_000);

const EMAILS = "/api/v1/emails";
const BATCH = "/api/v1/emails/batch";
const HOUR_MS = 60 * 60 * 1000;

const OPERATIONS = ["emails", "emails.batch"] as const;

function sender(pombo: Instance, workspace: Workspace, from = "a@own.test") {
  return (operation: (typeof OPERATIONS)[number], key: string, headers: Record<string, string> = {}) => {
    const email = pombo.email({ from });
    const [path, body] = operation === "emails" ? [EMAILS, email] : [BATCH, { emails: [email, email, email] }];
    return workspace.call("POST", path, { body, headers: { "idempotency-key": key, ...headers } });
  };
}

const isReplay = (answer: Answer) => answer.headers.get("idempotent-replayed") === "true";

/** The first answer once more, byte for byte. */
function expectReplay(again: Answer, first: Answer): void {
  expect([again.status, again.text, isReplay(again)]).toEqual([202, first.text, true]);
  expect(again.headers.has("idempotency-mismatch")).toBe(false);
}

/** Sends both ways under a key, lets something happen, and expects both answers again. */
async function expectReplaysAfter(
  change: (pombo: Instance, workspace: Workspace, domainId: string) => Promise<unknown>,
  refused: Parameters<typeof expectErrors>[2][number] & { status: number },
): Promise<void> {
  await using pombo = await startInstance();
  const workspace = await pombo.newWorkspace("starter");
  const domainId = await pombo.addDomain(workspace, "own.test");
  const send = sender(pombo, workspace);
  const firsts = await Promise.all(OPERATIONS.map((operation) => send(operation, "k")));
  expect(firsts.map(({ status }) => status)).toEqual([202, 202]);
  await change(pombo, workspace, domainId);
  const { status, ...fault } = refused;
  for (const [index, operation] of OPERATIONS.entries()) {
    const fresh = await send(operation, "new");
    expect([operation, fresh.status, fresh.body.errors[0]]).toEqual([
      operation,
      status,
      expect.objectContaining(fault),
    ]);
    const first = firsts[index];
    if (first !== undefined) expectReplay(await send(operation, "k"), first);
  }
  const { body } = await workspace.call("GET", "/api/v1/workspace/usage");
  expect(body.data.usage.emailsToday).toBe(4);
}

test("a replay is answered although the quota has run out since", async () => {
  await expectReplaysAfter(
    async (pombo) => {
      pombo.config.plans["starter"] = { ...pombo.config.plans["starter"]!, emailsPerDay: 4 };
      await pombo.restart();
    },
    { status: 402, code: "DAILY_QUOTA_EXCEEDED" },
  );
});

test("a replay with a file stores nothing again, and is answered although the storage is full since", async () => {
  await using pombo = await startInstance();
  const workspace = await pombo.newWorkspace("starter");
  await pombo.addDomain(workspace, "own.test");
  const send = (key: string, content: string) =>
    workspace.call("POST", EMAILS, {
      body: pombo.email({ from: "a@own.test", attachments: [{ filename: "recibo.pdf", content }] }),
      headers: { "idempotency-key": key },
    });
  const file = Buffer.alloc(3_000, "recibo").toString("base64");
  const first = await send("k", file);
  expect(first.status).toBe(202);
  // As its retention would.
  for (const table of ["email_attachment", "attachment_piece", "attachment"])
    pombo.app.db.sqlite.run(`DELETE FROM ${table}`);
  pombo.config.plans["starter"] = { ...pombo.config.plans["starter"]!, storage: 1 };
  await pombo.restart();
  expectErrors(await send("new", file), 402, [{ code: "PLAN_LIMIT_REACHED" }]);
  expectReplay(await send("k", file), first);
  // Another body, and one that would be refused.
  const other = await send("k", "no base64");
  expect([other.status, other.text, other.headers.get("idempotency-mismatch")]).toEqual([202, first.text, "true"]);
  expect(countFiles(pombo)).toEqual([0, 0, 0, 0]);
});

test("a replay is answered although the workspace is blocked since, by the operator or for its rates", async () => {
  await expectReplaysAfter(
    (pombo, workspace) =>
      pombo.operator.call("POST", `/api/v1/operator/workspaces/${workspace.id}/block`, { body: {} }),
    { status: 403, code: "SENDING_BLOCKED" },
  );
  await expectReplaysAfter(
    async (pombo, workspace) => {
      pombo.app.db.sqlite.run("UPDATE workspace SET rate_blocked_at = 1 WHERE uid = ?", [workspace.id]);
      await pombo.restart();
    },
    { status: 403, code: "SENDING_BLOCKED" },
  );
});

test("a replay is answered although the recipient was suppressed since", async () => {
  await expectReplaysAfter(
    (pombo) =>
      pombo.app.committer.commit(() => {
        pombo.app.db.sqlite.run(
          "INSERT INTO suppression (workspace_id, channel, address, reason, created_at) SELECT id, 'email', 'maria@example.com', 'manual', 0 FROM workspace",
        );
        return null;
      }),
    { status: 422, code: "RECIPIENT_SUPPRESSED" },
  );
});

test("a replay is answered although the domain is not verified any more", async () => {
  await expectReplaysAfter(
    async (pombo, _, domainId) => {
      // By hand, and so unknown to the store, which remembers the sender's domain until it changes it.
      pombo.app.db.sqlite.run("UPDATE domain SET status = 'failed' WHERE uid = ?", [domainId]);
      await pombo.restart();
    },
    { status: 422, code: "VALIDATION_ERROR", field: "from" },
  );
});

test("a replay is answered although the domain is gone", async () => {
  await expectReplaysAfter((_, workspace, domainId) => workspace.call("DELETE", `/api/v1/domains/${domainId}`), {
    status: 422,
    code: "VALIDATION_ERROR",
    field: "from",
  });
});

test("a batch beyond the plan's limit is refused, also where its key is known: that comes first", async () => {
  await using pombo = await startInstance();
  const workspace = await pombo.newWorkspace("starter");
  await pombo.addDomain(workspace, "own.test");
  const send = sender(pombo, workspace);
  const first = await send("emails.batch", "k");
  const starter = pombo.config.plans["starter"]!;
  pombo.config.plans["starter"] = { ...starter, batch: 2 };
  await pombo.restart();
  expectErrors(await send("emails.batch", "k"), 422, [{ code: "BATCH_LIMIT_EXCEEDED", field: "emails" }]);
  pombo.config.plans["starter"] = starter;
  await pombo.restart();
  expectReplay(await send("emails.batch", "k"), first);
});

test("of 200 batches at once under one key one is accepted and all get its answer", async () => {
  await using pombo = await startInstance();
  const send = sender(pombo, pombo.workspace, "a@loja.test");
  const answers = await Promise.all(Array.from({ length: 200 }, () => send("emails.batch", "twin")));
  expect(answers.filter(({ status }) => status !== 202)).toEqual([]);
  expect(new Set(answers.map(({ text }) => text)).size).toBe(1);
  expect(answers.filter((answer) => !isReplay(answer))).toHaveLength(1);
  await pombo.app.worker.idle();
  expect([pombo.mx.messages.length, await totalOf(pombo.workspace)]).toEqual([3, 3]);
  const { body } = await pombo.workspace.call("GET", "/api/v1/workspace/usage");
  expect(body.data.usage.emailsToday).toBe(3);
});

test("a batch under a key that another batch has used gets that one's answer with a mark, or 409 when strict", async () => {
  await using pombo = await startInstance();
  const batch = (subjects: string[], headers: Record<string, string> = {}) =>
    pombo.workspace.call("POST", BATCH, {
      body: { emails: subjects.map((subject) => pombo.email({ subject })) },
      headers: { "idempotency-key": "k", ...headers },
    });
  const first = await batch(["one", "two"]);
  const other = await batch(["one", "two", "three"]);
  expect([other.status, other.text, isReplay(other)]).toEqual([202, first.text, true]);
  expect(other.headers.get("idempotency-mismatch")).toBe("true");
  const warnings = pombo.events.filter(({ name }) => name === "idempotency.mismatch");
  expect(warnings.map(({ fields }) => fields["operation"])).toEqual(["emails.batch"]);
  for (const strict of ["true", " TRUE "]) {
    const refused = await batch(["three"], { "idempotency-strict": strict });
    expectErrors(refused, 409, [{ code: "IDEMPOTENCY_KEY_REUSED" }]);
    expect([isReplay(refused), refused.headers.has("idempotency-mismatch")]).toEqual([false, false]);
  }
  for (const lax of ["false", "", "1", "yes"]) {
    const replayed = await batch(["three"], { "idempotency-strict": lax });
    expect([lax, replayed.status, replayed.text]).toEqual([lax, 202, first.text]);
  }
  expect(await totalOf(pombo.workspace)).toBe(2);
  // The key on a single send is another: nothing of the batch is its first answer.
  const single = await pombo.workspace.call("POST", EMAILS, {
    body: pombo.email(),
    headers: { "idempotency-key": "k", "idempotency-strict": "true" },
  });
  expect([single.status, isReplay(single)]).toEqual([202, false]);
});

test("with twins of different bodies at once the first decides, and only the others are marked", async () => {
  await using pombo = await startInstance();
  const answers = await Promise.all(
    Array.from({ length: 60 }, (_, n) =>
      pombo.workspace.call("POST", EMAILS, {
        body: pombo.email({ subject: n % 2 === 0 ? "even" : "odd" }),
        headers: { "idempotency-key": "k", ...(n % 3 === 0 ? { "idempotency-strict": "true" } : {}) },
      }),
    ),
  );
  const accepted = answers.filter(({ status }) => status === 202);
  expect(new Set(accepted.map(({ text }) => text)).size).toBe(1);
  const { data } = (await pombo.workspace.call("GET", `${EMAILS}/${accepted[0]?.body.data.id}`)).body;
  for (const [n, answer] of answers.entries()) {
    const isSame = data.subject === (n % 2 === 0 ? "even" : "odd");
    const expected = isSame ? [202, null] : n % 3 === 0 ? [409, null] : [202, "true"];
    expect([n, answer.status, answer.headers.get("idempotency-mismatch")]).toEqual([n, ...expected]);
  }
  expect(await totalOf(pombo.workspace)).toBe(1);
});

test("the key of a request that was refused, for whatever reason, works once the reason is gone", async () => {
  let freeBytes = 1e12;
  await using held = await startHeld(Date.UTC(2026, 10, 21, 12), {
    readFree: () => ({ freeBytes, freeInodesPercent: 100 }),
    configure(config) {
      config.disk.minFreeBytes = 1024;
      config.plans["launch"] = { ...config.plans["launch"]!, emailsPerDay: 4, batch: 3, domains: 5 };
    },
  });
  const { pombo, clock, advance } = held;
  const workspace = await pombo.newWorkspace("launch");
  await pombo.addDomain(workspace, "own.test");
  const domainId = await pombo.addDomain(workspace, "other.test");
  const made = await workspace.call("POST", "/api/v1/auth/keys", { body: { name: "other", domainId } });
  const send = sender(pombo, workspace);
  const asOther = sender(pombo, {
    ...workspace,
    call: (method, path, options) => workspace.call(method, path, { ...options, key: made.body.data.key }),
  });
  let isBroken = false;
  const nothing = () => undefined;
  const flush = () => {
    if (isBroken) throw new StorageError(new Error("cannot be written"));
  };
  pombo.app.db.listeners.push({ onRelease: nothing, onRollbackTo: nothing, beforeCommit: flush, onRollback: nothing });
  const count = () =>
    pombo.app.db.sqlite.query<{ count: number }, []>("SELECT COUNT(*) AS count FROM idempotency").get()?.count;
  for (const operation of OPERATIONS) {
    const refusals: [status: number, send: () => Promise<Answer>][] = [
      [
        400,
        () =>
          workspace.call("POST", operation === "emails" ? EMAILS : BATCH, {
            rawBody: "{",
            headers: { "idempotency-key": "k" },
          }),
      ],
      [422, () => sender(pombo, workspace, "a@unknown.test")(operation, "k")],
      [422, () => sender(pombo, workspace, "no address")(operation, "k")],
      [403, () => asOther(operation, "k")],
      [
        401,
        () => workspace.call("POST", EMAILS, { key: null, headers: { "idempotency-key": "k" }, body: pombo.email() }),
      ],
    ];
    for (const [status, refused] of refusals)
      expect([operation, (await refused()).status]).toEqual([operation, status]);
    // No room on the disk.
    freeBytes = 0;
    clock.advance(60_000);
    expect([operation, (await send(operation, "k")).status]).toEqual([operation, 503]);
    freeBytes = 1e12;
    clock.advance(60_000);
    // All is written but for the COMMIT.
    isBroken = true;
    expect([operation, (await send(operation, "k")).status]).toEqual([operation, 503]);
    isBroken = false;
    while (pombo.app.guard.blockedReason !== null) {
      clock.advance(1_000);
      await new Promise<void>((next) => setImmediate(next));
    }
  }
  expect(count()).toBe(0);
  expect((await send("emails", "first")).status).toBe(202);
  expect((await send("emails", "second")).status).toBe(202);
  expectErrors(await send("emails.batch", "k"), 402, [{ code: "DAILY_QUOTA_EXCEEDED" }]);
  await advance(24 * HOUR_MS);
  for (const operation of OPERATIONS) {
    const accepted = await send(operation, "k", { "idempotency-strict": "true" });
    expect([operation, accepted.status, isReplay(accepted)]).toEqual([operation, 202, false]);
    expectReplay(await send(operation, "k", { "idempotency-strict": "true" }), accepted);
  }
  expect(pombo.bugs).toEqual([]);
});

test("an answer is kept as long as the setting says, for batches too", async () => {
  await using held = await startHeld(Date.UTC(2026, 10, 21, 12), {
    configure: (config) => void (config.idempotency.retentionMs = HOUR_MS),
  });
  const { pombo, advance } = held;
  const send = sender(pombo, pombo.workspace, "a@loja.test");
  for (const operation of OPERATIONS) {
    const first = await send(operation, "k");
    await advance(HOUR_MS);
    expectReplay(await send(operation, "k"), first);
    await advance(1);
    const anew = await send(operation, "k");
    expect([anew.status, isReplay(anew), anew.text === first.text]).toEqual([202, false, false]);
  }
  expect(await totalOf(pombo.workspace)).toBe(8);
});

test("the first 255 characters are characters: bytes of UTF-8 and halves of emoji are not counted", async () => {
  await using pombo = await startInstance();
  const body = JSON.stringify(pombo.email());
  const send = (key: Uint8Array) => {
    const [before = "", after = ""] = head(`POST ${EMAILS}`, {
      "X-API-Key": pombo.workspace.key,
      "Content-Type": "application/json",
      "Content-Length": Buffer.byteLength(body),
      "Idempotency-Key": "KEY",
    }).split("KEY");
    return exchange(pombo.app.url, Buffer.concat([Buffer.from(before), key, Buffer.from(after + body)]));
  };
  const utf8 = (text: string) => Buffer.from(text, "utf8");
  const keys = [
    ["😀".repeat(255), "😀".repeat(254)],
    ["ç".repeat(255), `${"ç".repeat(254)}x`],
    // The last byte of `à` in UTF-8 is a space in Latin-1.
    ["à", "Ã"],
    ["\u3000tea\u3000", "te"],
  ] as const;
  for (const [key, other] of keys) {
    const first = await send(utf8(key));
    expect([key, first.status, isReplay(first)]).toEqual([key, 202, false]);
    expectReplay(await send(utf8(`${key.trim()}${[...key.trim()].length === 255 ? "and more" : "  "}`)), first);
    expect([key, isReplay(await send(utf8(other)))]).toEqual([key, false]);
  }
  // What is not UTF-8 is a key all the same.
  const first = await send(Buffer.from([0xe9, 0x78]));
  expectReplay(await send(Buffer.from([0xe9, 0x78])), first);
  expect(isReplay(await send(Buffer.from([0xe8, 0x78])))).toBe(false);
});
