import { expect, test } from "bun:test";
import { deliverVia, describeTransmission } from "../../../../src/protocols/smtp/transmit.ts";
import { drop, sayThenDrop, stall, type MxScript } from "../../../support/fakes/mx.ts";
import { CONTENT, ENVELOPE } from "../../../support/smtp/helpers.ts";
import { counts, MAIL, withSite } from "./site.ts";

test("the first host takes the message, and the record has all it needs", async () => {
  await withSite([{ tls: "good" }, {}], async ({ pool, destination, mxs }) => {
    const sent = await deliverVia(pool, destination, MAIL);
    expect(sent).toMatchObject({
      result: { kind: "accepted" },
      lastReply: { code: 250 },
      isReached: true,
      isOutcomeUnknown: false,
      host: "mx1.example",
      address: "127.0.0.1",
      policy: { mode: "opportunistic", source: "default" },
      tls: { protocol: expect.stringContaining("TLS"), cipher: expect.any(String) },
    });
    expect(sent.tries).toHaveLength(1);
    expect(counts(mxs)).toEqual([1, 0]);
    expect(describeTransmission(sent)).toBe("250 2.0.0 Queued (mx1.example)");
  });
});

test("the next message to the site goes over the same session (R12, R30)", async () => {
  await withSite([{}], async ({ pool, destination, mxs }) => {
    await deliverVia(pool, destination, MAIL);
    expect(pool.idleCount).toBe(1);
    const second = await deliverVia(pool, destination, MAIL);
    expect(second.tries).toMatchObject([{ isReused: true, host: "mx1.example" }]);
    expect(counts(mxs)).toEqual([1]);
    expect(mxs[0]!.messages).toHaveLength(2);
  });
});

test("a host that cannot be reached gives way to the next (R6)", async () => {
  await withSite([null, {}], async ({ pool, destination, mxs }) => {
    const sent = await deliverVia(pool, destination, MAIL);
    expect(sent).toMatchObject({ result: { kind: "accepted" }, host: "mx2.example" });
    expect(sent.tries).toMatchObject([
      { result: { kind: "broken", stage: "connect" } },
      { result: { kind: "accepted" } },
    ]);
    expect(counts(mxs)[1]).toBe(1);
  });
});

test("a refused greeting or EHLO goes on to the next host (R14)", async () => {
  for (const script of [
    { greeting: "451 4.3.0 Later" },
    { greeting: "554 5.7.1 No" },
    { ehlo: "450 4.7.1 No" },
    { ehlo: "550 No", helo: "550 No" },
  ]) {
    await withSite([script, {}], async ({ pool, destination }) => {
      expect(await deliverVia(pool, destination, MAIL)).toMatchObject({
        result: { kind: "accepted" },
        host: "mx2.example",
      });
    });
  }
});

test("a refused greeting is the whole host's: its other addresses are left out (R14)", async () => {
  await withSite([{ greeting: "450 4.7.0 Later" }, {}, {}], async ({ pool, destination, mxs }) => {
    const hosts = [{ name: "mx1.example", addresses: ["127.0.0.1", "127.0.0.2"] }, destination.hosts[2]!];
    expect(await deliverVia(pool, { ...destination, hosts }, MAIL)).toMatchObject({
      result: { kind: "accepted" },
      host: "mx3.example",
    });
    expect(counts(mxs)).toEqual([1, 0, 1]);
  });
});

test("when all hosts refuse the greeting, the last refusal is the result and nothing was reached (R14)", async () => {
  await withSite(
    [{ greeting: "554 5.7.1 First" }, { greeting: "554 5.7.1 Second" }, {}],
    async ({ pool, destination, mxs }) => {
      const sent = await deliverVia(pool, destination, MAIL);
      expect(sent).toMatchObject({
        result: { kind: "refused", stage: "greeting" },
        host: "mx2.example",
        isReached: false,
      });
      // R6: two hosts that answered are enough for one attempt.
      expect(counts(mxs)).toEqual([1, 1, 0]);
    },
  );
});

test("a refusal tells more than a later failure to connect", async () => {
  await withSite([{ greeting: "554 5.7.1 No" }, null], async ({ pool, destination }) => {
    expect(await deliverVia(pool, destination, MAIL)).toMatchObject({
      result: { kind: "refused", stage: "greeting" },
      host: "mx1.example",
    });
  });
});

