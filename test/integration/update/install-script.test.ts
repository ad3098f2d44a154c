// install.sh as `curl … | sh` runs it: whole, and cut off at many places.
import { expect, test } from "bun:test";
import { readFileSync } from "node:fs";
import { join } from "node:path";

const SCRIPT = readFileSync(join(import.meta.dir, "../../../install.sh"));

async function pipe(script: Uint8Array, ...args: string[]) {
  const child = Bun.spawn(["sh", "-s", "--", ...args], { stdin: script, stdout: "pipe", stderr: "pipe" });
  const [out, err] = await Promise.all([new Response(child.stdout).text(), new Response(child.stderr).text()]);
  return { code: await child.exited, out, err };
}

test("a script that ends in the middle runs nothing", async () => {
  expect(await pipe(SCRIPT, "--unit")).toMatchObject({ code: 0, out: expect.stringContaining("[Unit]"), err: "" });
  const begin = SCRIPT.indexOf("\n{\n");
  const ends: number[] = [];
  for (let end = begin + 2; end < SCRIPT.length - 1; end += end > SCRIPT.length - 40 ? 1 : 211) ends.push(end);
  expect(ends.length).toBeGreaterThan(60);
  for (const end of ends) {
    const { code, out, err } = await pipe(SCRIPT.subarray(0, end), "--unit");
    expect({ end, code, out }).toEqual({ end, code: 2, out: "" });
    expect(err).toContain("yntax error");
  }
});
