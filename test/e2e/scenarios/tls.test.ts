// The whole way of a certificate, with an authority that is not ours: ordered at the first start, shown on every port,
// served after a restart without asking again.

import { expect, setDefaultTimeout, test } from "bun:test";
import { once } from "node:events";
import { writeFileSync } from "node:fs";
import { type AddressInfo, createServer } from "node:net";
import { join } from "node:path";
import { waitUntil } from "../../support/peers/process.ts";
import { runPombo, spawnCommand } from "./child.ts";
import {
  askAlways,
  forgetCertificate,
  handshake,
  LIMIT_MS,
  moveIssueBack,
  PEBBLE,
  startTls,
  startTlsWorld,
  tlsPortOf,
} from "./tls-world.ts";
import { bugsOf, hasLogged, HOSTNAME } from "./world.ts";

setDefaultTimeout(120_000);

test.skipIf(PEBBLE === null)(
  "a certificate is ordered, served on the API and after a restart without another order",
  async () => {
    await using all = await startTlsWorld();
    const { world, pebble, config } = all;
    await using first = await world.serve({ config });
    await first.until("the certificate", () => hasLogged(first, "tls.issued"), LIMIT_MS);
    const root = await pebble.root();
    const certificate = await handshake(tlsPortOf(first), root);
    expect(certificate.checkHost(HOSTNAME)).toBe(HOSTNAME);
    const answer = await fetch(`https://127.0.0.1:${tlsPortOf(first)}/ready`, {
      headers: { host: HOSTNAME },
      tls: { ca: root, serverName: HOSTNAME },
    });
    expect(answer.status).toBe(200);
    // Browsers do not know this authority.
    expect(answer.headers.get("strict-transport-security")).toBeNull();
    const shown = await runPombo(["tls", "--config", config, "--json"]);
    expect(JSON.parse(shown.stdout)).toMatchObject({
      source: "authority",
      names: [HOSTNAME],
      certificate: { names: [HOSTNAME], isSelfMade: false, isPublic: false },
      failure: null,
    });
    expect(bugsOf(first)).toEqual([]);
    first.signal("SIGTERM");
    await first.ended;

    await pebble[Symbol.asyncDispose]();
    await using second = await world.serve({ config });
    expect((await handshake(tlsPortOf(second), root)).fingerprint256).toBe(certificate.fingerprint256);
    expect(pebble.accounts()).toBe(1);
    expect(bugsOf(second)).toEqual([]);
  },
);

test.skipIf(PEBBLE === null)(
  "ten renewals in a row: every client gets its answer, and all ports show the newest",
  async () => {
    await using all = await startTlsWorld({ lifetimesS: { default: 4 }, nonceRejects: 20 });
    const { world, pebble, config } = all;
    await using served = await world.serve({ config });
    const issued = () => served.stdout().split('"event":"tls.issued"').length - 1;
    await served.until("the certificate", () => issued() > 0, LIMIT_MS);
    const root = await pebble.root();
    const endAsking = askAlways(tlsPortOf(served), root);
    await served.until("ten renewals", () => issued() > 10, LIMIT_MS);
    const counts = await endAsking();
    // A handshake that is under way when the port changes hands may be reset.
    expect(counts.wrong).toBe(0);
    expect(counts.reset).toBeLessThanOrEqual(issued());
    expect(counts.answered).toBeGreaterThan(50);
    const [onApi, onInbound] = [await handshake(tlsPortOf(served), root), await startTls(served.inboundPort, root)];
    expect(onApi.checkHost(HOSTNAME)).toBe(HOSTNAME);
    expect(Math.abs(Date.parse(onApi.validTo) - Date.parse(onInbound.validTo))).toBeLessThan(10_000);
    expect(pebble.accounts()).toBe(1);
    expect(bugsOf(served)).toEqual([]);
  },
);

