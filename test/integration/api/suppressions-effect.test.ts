import { expect, test } from "bun:test";
import type { Answer, Client, Instance } from "../../support/fakes/instance.ts";
import { errorItems, expectErrors } from "../../support/api/kit.ts";
import { asked, attempted, HOUR, LATER, recordOf, send, startAtNoon } from "../../support/api/one-email.ts";

const SUPPRESSIONS = "/api/v1/suppressions";
const GONE = "550 5.1.1 No such user";

const suppress = (client: Client, address: string) => client.call("POST", SUPPRESSIONS, { body: { address } });
const lift = (client: Client, address: string) =>
  client.call("DELETE", `${SUPPRESSIONS}/${encodeURIComponent(address)}`);
const sendTo = (pombo: Instance, to: string): Promise<Answer> =>
  pombo.workspace.call("POST", "/api/v1/emails", { body: pombo.email({ to }) });

async function listOf(client: Client): Promise<{ address: string; reason: string; channel: string }[]> {
  return (await client.call("GET", SUPPRESSIONS)).body.data;
}

test("a hard bounce is on the list with its reason, the next send is 422 and says how to lift it, and lifted it is accepted", async () => {
  await using held = await startAtNoon({ rcpt: (command) => (command.includes("Gone") ? GONE : "250 ok") });
  const { pombo } = held;
  await attempted(pombo, { to: "Gone+Loja@Example.com" });
  expect(await listOf(pombo.workspace)).toEqual([
    {
      ...{ address: "gone+loja@example.com", reason: "hard_bounce", channel: "email", list: null },
      suppressedAt: new Date(held.clock.now()).toISOString(),
    } as never,
  ]);
  const refused = await sendTo(pombo, "gone+loja@example.com");
  expectErrors(refused, 422, [{ code: "RECIPIENT_SUPPRESSED", field: "to", message: "hard_bounce" }]);
  const path = /DELETE (\S+)/.exec(errorItems(refused)[0]?.hint ?? "")?.[1] ?? "";
  const lifted = await pombo.workspace.call("DELETE", path);
  expect(lifted.body).toEqual({ data: { address: "gone+loja@example.com", deleted: true } });
  pombo.mx.script = {};
  const id = await attempted(pombo, { to: "gone+loja@example.com" });
  expect((await recordOf(pombo, id)).status).toBe("delivered");
});

test("an address that was lifted and bounces again is suppressed again", async () => {
  await using held = await startAtNoon({ rcpt: GONE });
  const { pombo } = held;
  for (let time = 0; time < 2; time++) {
    await attempted(pombo);
    expect(await listOf(pombo.workspace)).toHaveLength(1);
    expect((await lift(pombo.workspace, "maria@example.com")).status).toBe(200);
  }
});

/** Refusals that bounce and tell nothing of whether the address exists, or do not bounce at all. */
const NO_REASON_TO_SUPPRESS = [
  "550 5.7.1 Message rejected due to policy",
  "554 5.7.1 Service unavailable; client host blocked using a blocklist",
  "550 5.7.26 Unauthenticated email is not accepted due to the DMARC policy",
  "552 5.2.2 Mailbox full",
  "550 High probability of spam",
  "552 5.3.4 Message too big",
  "450 4.2.1 Mailbox busy",
  "451 4.7.1 Greylisted",
];

test("refusals for policy, content, reputation and full mailboxes put nobody on the list", async () => {
  await using held = await startAtNoon();
  const { pombo } = held;
  for (const [number, reply] of NO_REASON_TO_SUPPRESS.entries()) {
    pombo.mx.script = { rcpt: reply };
    await attempted(pombo, { to: `user${number}@example.com` });
    await held.advance(HOUR);
    await pombo.app.worker.idle();
    expect([reply, await listOf(pombo.workspace)]).toEqual([reply, []]);
    pombo.mx.script = {};
    expect([reply, (await sendTo(pombo, `user${number}@example.com`)).status]).toEqual([reply, 202]);
    await pombo.app.worker.idle();
  }
});

