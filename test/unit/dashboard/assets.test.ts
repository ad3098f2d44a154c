// The files of the dashboard: packed for the executable, and found there as they were.

import { describe, expect, test } from "bun:test";
import { packAssets, unpackAssets } from "../../../src/dashboard/assets.ts";
import { buildAssets } from "../../../src/dashboard/build.ts";

describe("assets of the dashboard", () => {
  test("are within their budgets, each in three encodings of the same text, and come out of the executable as they went in", async () => {
    const built = await buildAssets();
    const text = (bytes: Uint8Array) => new TextDecoder().decode(bytes);
    for (const { raw, gzip, br } of built.files) {
      expect(text(Bun.gunzipSync(new Uint8Array(gzip)))).toBe(text(raw));
      expect(br.byteLength).toBeLessThan(raw.byteLength);
    }
    const unpacked = unpackAssets(await packAssets(built).bytes());
    expect(unpacked.version).toBe(built.version);
    expect(unpacked.files.map(({ name, type, raw }) => ({ name, type, text: text(raw) }))).toEqual(
      built.files.map(({ name, type, raw }) => ({ name, type, text: text(raw) })),
    );
  });

  test("come out the same each time, so that two builds of a commit are", async () => {
    const versions = new Set<string>();
    for (let time = 0; time < 4; time += 1) versions.add((await buildAssets()).version);
    expect(versions.size).toBe(1);
  });
});