test("a 421 stops the attempt wherever it comes: no rush to the second host (R25)", async () => {
  for (const script of [
    { greeting: "421 4.3.2 Busy" },
    { ehlo: "421 4.3.2 Busy" },
    { mail: "421 4.3.2 Busy" },
    { dot: "421 4.3.2 Busy" },
  ]) {
    await withSite([script, {}], async ({ pool, destination, mxs }) => {
      expect(await deliverVia(pool, destination, MAIL)).toMatchObject({
        result: { kind: "refused", reply: { code: 421 } },
        host: "mx1.example",
      });
      expect(counts(mxs)).toEqual([1, 0]);
      expect(pool.idleCount).toBe(0);
    });
  }
});

test("an answer to the envelope or the content is final, temporary or not (R6)", async () => {
  for (const script of [
    { mail: "451 4.7.1 Later" },
    { rcpt: "450 4.2.0 Greylisted" },
    { rcpt: "550 5.1.1 No" },
    { data: "451 4.3.0 No" },
    { dot: "554 5.7.1 Spam" },
  ]) {
    await withSite([script, {}], async ({ pool, destination, mxs }) => {
      const sent = await deliverVia(pool, destination, MAIL);
      expect(sent).toMatchObject({
        result: { kind: "refused" },
        host: "mx1.example",
        isReached: true,
        isOutcomeUnknown: false,
      });
      expect(counts(mxs)).toEqual([1, 0]);
      // Only what has been put off, and nothing else, comes back over a connection of its own.
      expect(pool.idleCount).toBe(sent.lastReply!.code < 500 ? 0 : 1);
    });
  }
});

test("a server that puts us off is asked again over a new connection, but for a recipient of one that has taken mail", async () => {
  await withSite([{ rcpt: "450 4.3.2 Service currently unavailable" }], async ({ pool, destination, mxs }) => {
    await deliverVia(pool, destination, MAIL);
    await mxs[0]!.until(() => mxs[0]!.connections[0]!.isClosed);
    expect(mxs[0]!.connections[0]!.commands.at(-1)).toBe("QUIT");
    mxs[0]!.script = {};
    await deliverVia(pool, destination, MAIL);
    mxs[0]!.script = { rcpt: "452 4.2.2 Mailbox full" };
    await deliverVia(pool, destination, MAIL);
    mxs[0]!.script = {};
    const last = await deliverVia(pool, destination, MAIL);
    expect(last.tries).toMatchObject([{ isReused: true, result: { kind: "accepted" } }]);
    expect(counts(mxs)).toEqual([2]);
    // As of a server whose filter has failed under this session.
    mxs[0]!.script = { mail: "451 4.7.1 Service unavailable" };
    await deliverVia(pool, destination, MAIL);
    expect(pool.idleCount).toBe(0);
  });
});

test("a connection lost before the dot goes on to the next host", async () => {
  for (const script of [{ mail: drop() }, { rcpt: drop() }, { data: drop() }]) {
    await withSite([script, {}], async ({ pool, destination, mxs }) => {
      expect(await deliverVia(pool, destination, MAIL)).toMatchObject({
        result: { kind: "accepted" },
        host: "mx2.example",
      });
      expect(mxs[0]!.messages).toHaveLength(0);
    });
  }
});

test("a connection lost after the dot ends the attempt at once with an unknown outcome (R28)", async () => {
  await withSite([{ dot: drop() }, {}], async ({ pool, destination, mxs }) => {
    const sent = await deliverVia(pool, destination, MAIL);
    expect(sent).toMatchObject({
      result: { kind: "broken", stage: "dot" },
      isOutcomeUnknown: true,
      isReached: true,
      lastReply: null,
    });
    expect(counts(mxs)).toEqual([1, 0]);
  });
});

test("at most five addresses are tried (R6)", async () => {
  await withSite([null], async ({ pool, destination }) => {
    const addresses = [1, 2, 3, 4, 5, 6, 7].map((last) => `127.0.0.${last}`);
    const sent = await deliverVia(pool, { ...destination, hosts: [{ name: "mx1.example", addresses }] }, MAIL);
    expect(sent.tries.map((each) => each.address)).toEqual(addresses.slice(0, 5));
    expect(sent).toMatchObject({ result: { kind: "broken", stage: "connect" }, isReached: false });
  });
});

test("a route without addresses is a break, not a crash", async () => {
  await withSite([{}], async ({ pool }) => {
    for (const hosts of [[], [{ name: "mx1.example", addresses: [] }]]) {
      expect(await deliverVia(pool, { hosts, site: "site" }, MAIL)).toMatchObject({
        result: { kind: "broken", stage: "connect" },
        host: null,
      });
    }
  });
});

