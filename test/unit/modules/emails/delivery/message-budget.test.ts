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

test("no workspace has more large messages in delivery than it leaves room for", async () => {
  const { take, names } = start(20);
  for (const name of ["shop 1", "shop 2", "shop 3", "shop 4"]) take(name, SHOP, 3);
  take("bank 1", BANK, 3);
  take("club 1", CLUB, 3);
  expect(await names()).toEqual(["shop 1", "shop 2", "bank 1"]);
});

test("what is given back goes to those that wait, in the order they came, once", async () => {
  const { take, names, giveBack } = start(20);
  for (const name of ["shop 1", "shop 2", "shop 3", "shop 4"]) take(name, SHOP, 3);
  await settle();
  giveBack("shop 1");
  giveBack("shop 1");
  expect(await names()).toEqual(["shop 1", "shop 2", "shop 3"]);
});

test("one message is let in however large it is, and small ones are not counted", async () => {
  const { take, names } = start(2);
  take("large", SHOP, 4);
  take("other", BANK, 1);
  for (let number = 1; number <= 3; number += 1) take(`small ${number}`, BANK, 0.05);
  expect(await names()).toEqual(["large", "small 1", "small 2", "small 3"]);
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

test("the budget follows the memory", () => {
  expect([128, 256, 512, 2048, 65_536].map((mib) => messageBudgetFor(mib * MIB) / MIB)).toEqual([16, 16, 32, 128, 512]);
});
