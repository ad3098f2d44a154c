import { expect, test } from "bun:test";
import { seeded } from "../../support/db/temporary.ts";
import { startHeld } from "../../support/api/kit.ts";

const SUPPRESSIONS = "/api/v1/suppressions";
const NOON = Date.UTC(2026, 10, 21, 12);
const AT_THE_START = 60;

// Pages are read while rows come and go, some of them at one time, some while the clock is set back:
// whoever was there from the first page to the last is seen, and nobody twice.
for (const seed of [1, 2, 3, 4, 5, 6]) {
  test(`pages read while suppressions are added and lifted miss and repeat nobody (seed ${seed})`, async () => {
    const random = seeded(seed);
    await using held = await startHeld(NOON);
    const { workspace } = held.pombo;
    const below = (most: number) => Math.floor(random() * most);
    const there = new Set<string>();
    let count = 0;
    const add = async () => {
      // On both channels; some of those that were lifted come back.
      const number = random() < 0.2 ? below(count + 1) : count++;
      const address = number % 3 === 0 ? `+25884${1_000_000 + number}` : `user${number}@example.com`;
      await workspace.call("POST", SUPPRESSIONS, { body: { address } });
      there.add(address);
      if (random() < 0.6) held.clock.advance(random() < 0.8 ? below(50) : -below(200));
      return address;
    };
    const lift = async () => {
      const address = [...there][below(there.size)];
      if (address === undefined) return;
      await workspace.call("DELETE", `${SUPPRESSIONS}/${encodeURIComponent(address)}`);
      there.delete(address);
      stayed.delete(address);
    };
    let stayed = new Set<string>();
    while (count < AT_THE_START) await add();

    for (const channel of ["", "&channel=email", "&channel=sms"]) {
      stayed = new Set(
        [...there].filter((address) => channel === "" || address.startsWith("+") === (channel === "&channel=sms")),
      );
      const seen: string[] = [];
      for (let cursor: string | null = ""; cursor !== null;) {
        const position = cursor === "" ? "" : `&cursor=${cursor}`;
        const { body } = await workspace.call("GET", `${SUPPRESSIONS}?limit=${1 + below(9)}${channel}${position}`);
        seen.push(
          ...body.data.map(({ address, suppressedAt }: Record<string, string>) => `${address} ${suppressedAt}`),
        );
        cursor = body.meta.next_cursor;
        for (let change = below(5); change > 0; change--) await (random() < 0.55 ? add() : lift());
      }
      // One that was lifted and added again is another row, with another time or not: those are left out.
      expect(new Set(seen).size).toBe(seen.length);
      const addresses = new Set(seen.map((row) => row.split(" ")[0]));
      expect([...stayed].filter((address) => !addresses.has(address))).toEqual([]);
    }
  });
}
