// A question about a DNS server itself: what it says, by which transport, and what silence is.
import { expect, test } from "bun:test";
import { systemClock } from "../../../../src/platform/clock.ts";
import { probeServer, type ServerQuestion } from "../../../../src/protocols/dns/probe.ts";
import { parseServer } from "../../../../src/protocols/dns/servers.ts";
import { type DnsFault, startFakeDns } from "../../../support/fakes/dns-server.ts";

const question: ServerQuestion = { name: "example.com", type: "A", transport: "udp", id: 4_711 };

async function ask(changes: Partial<ServerQuestion> = {}, fault?: DnsFault, signal = new AbortController().signal) {
  await using dns = await startFakeDns(
    { "example.com": { A: ["192.0.2.1"] } },
    fault === undefined ? {} : { "*": fault },
  );
  const options = { clock: systemClock, timeoutMs: 200, signal };
  return await probeServer(parseServer(dns.address), { ...question, ...changes }, options);
}

test("an answer has its code, its time and whether it was validated, by UDP and by TCP", async () => {
  for (const transport of ["udp", "tcp"] as const)
    expect(await ask({ transport })).toEqual({
      kind: "answered",
      rcode: "NOERROR",
      isAuthenticated: false,
      isTruncated: false,
      tookMs: expect.any(Number),
    });
  expect(await ask({}, "servfail")).toMatchObject({ kind: "answered", rcode: "SERVFAIL" });
  expect(await ask({}, "truncated")).toMatchObject({ kind: "answered", isTruncated: true });
});

test("silence, garbage and a forged id are no answer", async () => {
  expect(await ask({}, "silence")).toEqual({ kind: "silent", reason: "did not answer within 0.2 s" });
  expect(await ask({}, "garbage")).toMatchObject({ kind: "silent" });
  expect(await ask({ transport: "tcp" }, "silence")).toMatchObject({ kind: "silent" });
  // The true one comes behind it.
  expect(await ask({}, "wrong_id")).toMatchObject({ kind: "answered" });
});

test("nobody there, and a time that is over, are told at once", async () => {
  const options = { clock: systemClock, timeoutMs: 5_000, signal: new AbortController().signal };
  const closed = parseServer("127.0.0.1:1");
  for (const transport of ["udp", "tcp"] as const)
    expect(await probeServer(closed, { ...question, transport }, options)).toMatchObject({
      kind: "silent",
      reason: expect.stringContaining("could not be reached"),
    });
  expect(await ask({}, "silence", AbortSignal.abort())).toEqual({
    kind: "silent",
    reason: "was not asked: the time was over",
  });
});
