// Whether somebody keeps the recovery key: the command compares it, and the doctor asks until then.
import { expect, test } from "bun:test";
import { readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { createInstanceKey } from "../../../src/platform/keyring/keyring.ts";
import { systemRandom } from "../../../src/platform/random.ts";
import { runHere, type Screen } from "../../support/cli/kit.ts";
import { type Instance, startInstance } from "../../support/fakes/instance.ts";

const keyOf = ({ config }: Instance) => readFileSync(config.secrets.instanceKeyFile, "utf8").trim();

async function seen(pombo: Instance): Promise<string> {
  const { body } = await pombo.operator.call("POST", "/api/v1/operator/doctor?only=recovery_key");
  const [finding] = body.data.findings;
  return finding.level;
}

function check({ directory }: Instance, input: string, screen: Screen = {}) {
  const config = join(directory, "pombo.toml");
  writeFileSync(config, `hostname = "mail.pombo.test"\ndata_dir = "${directory}"\n`);
  return runHere(["recovery-key", "check", "--config", config], { input, ...screen });
}

test("the doctor warns until the key was given as a person types it, and not after a restart", async () => {
  await using pombo = await startInstance();
  expect(await seen(pombo)).toBe("warning");
  const typed = `\n${keyOf(pombo).toUpperCase().replaceAll("-", " ")}\nwhat follows`;
  const said = await check(pombo, typed, { isInteractive: true });
  expect(said).toMatchObject({ code: 0, out: expect.stringContaining("This is the recovery key of this instance") });
  expect(said.err).toContain("then Enter");
  expect(await seen(pombo)).toBe("ok");
  await pombo.restart();
  expect(await seen(pombo)).toBe("ok");
});

test("from a file it may be broken into lines", async () => {
  await using pombo = await startInstance();
  const key = keyOf(pombo);
  expect(await check(pombo, `${key.slice(0, 30)}\n${key.slice(30)}\n`)).toMatchObject({ code: 0, err: "" });
  expect(await seen(pombo)).toBe("ok");
});

test("another instance's key, a mistyped one and none are refused in words that do not repeat them", async () => {
  await using pombo = await startInstance();
  const cases: [string, number, RegExp][] = [
    [createInstanceKey(systemRandom), 1, /not this instance's: its backups cannot be used with it/],
    [keyOf(pombo).replace(/.$/, (last) => (last === "7" ? "8" : "7")), 1, /no recovery key\. .* has a typing error/],
    ["svc_1234", 1, /no recovery key\. The instance key does not begin with/],
    ["x".repeat(3_000), 1, /far too long/],
    ["\n \n", 2, /No key was given/],
    ["", 2, /No key was given/],
  ];
  for (const [given, code, words] of cases) {
    const said = await check(pombo, given);
    expect([given, said.code, said.err]).toEqual([given, code, expect.stringMatching(words)]);
    if (given.length > 8) expect(said.err).not.toContain(given);
  }
  expect(await seen(pombo)).toBe("warning");
});
