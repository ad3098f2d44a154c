// What init says to do next: with the service that install.sh has written, and without.
import { expect, test } from "bun:test";
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { init } from "../../../../../src/cli/commands/setup/init.ts";
import { describeStart } from "../../../../../src/cli/commands/setup/installed-service.ts";
import { parseArguments, type Terminal } from "../../../../../src/cli/framework/definition.ts";
import { temporaryFolder } from "../../../../support/db/temporary.ts";

const CREATE = 'pombo workspace create "My company" --plan starter';

test("a command is of the service's user, and names the configuration only where it is not found by itself", () => {
  using at = temporaryFolder();
  const unit = join(at.path, "pombo.service");
  const describe = (file: string) => describeStart(file, "/var/lib/pombo", unit);
  const found = "/etc/pombo/config.toml";
  const own = { start: "pombo serve --config /srv/a.toml", runAs: "", place: " --config /srv/a.toml" };
  expect(describe("/srv/a.toml")).toEqual(own);
  writeFileSync(unit, `User=pombo\nExecStart=/usr/local/bin/pombo serve --config ${found}\n`);
  expect(describe(found)).toEqual({ start: "sudo systemctl enable --now pombo", runAs: "sudo -u pombo ", place: "" });
  expect(describe("/srv/a.toml")).toEqual(own);
});

test("pombo init --no-next-steps shows the keys, and not how to go on", () => {
  const say = (...more: string[]): string => {
    using at = temporaryFolder();
    const said: string[] = [];
    const terminal = { env: {}, say: (text: string) => said.push(text) } as unknown as Terminal;
    const place = ["--config", join(at.path, "pombo.toml"), "--data-dir", join(at.path, "data")];
    void init.run(parseArguments(init, [...place, "--hostname", "mail.example.net", ...more]), terminal);
    return said.join("\n");
  };
  const [whole, short] = [say(), say("--no-next-steps")];
  for (const words of ["Operator key", "Recovery key", "Bounces arrive"]) {
    expect(whole).toContain(words);
    expect(short).toContain(words);
  }
  for (const words of ["Start it:", CREATE]) {
    expect(whole).toContain(words);
    expect(short).not.toContain(words);
  }
});
