import { expect, test } from "bun:test";
import { idFromBytes, idTime, idToBytes, newId } from "../../../src/platform/uuid.ts";
import { systemRandom, type Random } from "../../../src/platform/random.ts";

const filled = (byte: number): Random => ({ bytes: (count) => new Uint8Array(count).fill(byte), unit: () => 0 });

test("the example of RFC 9562 §A.6 comes out as it stands there", () => {
  const random: Random = {
    bytes: () => new Uint8Array(Buffer.from("000000000000ccc398c4dc0c0c07398f", "hex")),
    unit: () => 0,
  };
  expect(newId(0x017f22e279b0, random)).toBe("017f22e2-79b0-7cc3-98c4-dc0c0c07398f");
});

test("the version and variant bits stand, whatever the random bytes", () => {
  expect(newId(0, filled(0x00))).toBe("00000000-0000-7000-8000-000000000000");
  expect(newId(2 ** 48 - 1, filled(0xff))).toBe("ffffffff-ffff-7fff-bfff-ffffffffffff");
});

test("the time of an id is the time it was made at", () => {
  for (const at of [0, 1, 255, 256, 2 ** 32 - 1, 2 ** 32, Date.UTC(2026, 10, 21), 2 ** 48 - 1]) {
    expect(idTime(newId(at, systemRandom))).toBe(at);
  }
});

test("ids of later milliseconds sort later", () => {
  const ids = Array.from({ length: 2_000 }, (_, i) => newId(Date.UTC(2026, 0, 1) + i * 131, systemRandom));
  expect(ids.toSorted()).toEqual(ids);
});

test("an id becomes its 16 bytes and back, in lower case", () => {
  for (let i = 0; i < 200; i++) {
    const bytes = systemRandom.bytes(16);
    const id = idFromBytes(bytes);
    expect(id).toMatch(/^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/);
    expect([...idToBytes(id)]).toEqual([...bytes]);
    expect([...idToBytes(id.toUpperCase())]).toEqual([...bytes]);
  }
});

test("ten thousand ids of one millisecond are all different", () => {
  expect(new Set(Array.from({ length: 10_000 }, () => newId(0, systemRandom))).size).toBe(10_000);
});
