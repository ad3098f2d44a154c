// What script/release-key makes and signs, read by what pombo update reads it with.
import { expect, test } from "bun:test";
import { existsSync, mkdtempSync, rmSync, statSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { isSignedBy, readPublicKey, readRelease, readSignature } from "../../../src/platform/update/minisign.ts";

const PROJECT = join(import.meta.dir, "../../..");

async function run(...args: string[]) {
  const child = Bun.spawn(["bash", join(PROJECT, "script/release-key"), ...args], { stdout: "pipe", stderr: "pipe" });
  const [out, err] = await Promise.all([new Response(child.stdout).text(), new Response(child.stderr).text()]);
  return { code: await child.exited, out: out.trim(), err };
}

test("a key is made outside the checkout, for its owner alone, and signs with the file's name and the version", async () => {
  const folder = mkdtempSync(join(tmpdir(), "pombo-key-"));
  try {
    const [key, file] = [join(folder, "key"), join(folder, "pombo-linux-x64")];
    const made = await run("make", key);
    expect(made).toMatchObject({ code: 0, err: "" });
    expect(statSync(key).mode & 0o777).toBe(0o600);
    expect((await run("public", key)).out).toBe(made.out);
    expect((await run("make", key)).code).not.toBe(0);
    writeFileSync(file, "pombo");
    const signOn = async (date: string) => {
      const child = Bun.spawn(["bash", join(PROJECT, "script/release-key"), "sign", key, file], {
        env: { ...process.env, SOURCE_DATE_EPOCH: date },
        stdout: "ignore",
      });
      expect(await child.exited).toBe(0);
      return await Bun.file(`${file}.minisig`).text();
    };
    const first = await signOn("1700000000");
    expect(first).toContain("\ttimestamp:1700000000\t");
    expect(await signOn("1700000000")).toBe(first);
    expect(await signOn("1700000001")).not.toBe(first);
    expect(await run("sign", key, file)).toEqual({ code: 0, out: `${file}.minisig`, err: "" });
    const publicKey = readPublicKey(await Bun.file(`${key}.pub`).text());
    const signature = readSignature(await Bun.file(`${file}.minisig`).text());
    if (publicKey === null || signature === null) throw new Error("not in minisign's format");
    const hash = new Bun.CryptoHasher("blake2b512").update("pombo").digest();
    expect(isSignedBy(publicKey, signature, hash)).toBe(true);
    const { version } = (await Bun.file(join(PROJECT, "package.json")).json()) as { version: string };
    expect(readRelease(signature.trustedComment)).toEqual({ version, file: "pombo-linux-x64" });
  } finally {
    rmSync(folder, { recursive: true });
  }
});

test("no key is made inside the checkout, by whatever way its path goes", async () => {
  for (const path of [join(PROJECT, "dist-key"), join(PROJECT, "test/../key"), join(PROJECT, "src/update/../../key")]) {
    expect(await run("make", path)).toMatchObject({ code: 1, err: expect.stringContaining("inside the checkout") });
    expect(existsSync(path)).toBe(false);
  }
});
