// Several workspaces on one instance: what one of them does to its own mail costs the others nothing.
import { expect, setDefaultTimeout, test } from "bun:test";
import { createServer, type Socket } from "node:net";
import { type Instance, startInstance } from "../../support/fakes/instance.ts";
import { waitUntil } from "../../support/peers/process.ts";

const LIMIT_MS = 10_000;
const SESSIONS = 20;
const SITES = 60;
const TARPIT_ADDRESS = "127.0.0.2";

setDefaultTimeout(30_000);

interface Tarpit extends AsyncDisposable {
  readonly openConnections: number;
}

/** A mail server that takes connections and never says a word. */
async function startTarpit(port: number): Promise<Tarpit> {
  const sockets = new Set<Socket>();
  const server = createServer((socket) => {
    sockets.add(socket);
    socket.on("error", () => undefined).on("close", () => sockets.delete(socket));
  });
  await new Promise<void>((resolve) => server.listen(port, TARPIT_ADDRESS, resolve));
  return {
    get openConnections() {
      return sockets.size;
    },
    async [Symbol.asyncDispose]() {
      for (const socket of sockets) socket.destroy();
      await new Promise((resolve) => server.close(resolve));
    },
  };
}

/** One email to each of the sites, from a workspace of its own. */
async function mailToAll(pombo: Instance, sites: string[]): Promise<void> {
  const slow = await pombo.newWorkspace();
  await pombo.addDomain(slow, "slow.test");
  const emails = sites.map((site) => pombo.email({ from: "a@slow.test", to: `a@${site}` }));
  const answer = await slow.call("POST", "/api/v1/emails/batch", { body: { emails } });
  expect(answer.status).toBe(202);
}

for (const { what, hostOf, connections } of [
  { what: "one mail server behind sixty domains", hostOf: () => "mx.tar.test", connections: 2 },
  { what: "sixty mail servers", hostOf: (i: number) => `mx${i}.tar.test`, connections: SESSIONS / 2 },
]) {
  test(`one workspace's mail to a tarpit, ${what}, does not hold up another's`, async () => {
    await using pombo = await startInstance({
      configure(config) {
        config.email.maxSessions = SESSIONS;
        config.email.sessionsPerDestination = 2;
      },
    });
    await using tarpit = await startTarpit(pombo.mx.port);
    const sites = Array.from({ length: SITES }, (_, i) => `x${i}.tar.test`);
    for (const [i, site] of sites.entries()) {
      pombo.dns.zone[site] = { MX: [[10, hostOf(i)]] };
      pombo.dns.zone[hostOf(i)] = { A: [TARPIT_ADDRESS] };
    }
    await mailToAll(pombo, sites);
    const isStuck = () => pombo.app.worker.runningCount >= SESSIONS / 2 && tarpit.openConnections >= connections;
    await waitUntil("the slow workspace has all the places it gets", LIMIT_MS, isStuck);

    const sent = await pombo.workspace.call("POST", "/api/v1/emails", { body: pombo.email() });
    expect(sent.status).toBe(202);
    await waitUntil("the other's email is delivered", LIMIT_MS, () => pombo.mx.messages.length === 1);
    expect(pombo.app.worker.runningCount).toBeLessThanOrEqual(SESSIONS / 2 + 1);
    expect(tarpit.openConnections).toBe(connections);
    const path = `/api/v1/emails/${sent.body.data.id}`;
    await waitUntil("its record says so", LIMIT_MS, async () => {
      const { status } = (await pombo.workspace.call("GET", path)).body.data;
      return status === "delivered";
    });
    expect(pombo.bugs).toEqual([]);
  });
}