test("a recipient suppressed between acceptance and sending gets nothing: the email is suppressed and says so", async () => {
  await using held = await startAtNoon({ rcpt: LATER });
  const { pombo } = held;
  const id = await attempted(pombo);
  expect((await recordOf(pombo, id)).status).toBe("delivery_delayed");
  expect((await suppress(pombo.workspace, "maria@EXAMPLE.com")).status).toBe(201);
  pombo.mx.script = {};
  await held.advance(HOUR);
  await pombo.app.worker.idle();
  const email = await recordOf(pombo, id);
  expect(email).toMatchObject({ status: "suppressed", deliveredAt: null, nextAttemptAt: null });
  expect(email.failedReason).toContain("became suppressed (manual) after the email was accepted");
  // The first attempt was the only one.
  expect(asked(pombo, "maria@example.com")).toBe(1);
  expectErrors(await sendTo(pombo, "maria@example.com"), 422, [{ code: "RECIPIENT_SUPPRESSED", field: "to" }]);
  expect((await lift(pombo.workspace, "maria@example.com")).status).toBe(200);
  // Final is final; the next one goes.
  expect((await recordOf(pombo, id)).status).toBe("suppressed");
  expect((await recordOf(pombo, await attempted(pombo))).status).toBe("delivered");
});

test("a suppression lifted before the next attempt does not stand in its way", async () => {
  await using held = await startAtNoon({ rcpt: LATER });
  const { pombo } = held;
  const id = await attempted(pombo);
  await suppress(pombo.workspace, "maria@example.com");
  await lift(pombo.workspace, "maria@example.com");
  pombo.mx.script = {};
  await held.advance(HOUR);
  await pombo.app.worker.idle();
  expect((await recordOf(pombo, id)).status).toBe("delivered");
});

test("every suppressed recipient of a batch is named by its path, and nothing of the batch is accepted", async () => {
  await using held = await startAtNoon();
  const { pombo } = held;
  for (const address of ["maria@example.com", "joao@example.com"]) await suppress(pombo.workspace, address);
  const to = ["ana@example.com", "Maria@example.com", "rui@example.com", "JOAO@EXAMPLE.COM", "maria@example.com"];
  const answer = await pombo.workspace.call("POST", "/api/v1/emails/batch", {
    body: { emails: to.map((one) => pombo.email({ to: one })) },
  });
  expectErrors(
    answer,
    422,
    [1, 3, 4].map((index) => ({ code: "RECIPIENT_SUPPRESSED", field: "to", path: `emails[${index}].to` })),
  );
  expect(errorItems(answer)[1]?.hint).toContain("DELETE /api/v1/suppressions/joao%40example.com ");
  expect((await pombo.workspace.call("GET", "/api/v1/emails")).body.meta.total).toBe(0);
});

test("a number that gets no texts is no address that gets no mail, and another workspace's list is not ours", async () => {
  await using held = await startAtNoon();
  const { pombo } = held;
  await suppress(pombo.workspace, "+258841234567");
  await suppress(await pombo.newWorkspace(), "maria@example.com");
  for (const to of ["+258841234567@example.com", "maria@example.com"]) {
    const id = await attempted(pombo, { to });
    expect((await recordOf(pombo, id)).status).toBe("delivered");
  }
});

/** One recipient in several spellings: suppressed by any way in one of them, it is so in all of them. */
const SPELLINGS: string[][] = [
  ["maria@example.com", "Maria@Example.COM", '"maria"@example.com', '"m\\aria"@example.com'],
  ["maria+loja@example.com", "MARIA+LOJA@example.com"],
  ["joão@example.com", "JOÃO@example.com", "joa\u0303o@example.com"],
  ["ana@bücher.test", "ana@xn--bcher-kva.test", "Ana@BÜCHER.test"],
  ['"a b"@example.com', '"A B"@EXAMPLE.com', '"a\\ b"@example.com'],
  ["a/b@example.com", "A/B@example.com"],
];

