import { expect, test } from "bun:test";
import { createServer, type Socket } from "node:net";
import { connectBySocks5, type Socks5Proxy } from "../../../../src/protocols/socks5/connect.ts";
import type { DialFault } from "../../../../src/protocols/socks5/dial.ts";
import { until } from "../../../support/inbound/kit.ts";
import { type Socks5Script, startSocks5 } from "../../../support/fakes/socks5.ts";

type Outcome = { early: string; socket: Socket } | { reason: string; fault: DialFault };

/** Asks the proxy to lead to `port`. */
function dial(proxyPort: number, port: number, credentials: Socks5Proxy["credentials"] = null): Promise<Outcome> {
  return new Promise((resolve) => {
    const dialing = connectBySocks5(
      { address: "127.0.0.1", port: proxyPort, credentials },
      { address: "192.0.2.25", port },
      {
        connected: (early) => resolve({ early: early?.toString() ?? "", socket: dialing.socket }),
        failed: (reason, fault) => resolve({ reason, fault }),
      },
    );
  });
}

/** A server that greets, and repeats in capitals what it hears. */
async function startShouter() {
  const server = createServer((socket) => {
    socket.on("error", () => {});
    socket.write("220 hello\r\n");
    socket.on("data", (chunk) => socket.write(chunk.toString().toUpperCase()));
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  const address = server.address();
  const port = typeof address === "object" && address !== null ? address.port : 0;
  return { port, [Symbol.dispose]: () => void server.close() };
}

const PEOPLE = { username: "maria", password: "vento" };

test.each<[string, Socks5Script, Socks5Proxy["credentials"]]>([
  ["without a password", {}, null],
  ["with a user and a password", { credentials: PEOPLE }, PEOPLE],
  ["that asks for no password although we have one", {}, PEOPLE],
  ["that sends single octets, and its own name", { credentials: PEOPLE, isOdd: true }, PEOPLE],
])("through a proxy %s both sides hear each other, and no octet is lost", async (_, script, credentials) => {
  using shouter = await startShouter();
  await using proxy = await startSocks5(script);
  const outcome = await dial(proxy.port, shouter.port, credentials);
  if (!("socket" in outcome)) throw new Error(outcome.reason);
  const { socket } = outcome;
  let heard = outcome.early;
  const { promise, resolve } = Promise.withResolvers<void>();
  socket.on("data", (chunk) => {
    heard += chunk.toString();
    if (heard.includes("OLÁ")) resolve();
  });
  socket.write("olá");
  await promise;
  expect(heard).toBe("220 hello\r\nOLÁ");
  expect(proxy.targets).toEqual([{ address: "192.0.2.25", port: shouter.port }]);
  socket.destroy();
});

const byProxy = (reason: string) => ({ reason, fault: "proxy" as const });

interface Failure {
  script: Socks5Script;
  credentials?: Socks5Proxy["credentials"];
  reason: string;
  fault: DialFault;
}

test.each<[string, Failure]>([
  [
    "asks for a password that we do not have",
    { script: { credentials: PEOPLE }, ...byProxy("it asks for a user name") },
  ],
  [
    "does not take ours",
    {
      script: { credentials: PEOPLE },
      credentials: { ...PEOPLE, password: "mar" },
      ...byProxy("it does not take the user name and password"),
    },
  ],
  ["speaks HTTP", { script: { says: "HTTP/1.1 400 Bad Request\r\n\r\n" }, ...byProxy("it does not speak SOCKS5") }],
  [
    "chooses a method of its own",
    { script: { says: "\x05\x07" }, ...byProxy("it chose the method 7, which was not offered") },
  ],
  ["goes away without an answer", { script: { closesOnRequest: true }, ...byProxy("it closed the connection") }],
  [
    "may not lead there",
    { script: { reply: 2 }, reason: "the proxy's rules do not allow this connection", fault: "rules" },
  ],
  ["cannot CONNECT", { script: { reply: 7 }, reason: "the proxy does not know CONNECT", fault: "rules" }],
  ["finds the port closed", { script: { reply: 5 }, reason: "connection refused, says the proxy", fault: "target" }],
  ["does not reach the host", { script: { reply: 4 }, reason: "host unreachable, says the proxy", fault: "target" }],
  ["says an unknown thing", { script: { reply: 99 }, reason: "the proxy answered 99", fault: "target" }],
])("a proxy that %s", async (_, { script, credentials = null, reason, fault }) => {
  await using proxy = await startSocks5(script);
  expect(await dial(proxy.port, 25, credentials)).toEqual({ reason, fault });
});

test("a proxy that is not there is at fault, and no server", async () => {
  const proxy = await startSocks5();
  await proxy.stop();
  expect(await dial(proxy.port, 25)).toMatchObject({ fault: "proxy" });
});

test("until the proxy has answered the time it takes is its own, then it is the server's", async () => {
  await using proxy = await startSocks5({ isMuteOnRequest: true });
  const { promise, resolve } = Promise.withResolvers();
  const listener = { connected: resolve, failed: resolve };
  const place = { address: "127.0.0.1", port: proxy.port, credentials: null };
  const dialing = connectBySocks5(place, { address: "192.0.2.25", port: 25 }, listener);
  expect(dialing.waitsFor).toBe("proxy");
  await until("the request", () => proxy.targets.length > 0);
  expect(dialing.waitsFor).toBe("target");
  proxy.cut();
  await promise;
});
