import { expect, test } from "bun:test";
import { formatConfigErrors, parseConfig } from "../../../src/config/config.ts";
import type { ConfigError } from "../../../src/config/toml.ts";

const REQUIRED = 'hostname = "mail.example.net"\ndata_dir = "/var/lib/pombo"\n';

function mistakesOf(text: string): ConfigError[] {
  const result = parseConfig(text, { file: "pombo.toml", env: {} });
  return result.kind === "errors" ? result.errors : [];
}

const SYNTAX: [written: string, key: string, found: string, expected: string][] = [
  ["lifetime = = 3\nx = 1", "line 3", '"lifetime = = 3"', "valid TOML (Expected a value"],
  ["a = [\n1,\n2]\nb = [\n1", "line 7", '"1"', "valid TOML ("],
  ['data_dir = "/x"', "line 3", '"data_dir = \\"/x\\""', "Cannot redefine key 'data_dir'"],
  ["[http]\n[email]\n[http]\n", "line 5", '"[http]"', "Cannot redefine table 'http'"],
  ["i = 99999999999999999999", "line 3", '"i = 99999999999999999999"', "outside the 64-bit"],
  ["i = 9007199254740993", "line 3", '"i = 9007199254740993"', "losslessly"],
  ['x = "\u001b[31m"', "line 3", '"x = \\"\\u001b[31m\\""', "Control character"],
  [`x = ${"[".repeat(100_000)}`, "line 3", `"x = ${"[".repeat(56)}…"`, "valid TOML ("],
];

test.each(SYNTAX)("the syntax error in %j is told with its line", (written, key, found, expected) => {
  const [mistake, ...others] = mistakesOf(`${REQUIRED}${written}`);
  expect(others).toEqual([]);
  expect(mistake).toMatchObject({ key, expected: expect.stringContaining(expected) });
  expect(mistake?.found).toBe(found);
});

test("a file beyond the size limit is refused unread", () => {
  const text = REQUIRED + "#".repeat(262_144);
  expect(mistakesOf(text)).toEqual([
    {
      key: "the file",
      found: `${text.length} characters`,
      expected: expect.stringContaining("at most 262144"),
    },
  ]);
});

test("control characters of the file never reach the operator's terminal", () => {
  const shown = formatConfigErrors("f", mistakesOf('hostname = "\\u001b[31m\\u009b\\u202e\\u007f"\n"\\u001b[2J" = 1'));
  // Line breaks between the errors are the only ones.
  expect(shown.replaceAll("\n", "")).not.toMatch(/\p{C}/u);
});