test("by hand, by a bounce or by the operator: every spelling is shut out, and lifted by any other", async () => {
  await using held = await startAtNoon({ capabilities: ["PIPELINING", "8BITMIME", "SMTPUTF8"] });
  const { pombo } = held;
  pombo.dns.zone["xn--bcher-kva.test"] = { MX: [[10, "mx.example.com"]] };
  const importPath = `/api/v1/operator/workspaces/${pombo.workspace.id}/suppressions/import`;
  const ways: Record<string, (address: string) => Promise<unknown>> = {
    async hand(address) {
      expect((await suppress(pombo.workspace, address)).status).toBe(201);
    },
    async bounce(address) {
      pombo.mx.script = { ...pombo.mx.script, rcpt: GONE };
      const id = await attempted(pombo, { to: address });
      expect([address, (await recordOf(pombo, id)).status]).toEqual([address, "bounced"]);
    },
    async operator(address) {
      const { body } = await pombo.operator.call("POST", importPath, { body: { suppressions: [{ address }] } });
      expect(body).toEqual({ data: { imported: 1, alreadyThere: 0 } });
    },
  };
  for (const [way, shutOut] of Object.entries(ways)) {
    for (const spellings of SPELLINGS) {
      for (const [index, spelling] of spellings.entries()) {
        await shutOut(spelling);
        for (const to of spellings) {
          const { status, body } = await sendTo(pombo, to);
          expect([way, spelling, to, status, body.errors?.[0].code]).toEqual([
            ...[way, spelling, to, 422],
            "RECIPIENT_SUPPRESSED",
          ]);
        }
        const other = spellings[(index + 1) % spellings.length] ?? "";
        expect([way, other, (await lift(pombo.workspace, other)).status]).toEqual([way, other, 200]);
        // Enough of the others' answers that these few bounces are no mass.
        await held.advance(HOUR);
      }
    }
  }
  expect(await listOf(pombo.workspace)).toEqual([]);
  expect(pombo.bugs).toEqual([]);
});

test("what is no address is refused in the same words on every way in", async () => {
  await using held = await startAtNoon();
  const { pombo } = held;
  const importPath = `/api/v1/operator/workspaces/${pombo.workspace.id}/suppressions/import`;
  for (const address of ["maria@example.com.", "maria..a@example.com", "maria@localhost", "maria@[192.0.2.1]"]) {
    const answers = [
      await sendTo(pombo, address),
      await suppress(pombo.workspace, address),
      await lift(pombo.workspace, address),
      await pombo.operator.call("POST", importPath, { body: { suppressions: [{ address }] } }),
    ];
    const words = answers.map((answer) => [
      answer.status,
      errorItems(answer).map(({ message }) => message.replace(/^(to|address) /, "")),
    ]);
    for (const one of words) expect([address, one]).toEqual([address, words[0] as never]);
    expect([address, words[0]?.[0]]).toEqual([address, 422]);
  }
});

test("a key restricted to a domain is told of the suppression as any other", async () => {
  await using held = await startAtNoon();
  const { pombo } = held;
  await suppress(pombo.workspace, "maria@example.com");
  const { data } = (await pombo.workspace.call("GET", "/api/v1/domains")).body;
  const made = await pombo.workspace.call("POST", "/api/v1/auth/keys", {
    body: { name: "one domain", domainId: data[0].id },
  });
  const { key } = made.body.data;
  const refused = await pombo.workspace.call("POST", "/api/v1/emails", { body: pombo.email(), key });
  expectErrors(refused, 422, [{ code: "RECIPIENT_SUPPRESSED", field: "to" }]);
  await lift(pombo.workspace, "maria@example.com");
  expect(await send(pombo)).toBeString();
});