test.skipIf(PEBBLE === null)(
  "an authority that wants the next certificate now gets the order for it, which says what it replaces",
  async () => {
    await using all = await startTlsWorld();
    const { world, pebble, config } = all;
    await using first = await world.serve({ config });
    await first.until("the certificate", () => hasLogged(first, "tls.issued"), LIMIT_MS);
    const before = await handshake(tlsPortOf(first), await pebble.root());
    first.signal("SIGTERM");
    await first.ended;
    const [start, end] = [Date.now() - 7_200_000, Date.now() - 3_600_000].map((at) => new Date(at).toISOString());
    await pebble.suggest(String(before), { suggestedWindow: { start, end } });
    // A certificate is not replaced in the first hundredth of its lifetime.
    moveIssueBack(join(world.dataDir, "pombo.db"), 3 * 24 * 3_600_000);

    await using second = await world.serve({ config });
    await second.until("the next certificate", () => hasLogged(second, "tls.issued"), LIMIT_MS);
    const after = await handshake(tlsPortOf(second), await pebble.root());
    expect(after.serialNumber).not.toBe(before.serialNumber);
    expect(pebble.output()).toMatch(/replace/i);
    expect(bugsOf(second)).toEqual([]);
  },
);

/** What Pebble has said once an order has come so far. */
const STEPS: [string, RegExp][] = [
  ["before the account", /GET \/dir /],
  ["after the account", /There are now 1 accounts/],
  ["after the order", /There are now 1 orders/],
  ["while it looks", /Starting \d+ validations|Pulled a task/],
  ["after the authorization", /authz .* set VALID/],
  ["after the certificate", /Issued certificate serial/],
];

test.skipIf(PEBBLE === null)(
  "killed at any step of an order, the next start gets it, with the same account",
  async () => {
    await using all = await startTlsWorld();
    const { world, pebble, config } = all;
    for (const [step, pattern] of STEPS) {
      const file = join(world.dataDir, "pombo.db");
      await using killed = await world.serve({ config });
      await waitUntil(step, LIMIT_MS, () => pattern.test(pebble.output()));
      killed.signal("SIGKILL");
      await killed.ended;
      forgetCertificate(file);
    }
    await using last = await world.serve({ config });
    await last.until("the certificate", () => hasLogged(last, "tls.issued"), LIMIT_MS);
    expect((await handshake(tlsPortOf(last), await pebble.root())).checkHost(HOSTNAME)).toBe(HOSTNAME);
    expect(pebble.accounts()).toBe(1);
    expect(bugsOf(last)).toEqual([]);
  },
);

const client = (file: string) => join(import.meta.dir, "tls-clients", file);

/** Programs that are not ours, each of which must trust the chain and find the name. */
const CLIENTS: Record<string, (port: number, ca: string) => string[]> = {
  curl: (port, ca) => [
    ...["curl", "-fsS", "--cacert", ca, "--resolve", `${HOSTNAME}:${port}:127.0.0.1`],
    `https://${HOSTNAME}:${port}/ready`,
  ],
  openssl: (port, ca) => [
    ...["openssl", "s_client", "-connect", `127.0.0.1:${port}`, "-servername", HOSTNAME],
    ...["-verify_hostname", HOSTNAME, "-CAfile", ca, "-verify_return_error", "-brief"],
  ],
  python3: (port, ca) => ["python3", client("client.py"), String(port), ca, HOSTNAME],
  go: (port, ca) => ["go", "run", client("client.go"), String(port), ca, HOSTNAME],
  java: (port, ca) => ["java", client("Client.java"), String(port), ca, HOSTNAME],
};

/** The same of a mail client after STARTTLS. */
function runSwaks(port: number, ca: string): string[] {
  const tls = ["--tls", "--tls-verify", "--tls-ca-path", ca, "--tls-sni", HOSTNAME];
  return ["swaks", "--server", `127.0.0.1:${port}`, "--quit-after", "EHLO", ...tls];
}

