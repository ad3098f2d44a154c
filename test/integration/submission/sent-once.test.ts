// A program whose 250 was lost hands the same message in again: each recipient gets it once.

import { describe, expect, setDefaultTimeout, test } from "bun:test";
import { totalOf } from "../../support/api/kit.ts";
import { HOUR } from "../../support/api/one-email.ts";
import type { Instance } from "../../support/fakes/instance.ts";
import { idsOf, openClient, startHeldSubmitting, startSubmitting } from "../../support/submission/kit.ts";
import { accepted, handIn, message } from "../../support/submission/wire.ts";

setDefaultTimeout(60_000);

/** Who got something, in order. */
async function arrived(pombo: Instance): Promise<string[]> {
  await pombo.app.worker.idle();
  return pombo.mx.messages.flatMap(({ to }) => to).toSorted();
}

describe("the same message", () => {
  test("is answered with the first one's 250, also over another connection, and is delivered once", async () => {
    await using pombo = await startSubmitting();
    using talk = await openClient(pombo);
    const first = await handIn(talk, message());
    expect(first).toStartWith("250 2.0.0 Accepted: ");
    expect(await handIn(talk, message())).toBe(first);
    using other = await openClient(pombo, { mode: "implicit" });
    expect(await handIn(other, message())).toBe(first);
    expect(await arrived(pombo)).toEqual(["maria@example.com"]);
    expect(await totalOf(pombo.workspace)).toBe(1);
  });

  test("for several recipients is answered with their group and count", async () => {
    await using pombo = await startSubmitting();
    using talk = await openClient(pombo);
    const all = ["maria@example.com", "joao@example.com", "ana@example.com"];
    const first = await handIn(talk, message(), ...all);
    expect(first).toEndWith(" (3 recipients)\r\n");
    expect(await handIn(talk, message(), ...all)).toBe(first);
    // In another order, and written otherwise.
    expect(await handIn(talk, message(), "ANA@Example.com", "Maria@EXAMPLE.com", "joao@example.com")).toBe(first);
    expect(await arrived(pombo)).toEqual(all.toSorted());
  });

  test("goes to a recipient who is new, and to nobody else again", async () => {
    await using pombo = await startSubmitting();
    using talk = await openClient(pombo);
    const id = await accepted(talk, message(), "maria@example.com");
    const second = await accepted(talk, message(), "maria@example.com", "joao@example.com");
    expect(second).not.toBe(id);
    expect(await idsOf(pombo, second)).toEqual([second]);
    // Both are known now.
    expect([id, second]).toContain(await accepted(talk, message(), "joao@example.com", "maria@example.com"));
    expect(await arrived(pombo)).toEqual(["joao@example.com", "maria@example.com"]);
  });

  test("sent twice at the same time is one", async () => {
    await using pombo = await startSubmitting();
    const talks = await Promise.all(Array.from({ length: 4 }, () => openClient(pombo)));
    const replies = await Promise.all(talks.map((talk) => handIn(talk, message())));
    expect(new Set(replies).size).toBe(1);
    expect(await arrived(pombo)).toEqual(["maria@example.com"]);
    for (const talk of talks) talk.socket.destroy();
  });

  test("after a restart is still the same", async () => {
    await using pombo = await startSubmitting();
    using talk = await openClient(pombo);
    const first = await handIn(talk, message());
    await pombo.restart();
    using again = await openClient(pombo);
    expect(await handIn(again, message())).toBe(first);
    expect(await arrived(pombo)).toEqual(["maria@example.com"]);
  });

  test("is new once idempotency.retention is over", async () => {
    await using held = await startHeldSubmitting({
      configure: (config) => void (config.idempotency.retentionMs = HOUR),
    });
    const { pombo } = held;
    using talk = await openClient(pombo);
    const first = await accepted(talk, message());
    await held.advance(HOUR - 1_000);
    using within = await openClient(pombo);
    expect(await accepted(within, message())).toBe(first);
    await held.advance(2_000);
    using after = await openClient(pombo);
    const second = await accepted(after, message());
    expect(second).not.toBe(first);
    expect(await arrived(pombo)).toEqual(["maria@example.com", "maria@example.com"]);
  });
});

describe("is recognised", () => {
  test.each([["with another Received field", { Received: "from a.test by b.test; Sat, 21 Nov 2026 11:59:30 +0000" }]])(
    "%s",
    async (_, fields) => {
      await using pombo = await startSubmitting();
      using talk = await openClient(pombo);
      const first = await accepted(talk, message());
      expect(await accepted(talk, message(fields))).toBe(first);
      const received = "Received: from x.test\r\n\tby y.test; Sat, 21 Nov 2026 11:59:31 +0000\r\n";
      expect(await accepted(talk, `${received}${received}${message()}`)).toBe(first);
    },
  );

  test("with bare line feeds for line ends, as another program writes it", async () => {
    await using pombo = await startSubmitting();
    using talk = await openClient(pombo);
    const first = await accepted(talk, message());
    expect(await accepted(talk, `${message().replaceAll("\r\n", "\n").slice(0, -1)}\r\n`)).toBe(first);
  });
});

