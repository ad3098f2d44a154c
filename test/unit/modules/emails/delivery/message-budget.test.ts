import { expect, test } from "bun:test";
import { MessageBudget, messageBudgetFor } from "../../../../../src/modules/emails/delivery/message-budget.ts";

const MIB = 1024 * 1024;
const [SHOP, BANK, CLUB] = [1, 2, 3];

/** Takes room for contents of `mib` each; what those that have it got, in order, to give it back. */
function start(total: number) {
  const budget = new MessageBudget(total * MIB);
  const admitted: { name: string; leave: () => void }[] = [];
  const stopping = new AbortController();
  const take = (name: string, workspace: number, mib: number) =>
    void budget.take(workspace, mib * MIB, stopping.signal).then((leave) => {
      admitted.push({ name: leave === null ? `${name} stopped` : name, leave: leave ?? (() => undefined) });
    });
  const names = async () => {
    await settle();
    return admitted.map(({ name }) => name);
  };
  const giveBack = (name: string) => admitted.find((each) => each.name === name)?.leave();
  return { take, names, giveBack, stopping };
}

async function settle(): Promise<void> {
  for (let turn = 0; turn < 5; turn += 1) await Promise.resolve();
}

test("a workspace has all the room while nobody else waits, and no more than half otherwise", async () => {
  const { take, names, giveBack } = start(20);
  for (const name of ["shop 1", "shop 2", "shop 3", "shop 4", "shop 5"]) take(name, SHOP, 3);
  expect(await names()).toEqual(["shop 1", "shop 2", "shop 3", "shop 4"]);
  for (const name of ["bank 1", "bank 2", "bank 3"]) take(name, BANK, 3);
  giveBack("shop 1");
  giveBack("shop 2");
  expect((await names()).slice(4)).toEqual(["bank 1", "bank 2"]);
  giveBack("shop 3");
  expect((await names()).slice(6)).toEqual(["shop 5"]);
});

test("what is given back goes to those that wait, in the order they came, once", async () => {
  const { take, names, giveBack } = start(10);
  for (const name of ["shop 1", "shop 2", "shop 3", "shop 4"]) take(name, SHOP, 3);
  await settle();
  giveBack("shop 1");
  giveBack("shop 1");
  expect(await names()).toEqual(["shop 1", "shop 2", "shop 3"]);
});

test("a large message is not passed for ever by smaller ones", async () => {
  const { take, names, giveBack } = start(20);
  take("shop 1", SHOP, 3);
  take("club 1", CLUB, 3);
  take("large", BANK, 12);
  take("club 2", CLUB, 1);
  expect(await names()).toEqual(["shop 1", "club 1"]);
  giveBack("shop 1");
  giveBack("club 1");
  expect(await names()).toEqual(["shop 1", "club 1", "large", "club 2"]);
});

test("one message is let in however large it is, by itself, and small ones never wait", async () => {
  const { take, names, giveBack } = start(2);
  take("large", SHOP, 4);
  take("other", BANK, 1);
  for (let number = 1; number <= 3; number += 1) take(`small ${number}`, BANK, 0.7);
  expect(await names()).toEqual(["large", "small 1", "small 2", "small 3"]);
  giveBack("large");
  expect((await names()).at(-1)).toBe("other");
});

test("those that are small take room from the large ones", async () => {
  const { take, names, giveBack } = start(10);
  for (let number = 1; number <= 8; number += 1) take(`small ${number}`, BANK, 0.7);
  take("large 1", SHOP, 3);
  take("large 2", SHOP, 1);
  expect((await names()).slice(8)).toEqual(["large 1"]);
  for (let number = 1; number <= 8; number += 1) giveBack(`small ${number}`);
  expect((await names()).slice(9)).toEqual(["large 2"]);
});

test("only so many wait, and half of these places are for other workspaces", async () => {
  const { take, names } = start(2);
  take("large", SHOP, 4);
  for (let number = 1; number <= 9; number += 1) take(`shop ${number}`, SHOP, 4);
  for (let number = 1; number <= 9; number += 1) take(`bank ${number}`, BANK, 4);
  take("club", CLUB, 4);
  expect(await names()).toEqual(["large", "shop 9 stopped", "bank 9 stopped", "club stopped"]);
});

test("those that wait end with a stop, and leave nothing behind", async () => {
  const { take, names, giveBack, stopping } = start(2);
  take("large", SHOP, 4);
  take("next", SHOP, 4);
  await settle();
  stopping.abort();
  take("later", SHOP, 0.01);
  expect(await names()).toEqual(["large", "next stopped", "later stopped"]);
  giveBack("large");
  expect(await names()).toHaveLength(3);
});

test("the budget is the configured one, and smaller on a small machine", () => {
  const budgets = [32, 128, 256, 512, 2048].map((mib) => messageBudgetFor(128 * MIB, mib * MIB) / MIB);
  expect(budgets).toEqual([16, 16, 16, 32, 128]);
});

test("the room that is reserved is for a workspace that has none yet", async () => {
  const rules = { countedBytes: 0, largeBytes: 0, maxOwnWaiting: 9, maxWaiting: 9, growth: 1, reservedBytes: 20 * MIB };
  const budget = new MessageBudget(64 * MIB, rules);
  const { signal } = new AbortController();
  const admitted: string[] = [];
  const leaves = new Map<string, () => void>();
  const take = (name: string, workspace: number) =>
    void budget.take(workspace, 20 * MIB, signal).then((leave) => {
      admitted.push(name);
      if (leave !== null) leaves.set(name, leave);
    });
  for (const name of ["shop 1", "shop 2", "shop 3"]) take(name, SHOP);
  await settle();
  expect(admitted).toEqual(["shop 1", "shop 2"]);
  take("bank 1", BANK);
  await settle();
  expect(admitted).toEqual(["shop 1", "shop 2", "bank 1"]);
  leaves.get("shop 1")?.();
  leaves.get("bank 1")?.();
  await settle();
  expect(admitted.at(-1)).toBe("shop 3");
});
