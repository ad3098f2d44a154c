import { expect, test } from "bun:test";
import { generateKeyPairs } from "../../../../src/protocols/dkim/keys.ts";
import { openDomainStore } from "../../../../src/modules/domains/store.ts";
import { createVerifier } from "../../../../src/modules/domains/verify.ts";
import { temporaryDatabase, turn } from "../../../support/db/temporary.ts";
import { fakeClock } from "../../../support/fakes/clock.ts";
import { createFakeResolver } from "../../../support/fakes/resolver.ts";

/** A verifier over a database with one pending domain; each check waits to be let go on. */
async function startVerifier() {
  const of = temporaryDatabase();
  const domains = openDomainStore(of.db);
  of.db.sqlite.run("INSERT INTO workspace (uid, name, plan, created_at) VALUES ('w', 'Test', 'scale', 0)");
  const clock = fakeClock();
  const created = { workspaceId: 1, name: "one.test", createdAt: clock.now() };
  const { id } = domains.insert({ uid: "d", status: "pending", ...created });
  const pairs = await generateKeyPairs();
  for (const [selector, { algorithm, publicKey }] of [
    ["pombo1", pairs.rsa],
    ["pombo2", pairs.ed25519],
  ] as const)
    domains.insertKey({ domainId: id, selector, algorithm, publicKey, privateKey: Buffer.from("sealed") });
  const begun: (() => void)[] = [];
  const fake = createFakeResolver();
  const bugs: unknown[] = [];
  const verifier = createVerifier({
    domains,
    keychain: { keysFor: () => [], forget: () => undefined },
    commit: of.committer.commit,
    clock,
    random: { bytes: (count) => new Uint8Array(count), unit: () => 0.5 },
    log: { event: () => undefined, error: (_, error) => void bugs.push(error) },
    hostname: "mail.pombo.test",
    record: () => undefined,
    settings: { bounceHost: "bounce.pombo.test", dmarcRua: null },
    resolver: {
      serverCount: 1,
      fresh(server) {
        const { promise, resolve } = Promise.withResolvers<void>();
        begun.push(resolve);
        const held = fake.fresh(server);
        return { ...held, txt: async (name) => promise.then(() => held.txt(name)) };
      },
    },
  });
  return { id, domains, verifier, begun, bugs, [Symbol.dispose]: () => of[Symbol.dispose]() };
}

test("those who ask while a check runs share one that begins after it, and the watch keeps out of the way", async () => {
  using start = await startVerifier();
  const { id, verifier, begun } = start;
  const first = verifier.verifyUnasked(id, () => false);
  const asked = [verifier.verify(id), verifier.verify(id), verifier.verify(id)];
  expect(await verifier.verifyUnasked(id, () => false)).toBeNull();
  await turn(5);
  expect([begun.length, new Set(verifier.busy())]).toEqual([1, new Set([id])]);
  begun[0]?.();
  expect((await first)?.domain.checkedAt).not.toBeNull();
  await turn(5);
  expect(begun).toHaveLength(2);
  begun[1]?.();
  for (const one of asked) expect((await one)?.dns.dkim[0]?.status).toBe("missing");
  expect([begun.length, verifier.busy()]).toEqual([2, []]);
  // Nobody runs: the next begins at once.
  const last = verifier.verify(id);
  await turn(5);
  begun[2]?.();
  expect((await last)?.domain.id).toBe(id);
});

test("a check that fails by a bug leaves those who wait for it their own, and nothing is written after the close", async () => {
  using start = await startVerifier();
  const { id, domains, verifier, begun } = start;
  const running = verifier.verifyUnasked(id, () => {
    throw new Error("a bug");
  });
  const asked = verifier.verify(id);
  begun[0]?.();
  await expect(running).rejects.toThrow("a bug");
  await turn(5);
  begun[1]?.();
  const { checkedAt } = (await asked)?.domain ?? {};
  expect(checkedAt).not.toBeNull();
  domains.update(id, { checkedAt: 1 });
  const late = verifier.verify(id);
  await turn(5);
  verifier.close();
  begun[2]?.();
  expect([await late, domains.byId(id)?.checkedAt, verifier.busy()]).toEqual([null, 1, []]);
});
