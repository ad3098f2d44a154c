import { afterEach, beforeEach, expect, test } from "bun:test";
import { chmodSync, mkdirSync, mkdtempSync, readFileSync, rmSync, statSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { StartError } from "../../../src/platform/errors.ts";
import { loadInstanceKey, writeInstanceKey } from "../../../src/platform/keyring/key-file.ts";
import { createInstanceKey, parseInstanceKey } from "../../../src/platform/keyring/keyring.ts";
import { systemRandom } from "../../../src/platform/random.ts";

const KEY = createInstanceKey(systemRandom);
const OTHER_KEY = createInstanceKey(systemRandom);

let folder = "";
let file = "";
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), "pombo-key-"));
  file = join(folder, "instance.key");
});
afterEach(() => rmSync(folder, { recursive: true }));

function bytesOf(text: string): Uint8Array {
  const parsed = parseInstanceKey(text);
  return parsed.kind === "key" ? parsed.key : new Uint8Array(0);
}

/** The message of the StartError that loading throws. */
function complaint(env: Record<string, string | undefined> = {}): string {
  try {
    loadInstanceKey({ file, env });
  } catch (error) {
    if (error instanceof StartError) return error.message;
    throw error;
  }
  return "";
}

test("a key that was written is loaded again, from a file that only its owner can read", () => {
  writeInstanceKey(file, KEY);
  expect(statSync(file).mode & 0o777).toBe(0o600);
  expect(loadInstanceKey({ file, env: {} })).toEqual(bytesOf(KEY));
});

test("an existing key file is never overwritten", () => {
  writeInstanceKey(file, KEY);
  expect(() => writeInstanceKey(file, OTHER_KEY)).toThrow(/exists already and is never overwritten/);
  expect(readFileSync(file, "utf8")).toBe(`${KEY}\n`);
});

test("a text that is no key is not written", () => {
  expect(() => writeInstanceKey(file, "hello")).toThrow("no instance key");
  expect(() => statSync(file)).toThrow("ENOENT");
});

test("a folder that does not exist is named", () => {
  expect(() => writeInstanceKey(join(folder, "none", "k"), KEY)).toThrow(StartError);
});

test("POMBO_INSTANCE_KEY goes before the file, and an empty one does not count", () => {
  writeInstanceKey(file, KEY);
  expect(loadInstanceKey({ file, env: { POMBO_INSTANCE_KEY: OTHER_KEY } })).toEqual(bytesOf(OTHER_KEY));
  expect(loadInstanceKey({ file, env: { POMBO_INSTANCE_KEY: "" } })).toEqual(bytesOf(KEY));
});

test.each([0o640, 0o604, 0o660, 0o644, 0o620, 0o610])(
  "a key file of mode %o is refused with the command that cures it",
  (mode) => {
    writeInstanceKey(file, KEY);
    chmodSync(file, mode);
    expect(complaint()).toEndWith(`run chmod 600 ${file}`);
  },
);

test("a key file that even its owner cannot write is fine", () => {
  writeInstanceKey(file, KEY);
  chmodSync(file, 0o400);
  expect(loadInstanceKey({ file, env: {} })).toEqual(bytesOf(KEY));
});

test("a missing key file names the recovery key and pombo init", () => {
  expect(complaint()).toStartWith(`There is no instance key at ${file}. `);
  expect(complaint()).toMatch(/pombo init.*recovery key/);
});

test("a key with a typing error is refused without being shown", () => {
  const typo = KEY.slice(0, -1) + (KEY.endsWith("0") ? "1" : "0");
  writeFileSync(file, typo, { mode: 0o600 });
  expect(complaint()).toContain(`The file ${file} holds no usable instance key. The instance key has a typing error`);
  expect(complaint({ POMBO_INSTANCE_KEY: typo })).toStartWith("The variable POMBO_INSTANCE_KEY holds no usable");
  expect(complaint() + complaint({ POMBO_INSTANCE_KEY: typo })).not.toContain(typo.slice(12, 30));
});

test("a folder, a pipe or a large file is no key file", () => {
  mkdirSync(file);
  expect(complaint()).toContain("is not the file of an instance key");
  rmSync(file, { recursive: true });
  writeFileSync(file, "x".repeat(4097), { mode: 0o600 });
  expect(complaint()).toContain("is not the file of an instance key");
  rmSync(file);
  expect(Bun.spawnSync(["mkfifo", "-m", "600", file]).exitCode).toBe(0);
  expect(complaint()).toContain("is not the file of an instance key");
});
