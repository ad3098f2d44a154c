import { expect, test } from "bun:test";
import { type DomainStore, openDomainStore } from "../../../../src/modules/domains/store.ts";
import { type TemporaryDatabase, temporaryDatabase } from "../../../support/db/temporary.ts";

// The sender's domain is remembered from email to email: whatever changes it must be seen by the next one.

interface Registry extends Disposable {
  domains: DomainStore;
  commit: TemporaryDatabase["committer"]["commit"];
  status(): string | undefined;
}

function registry(): Registry {
  const of = temporaryDatabase();
  of.db.sqlite.run("INSERT INTO workspace (id, uid, name, plan, created_at) VALUES (1, 'w', '', '', 0)");
  const domains = openDomainStore(of.db);
  domains.insert({ uid: "d", workspaceId: 1, name: "loja.test", status: "verified", createdAt: 0, nextCheckAt: 5 });
  return {
    domains,
    commit: of.committer.commit,
    status: () => domains.senderNamed(1, "loja.test")?.status,
    [Symbol.dispose]: () => of[Symbol.dispose](),
  };
}

const MISFITS = { now: 1_000, overdueBefore: 900, tooFar: { verified: 9_000, others: 9_000 }, spreadMs: 100 };

const CHANGES: [string, (domains: DomainStore) => void][] = [
  ["an update", (domains) => void domains.update(1, { status: "suspended" })],
  ["a delete", (domains) => domains.delete(1)],
  ["the delete of its workspace", (domains) => void domains.deleteOfWorkspace(1)],
  ["a check put off", (domains) => domains.postponeCheck(1, 77)],
  ["checks that are spread", (domains) => domains.spreadChecks(MISFITS)],
];

test.each(CHANGES)("%s is seen by whoever sends next, also in the same transaction", async (_, change) => {
  using on = registry();
  const { domains, commit } = on;
  const seen = () => domains.senderNamed(1, "loja.test") ?? null;
  const truth = () => domains.byName(1, "loja.test") ?? null;
  await commit(() => seen());
  expect(seen()).toEqual(truth());
  const before = truth();
  const inside = await commit(() => {
    change(domains);
    return { seen: seen(), truth: truth() };
  });
  expect(inside.seen).toEqual(inside.truth);
  expect(inside.truth).not.toEqual(before);
  expect(seen()).toEqual(truth());
});

test("what a transaction that was rolled back had made of it is not remembered", async () => {
  using on = registry();
  on.status();
  const failing = on.commit(() => {
    on.domains.update(1, { status: "suspended" });
    expect(on.status()).toBe("suspended");
    throw new Error("no");
  });
  await expect(failing).rejects.toThrow("no");
  expect(on.status()).toBe("verified");
});

test("it is another workspace's only for that one", () => {
  using on = registry();
  expect(on.status()).toBe("verified");
  expect(on.domains.senderNamed(2, "loja.test")).toBeUndefined();
});
