// The way to a mail server: TLS that works, that is broken or that never answers, and several hosts of
// which some are dead.
import { expect, setDefaultTimeout, test } from "bun:test";
import { within } from "./child.ts";
import {
  attemptsOf,
  deliver,
  HOUR_MS,
  MINUTE_MS,
  pass,
  record,
  send,
  startStill,
  suppressedAddresses,
} from "./mail.ts";

setDefaultTimeout(30_000);

const LIMIT_MS = 10_000;
/** src/protocols/smtp/session-pool.ts keeps a session idle for less: past it, the next message makes a new connection. */
const PAST_IDLE_MS = 6_000;

test("TLS is used where it works; where it is broken the message goes in clear, and the host is remembered", async () => {
  {
    await using pombo = await startStill({ mx: { tls: "good" } });
    const email = await deliver(pombo, "maria@example.com");
    expect(email.status).toBe("delivered");
    expect(pombo.mx.messages[0]?.isTls).toBe(true);
    expect(attemptsOf(pombo, email.id)[0]?.tls).toStartWith("TLSv1.");
  }
  for (const tls of ["garbage", "drop", "stall"] as const) {
    await using pombo = await startStill({ mx: { tls } });
    const id = await send(pombo, "maria@example.com");
    if (tls === "stall") {
      await within(
        LIMIT_MS,
        "STARTTLS",
        pombo.mx.until(() => pombo.mx.connections.some((each) => each.commands.includes("STARTTLS"))),
      );
      for (let turn = 0; turn < 3; turn += 1) expect((await record(pombo, id)).status).toBe("sending");
      pombo.clock.advance(MINUTE_MS);
    }
    await within(LIMIT_MS, tls, pombo.app.worker.idle());
    expect({ tls, ...(await record(pombo, id)) }).toMatchObject({ tls, status: "delivered", attempts: 1 });
    expect(attemptsOf(pombo, id)).toMatchObject([{ tls: null, outcome: "delivered" }]);
    await pass(pombo, PAST_IDLE_MS);
    expect((await deliver(pombo, "joao@example.com")).status).toBe("delivered");
    expect(pombo.mx.connections).toHaveLength(3);
    expect(pombo.mx.connections[2]?.commands).not.toContain("STARTTLS");
    expect(pombo.bugs).toEqual([]);
  }
});

test("with one of two MX dead the other gets the message in the same attempt; with both dead it waits", async () => {
  await using pombo = await startStill();
  pombo.dns.zone["mx.example.com"] = { A: ["127.0.0.1"] };
  // Nobody listens at these on the mail server's port.
  pombo.dns.zone["dead.example.com"] = { A: ["127.0.0.2", "127.0.0.3"] };
  for (const preferences of [
    { dead: 5, live: 10 },
    { dead: 10, live: 10 },
    { dead: 20, live: 10 },
  ]) {
    pombo.dns.zone[`p${preferences.dead}.example`] = {
      MX: [
        [preferences.live, "mx.example.com"],
        [preferences.dead, "dead.example.com"],
      ],
    };
    const email = await deliver(pombo, `maria@p${preferences.dead}.example`);
    expect(email).toMatchObject({ status: "delivered", attempts: 1 });
    expect(attemptsOf(pombo, email.id)).toMatchObject([{ host: "mx.example.com", outcome: "delivered" }]);
  }
  pombo.dns.zone["both.example"] = {
    MX: [
      [10, "dead.example.com"],
      [20, "gone.example.com"],
    ],
  };
  pombo.dns.zone["gone.example.com"] = { A: ["127.0.0.4"] };
  const email = await deliver(pombo, "maria@both.example");
  expect(email).toMatchObject({ status: "delivery_delayed", sentAt: null, bounce: null });
  expect(attemptsOf(pombo, email.id)).toMatchObject([{ stage: "connect", category: "no_answer", code: null }]);
  pombo.dns.zone["gone.example.com"] = { A: ["127.0.0.1"] };
  await pass(pombo, HOUR_MS);
  expect(await record(pombo, email.id)).toMatchObject({ status: "delivered", attempts: 2 });
  expect(suppressedAddresses(pombo)).toEqual([]);
});