test.skipIf(PEBBLE === null)(
  "curl, OpenSSL, Python, Go, Java and swaks trust the chain and find the name, also on another server",
  async () => {
    await using all = await startTlsWorld();
    const { world, pebble } = all;
    const replica = join(world.folder, "replica");
    const replicated = world.writeConfig("replicated.toml", {
      tls: all.tls,
      replication: { url: replica, sync_interval: "100ms" },
    });
    await using first = await world.serve({ config: replicated });
    await first.until("the certificate", () => hasLogged(first, "tls.issued"), LIMIT_MS);
    const root = await pebble.root();
    const ca = join(world.folder, "root.pem");
    writeFileSync(ca, root);
    const commands = Object.values(CLIENTS).map((command) => command(tlsPortOf(first), ca));
    for (const command of [...commands, runSwaks(first.inboundPort, ca)]) {
      const [name = ""] = command;
      if (Bun.which(name) === null) continue;
      await using running = spawnCommand(command);
      const { code } = await running.ended;
      expect([name, code, running.stderr()]).toEqual([name, 0, expect.any(String)]);
    }
    const { fingerprint256 } = await handshake(tlsPortOf(first), root);
    first.signal("SIGTERM");
    await first.ended;

    // The authority is not reached from there.
    await pebble[Symbol.asyncDispose]();
    const elsewhere = { "": { hostname: HOSTNAME, data_dir: join(world.folder, "elsewhere") }, tls: all.tls };
    const target = world.writeConfig("elsewhere.toml", elsewhere);
    const key = join(world.dataDir, "instance.key");
    const restored = await runPombo(["restore", "--from", replica, "--key-file", key, "--config", target]);
    expect([restored.code, restored.stderr]).toEqual([0, expect.any(String)]);
    await using second = await world.serve({ config: target });
    expect((await handshake(tlsPortOf(second), root)).fingerprint256).toBe(fingerprint256);
    expect(bugsOf(second)).toEqual([]);
  },
);

test.skipIf(PEBBLE === null)(
  "a port of [tls] that is taken stops the start with one sentence that cures it",
  async () => {
    await using all = await startTlsWorld();
    const taken = createServer().listen(0, "127.0.0.1");
    await once(taken, "listening");
    const { port } = taken.address() as AddressInfo;
    try {
      for (const [key, words] of [
        ["listen", "choose another port ([tls] listen)"],
        ["challenge_listen", "have it pass /.well-known/acme-challenge/ on to pombo"],
      ] as const) {
        const config = all.world.writeConfig("taken.toml", { tls: { ...all.tls, [key]: [`127.0.0.1:${port}`] } });
        const refused = await runPombo(["serve", "--config", config]);
        expect(refused).toMatchObject({ code: 1, stdout: "" });
        expect(refused.stderr).toStartWith(`Port ${port} on 127.0.0.1 is in use by another program.`);
        expect(refused.stderr).toContain(words);
        expect(refused.stderr).toContain(`sudo ss -ltnp 'sport = :${port}' names the program`);
      }
    } finally {
      taken.close();
    }
  },
);

test.skipIf(PEBBLE === null)("an authority for customers only gets the key that it has given", async () => {
  const [id, hmac] = ["kid-1", Buffer.alloc(32, 7).toString("base64url")];
  await using all = await startTlsWorld({ externalAccounts: { [id]: hmac } });
  const { world, pebble } = all;
  await using refused = await world.serve({ config: all.config });
  await refused.until("the refusal", () => hasLogged(refused, "tls.failed"), LIMIT_MS);
  const shown = await runPombo(["tls", "--config", all.config]);
  expect([shown.code, shown.stdout]).toEqual([1, expect.stringContaining("externalAccountRequired")]);
  expect(shown.stdout).toContain("[tls] eab_key_id and eab_key_file");
  refused.signal("SIGTERM");
  await refused.ended;
  const file = join(world.folder, "eab.key");
  writeFileSync(file, `${hmac}\n`);
  const config = world.writeConfig("eab.toml", { tls: { ...all.tls, eab_key_id: id, eab_key_file: file } });
  await using served = await world.serve({ config });
  const renewed = await runPombo(["tls", "renew", "--config", config]);
  expect([renewed.code, renewed.stdout]).toEqual([0, expect.stringContaining("Pebble")]);
  expect((await handshake(tlsPortOf(served), await pebble.root())).checkHost(HOSTNAME)).toBe(HOSTNAME);
  expect(bugsOf(served)).toEqual([]);
});