describe("is not recognised", () => {
  test.each([
    ["without Message-ID", { "Message-ID": null }],
    ["without Date", { Date: null }],
    ["with a Message-ID that is none", { "Message-ID": "one" }],
    ["with a Date that is none", { Date: "yesterday" }],
  ])("%s: a form may well say the same twice", async (_, fields) => {
    await using pombo = await startSubmitting();
    using talk = await openClient(pombo);
    const ids = [await accepted(talk, message(fields)), await accepted(talk, message(fields))];
    expect(new Set(ids).size).toBe(2);
    expect(await arrived(pombo)).toEqual(["maria@example.com", "maria@example.com"]);
  });

  test("with a byte changed, by a key of another domain, or in another workspace", async () => {
    await using pombo = await startSubmitting();
    const domains = await pombo.workspace.call("GET", "/api/v1/domains");
    const body = { name: "one", domainId: domains.body.data[0].id };
    const made = await pombo.workspace.call("POST", "/api/v1/auth/keys", { body });
    const other = await pombo.newWorkspace();
    using whole = await openClient(pombo);
    using ofDomain = await openClient(pombo, { key: made.body.data.key });
    using foreign = await openClient(pombo, { key: other.key });
    const ids = [
      await accepted(whole, message()),
      await accepted(whole, message({}, "Bom dia.\r\n")),
      await accepted(ofDomain, message()),
    ];
    expect(new Set(ids).size).toBe(3);
    // The 250 of another is not given away.
    expect(await handIn(foreign, message())).toStartWith("550 5.7.1 Domain not verified");
    expect(await arrived(pombo)).toHaveLength(3);
  });

  test("when the first one was refused", async () => {
    await using pombo = await startSubmitting();
    using talk = await openClient(pombo);
    const suppression = { body: { address: "maria@example.com" } };
    await talk.say("MAIL FROM:<app@client.test>");
    await talk.say("RCPT TO:<maria@example.com>");
    await talk.say("DATA");
    await pombo.workspace.call("POST", "/api/v1/suppressions", suppression);
    talk.write(`${message()}.\r\n`);
    expect(await talk.reply()).toStartWith("550 5.1.1 The recipient is suppressed (manual): ");
    await pombo.workspace.call("DELETE", "/api/v1/suppressions/maria%40example.com");
    await accepted(talk, message());
    expect(await arrived(pombo)).toEqual(["maria@example.com"]);
  });

  test("for a recipient who was suppressed then, while the others had it", async () => {
    await using pombo = await startSubmitting();
    using talk = await openClient(pombo);
    await talk.say("MAIL FROM:<app@client.test>");
    for (const name of ["maria", "joao"]) await talk.say(`RCPT TO:<${name}@example.com>`);
    await talk.say("DATA");
    await pombo.workspace.call("POST", "/api/v1/suppressions", { body: { address: "maria@example.com" } });
    talk.write(`${message()}.\r\n`);
    expect(await talk.reply()).toStartWith("250 2.0.0 Accepted: ");
    await pombo.workspace.call("DELETE", "/api/v1/suppressions/maria%40example.com");
    await accepted(talk, message(), "maria@example.com", "joao@example.com");
    expect(await arrived(pombo)).toEqual(["joao@example.com", "maria@example.com"]);
  });
});

describe("X-Pombo-Idempotency-Key", () => {
  test.each(["X-Pombo-Idempotency-Key", "Resend-Idempotency-Key"])(
    "%s decides in place of the octets, and leaves no trace",
    async (name) => {
      await using pombo = await startSubmitting();
      using talk = await openClient(pombo);
      const bare = { "Message-ID": null, Date: null };
      const first = await accepted(talk, message({ ...bare, [name]: "order-4711" }));
      expect(await accepted(talk, message({ ...bare, [name]: "order-4711" }, "Outro\r\n"))).toBe(first);
      const second = await accepted(talk, message({ [name]: "order-4712" }));
      // The same octets with another key would be another message.
      expect(await accepted(talk, message({ [name]: "order-4713" }))).not.toBe(second);
      expect(await arrived(pombo)).toHaveLength(3);
      expect(pombo.mx.messages.map(({ content }) => content.toString()).join("")).not.toMatch(/idempotency|order-47/i);
    },
  );

  test("is each recipient's: the same message handed in for others goes to them", async () => {
    await using pombo = await startSubmitting();
    using talk = await openClient(pombo);
    const keyed = message({ "X-Pombo-Idempotency-Key": "order-1" });
    const first = await accepted(talk, keyed, "maria@example.com");
    expect(await accepted(talk, keyed, "joao@example.com")).not.toBe(first);
    expect(await accepted(talk, keyed, "maria@example.com")).toBe(first);
    expect(await arrived(pombo)).toEqual(["joao@example.com", "maria@example.com"]);
  });

  test("is the workspace's own, and another one than the API's of the same name", async () => {
    await using pombo = await startSubmitting();
    using talk = await openClient(pombo);
    const headers = { "idempotency-key": "order-1" };
    const api = await pombo.workspace.call("POST", "/api/v1/emails", { body: pombo.email(), headers });
    const id = await accepted(talk, message({ "X-Pombo-Idempotency-Key": "order-1" }));
    expect(id).not.toBe(api.body.data.id);
  });
});