test("an idle session that breaks at MAIL is replaced in silence by one fresh connection", async () => {
  let isFirst = true;
  const mail: MxScript["mail"] = (_command, connection) => {
    if (isFirst || connection.commands.filter((command) => command.startsWith("MAIL")).length === 1)
      return ((isFirst = false), "250 Ok");
    return drop();
  };
  await withSite([{ mail }], async ({ pool, destination, mxs }) => {
    await deliverVia(pool, destination, MAIL);
    const second = await deliverVia(pool, destination, MAIL);
    expect(second).toMatchObject({
      result: { kind: "accepted" },
      tries: [{ isReused: true, result: { kind: "broken", stage: "mail" } }, { isReused: false }],
    });
    expect(counts(mxs)).toEqual([2]);
    expect(mxs[0]!.messages).toHaveLength(2);
  });
});

test("a 421 to MAIL on a used session, as some servers end one with enough messages, is asked of a fresh one", async () => {
  const mail: MxScript["mail"] = (_command, connection) =>
    connection.messages.length > 0 ? sayThenDrop("421 Max message per connection reached") : "250 Ok";
  await withSite([{ mail }, {}], async ({ pool, destination, mxs }) => {
    for (let count = 0; count < 3; count++)
      expect(await deliverVia(pool, destination, MAIL)).toMatchObject({
        result: { kind: "accepted" },
        host: "mx1.example",
      });
    expect(counts(mxs)).toEqual([3, 0]);
    mxs[0]!.script = { mail, greeting: "421 4.3.2 Enough" };
    expect(await deliverVia(pool, destination, MAIL)).toMatchObject({
      result: { kind: "refused", stage: "greeting", reply: { code: 421 } },
    });
    expect(counts(mxs)).toEqual([4, 0]);
  });
});

test("SMTPUTF8 is looked for on another host, and is missing only if none has it (R21)", async () => {
  const mail = { ...MAIL, envelope: { ...ENVELOPE, to: "josé@example.net", needsSmtpUtf8: true } };
  const without: MxScript = { capabilities: ["PIPELINING"] };
  await withSite([without, {}], async ({ pool, destination }) => {
    expect(await deliverVia(pool, destination, mail)).toMatchObject({
      result: { kind: "accepted" },
      host: "mx2.example",
    });
  });
  await withSite([without, without], async ({ pool, destination }) => {
    expect(await deliverVia(pool, destination, mail)).toMatchObject({
      result: { kind: "unfit", enhanced: "5.6.7" },
      isReached: false,
    });
  });
  await withSite([without, null], async ({ pool, destination }) => {
    expect(await deliverVia(pool, destination, mail)).toMatchObject({ result: { kind: "broken", stage: "connect" } });
  });
});

test("a message too large for the first host is refused without asking another (R19)", async () => {
  await withSite([{ capabilities: ["SIZE 10"] }, {}], async ({ pool, destination, mxs }) => {
    const sent = await deliverVia(pool, destination, MAIL);
    expect(sent).toMatchObject({ result: { kind: "unfit", enhanced: "5.3.4" }, lastReply: null, isReached: false });
    expect(describeTransmission(sent)).toBe(
      `Not sent to mx1.example: the message has ${CONTENT.length} bytes and the server takes 10`,
    );
    expect(counts(mxs)).toEqual([1, 0]);
    expect(pool.idleCount).toBe(1);
  });
});

test("an abort ends the attempt and tries no other host", async () => {
  for (const script of [{ greeting: stall() }, { rcpt: stall() }, { dot: stall() }]) {
    await withSite([script, {}], async ({ pool, destination, mxs }) => {
      const abort = new AbortController();
      const sending = deliverVia(pool, destination, { ...MAIL, signal: abort.signal });
      await mxs[0]!.until(
        () =>
          mxs[0]!.connections.length === 1 &&
          (script.greeting !== undefined || mxs[0]!.connections[0]!.commands.length >= 3),
      );
      if (script.dot !== undefined) await mxs[0]!.until(() => mxs[0]!.messages.length === 1);
      abort.abort();
      expect(await sending).toMatchObject({ result: { kind: "broken" }, isOutcomeUnknown: script.dot !== undefined });
      expect(counts(mxs)).toEqual([1, 0]);
    });
  }
});

test("content that may not be sent throws and leaves the session for the next message (R23)", async () => {
  await withSite([{}], async ({ pool, destination, mxs }) => {
    await expect(deliverVia(pool, destination, { ...MAIL, content: Buffer.from("bare\nLF\r\n") })).rejects.toThrow(
      "bare LF",
    );
    expect(pool.idleCount).toBe(1);
    expect(await deliverVia(pool, destination, MAIL)).toMatchObject({ result: { kind: "accepted" } });
    expect(counts(mxs)).toEqual([1]);
  });
});
