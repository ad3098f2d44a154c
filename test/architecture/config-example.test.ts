import { expect, test } from "bun:test";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { type Config, ConfigSchema, formatConfigErrors, parseConfig } from "../../src/config/config.ts";
import { fileKey } from "../../src/config/reader.ts";
import type { Setting } from "../../src/config/fields.ts";

const REQUIRED = 'hostname = "mail.example.net"\ndata_dir = "/var/lib/pombo"\n';
const EXAMPLE = readFileSync(join(import.meta.dir, "../../config.example.toml"), "utf8");

function configOf(text: string): Config {
  const result = parseConfig(text, { file: "pombo.toml", env: {} });
  if (result.kind === "errors") throw new Error(formatConfigErrors("pombo.toml", result.errors));
  return result.config;
}

/** Where the tables begin that are not there by default. */
const ALERTS = "#[[alerts]]";
const SITE = "#[[site]]";
const RELAY = "#[[relay]]";
const EGRESS = "#[[egress]]";
const ROUTE = "#[[sms.routes]]";

function spellOut(text: string): string {
  return text.replace(/^#(?=[a-z0-9_]+ = |\[\[)/gm, "");
}

interface ExampleKey {
  path: string;
  isComment: boolean;
  sentence: string;
  /** What stands behind the value; null: nothing. */
  words: string | null;
}

/** The keys of the example in order, each with the prose line above it. A setting behind # has no blank after it. */
function exampleKeys(): ExampleKey[] {
  let table = "";
  let sentence = "";
  const keys: ExampleKey[] = [];
  for (const line of EXAMPLE.split("\n")) {
    const header = /^#?\[{1,2}([^\][]+)\]{1,2}$/.exec(line)?.[1];
    const key = /^(#?)([a-z0-9_]+) = /.exec(line);
    if (header !== undefined) table = `${header}.`;
    const words = / {3}# (.*)$/.exec(line)?.[1] ?? null;
    if (key !== null) keys.push({ path: table + key[2], isComment: key[1] === "#", sentence, words });
    sentence = line.startsWith("# ") ? line.slice(2) : "";
  }
  return keys;
}

/** Every key of the schema in order, plans under the names of the default plans. `isOptional`: of a table that need not be there. */
function schemaKeys(setting: Setting, at = ""): { path: string; setting: Setting; isOptional: boolean }[] {
  const tables = Object.values(setting.patternProperties ?? {}).flatMap((shape) =>
    Object.keys(setting.default as object).flatMap((name) =>
      schemaKeys(shape, `${at}${name}.`).map((key) => ({ ...key, isOptional: true })),
    ),
  );
  const own = Object.entries(setting.properties ?? {}).flatMap(([name, child]) => {
    const path = at + fileKey(name, child);
    const table = child.items?.type === "object" ? child.items : null;
    if (table !== null) return schemaKeys(table, `${path}.`).map((key) => ({ ...key, isOptional: true }));
    return child.type === "object" ? schemaKeys(child, `${path}.`) : [{ path, setting: child, isOptional: false }];
  });
  return [...own, ...tables];
}

const SCHEMA_KEYS = schemaKeys(ConfigSchema);

test("config.example.toml holds exactly the keys of the schema, those with a default as comments", () => {
  const expected = SCHEMA_KEYS.map(({ path, setting, isOptional }) => ({
    path,
    isComment: isOptional || setting.default !== undefined || setting.derivedFrom !== undefined,
  }));
  const byPath = (left: { path: string }, right: { path: string }) => left.path.localeCompare(right.path);
  const found = exampleKeys().map(({ path, isComment }) => ({ path, isComment }));
  expect(found.sort(byPath)).toEqual(expected.sort(byPath));
});

test("config.example.toml says of every key the sentence of the schema", () => {
  const sentences = new Map(SCHEMA_KEYS.map(({ path, setting }) => [path, setting.description ?? ""]));
  for (const { path, sentence } of exampleKeys()) {
    // The keys of the later plans are explained at the first.
    if (path.startsWith("plans.") && !path.startsWith("plans.launch.")) continue;
    expect([path, sentence]).toEqual([path, sentences.get(path) ?? "(no such key)"]);
  }
});

test("config.example.toml names the words that a key may be beside its default", () => {
  const named = exampleKeys().filter(({ words }) => words !== null);
  const chosen = SCHEMA_KEYS.filter(({ setting }) => setting.enum !== undefined);
  const inOrder = (left: { path: string }, right: { path: string }) => left.path.localeCompare(right.path);
  expect(named.map(({ path, words }) => ({ path, words })).toSorted(inOrder)).toEqual(
    chosen
      .map(({ path, setting }) => ({
        path,
        words: (setting.enum ?? []).map((word) => JSON.stringify(word)).join(" | "),
      }))
      .toSorted(inOrder),
  );
  expect(named.length).toBeGreaterThan(10);
});

test("config.example.toml shows the defaults: with its comments removed it means the same", () => {
  const spelledOut = spellOut(EXAMPLE.slice(0, EXAMPLE.indexOf(ALERTS)));
  expect(spelledOut).not.toBe(EXAMPLE);
  expect(configOf(spelledOut)).toEqual(configOf(EXAMPLE));
  expect(configOf(EXAMPLE)).toEqual(configOf(REQUIRED));
});

test("its relay, with the comments removed, is one with the defaults", () => {
  const transport = '[email]\ntransport = "relay"\n';
  const spelledOut = REQUIRED + transport + spellOut(EXAMPLE.slice(EXAMPLE.indexOf(RELAY), EXAMPLE.indexOf(EGRESS)));
  const shortest = `${REQUIRED}${transport}[[relay]]\nhost = "smtp.example.net"\n`;
  expect(configOf(spelledOut)).toEqual(configOf(shortest));
});

test("its egress, with the comments removed, is one with the defaults", () => {
  const spelledOut = REQUIRED + spellOut(EXAMPLE.slice(EXAMPLE.indexOf(EGRESS), EXAMPLE.indexOf(ROUTE)));
  const shortest = `name = "lisbon"\naddress = "203.0.113.9"\nhostname = "mail2.example.net"\n`;
  expect(configOf(spelledOut)).toEqual(configOf(`${REQUIRED}[[egress]]\n${shortest}`));
});

test("its alert, with the comments removed, is one with the defaults", () => {
  const spelledOut = REQUIRED + spellOut(EXAMPLE.slice(EXAMPLE.indexOf(ALERTS), EXAMPLE.indexOf(SITE)));
  expect(configOf(spelledOut)).toEqual(configOf(`${REQUIRED}[[alerts]]\nto = ["me@example.org"]\n`));
});

test("its site, with the comments removed, is one with the defaults", () => {
  const spelledOut = REQUIRED + spellOut(EXAMPLE.slice(EXAMPLE.indexOf(SITE), EXAMPLE.indexOf(RELAY)));
  expect(configOf(spelledOut)).toEqual(configOf(`${REQUIRED}[[site]]\nmx = ["mx.example.org"]\n`));
});

test("its SMS route, with the comments removed, is one with the defaults", () => {
  const [route] = configOf(REQUIRED + spellOut(EXAMPLE.slice(EXAMPLE.indexOf(ROUTE)))).sms.routes;
  const shortest = `[[sms.routes]]
name = "vodacom"
prefixes = ["25884", "25885"]
[[sms.routes.links]]
name = "vodacom-1"
host = "smsc.example.net"
system_id = "pombo"
password_file = "/etc/pombo/vodacom-password"
[[sms.routes.senders]]
name = "Loja"
as = "LOJA-MZ"
[[sms.routes.statuses]]
code = "0x0000040B"
[[sms.routes.errors]]
code = "069"
`;
  expect(route).toEqual(configOf(REQUIRED + shortest).sms.routes[0]);
});

test("no mangled example makes parseConfig throw, and every mistake is told in full", () => {
  const spelledOut = spellOut(EXAMPLE).replace(/^# .*\n/gm, "");
  const pieces = [
    '"',
    "[",
    "]",
    "=",
    "\n",
    ".",
    "#",
    "-1",
    "1e999",
    "{",
    "}",
    "'''",
    "\\u0000",
    "true",
    "1979-05-27",
    "__proto__",
  ];
  // A small generator of its own, so that a failure can be repeated.
  let state = 20_260_101;
  const below = (limit: number) => {
    state = (Math.imul(state, 1_664_525) + 1_013_904_223) >>> 0;
    return Math.floor((state / 2 ** 32) * limit);
  };
  for (let round = 0; round < 400; round++) {
    let text = spelledOut;
    for (let change = 0; change <= below(3); change++) {
      const at = below(text.length);
      text = text.slice(0, at) + (pieces[below(pieces.length)] ?? "") + text.slice(at + below(6));
    }
    const result = parseConfig(text, { file: "pombo.toml", env: {} });
    if (result.kind === "config") continue;
    expect(result.errors.length).toBeGreaterThan(0);
    for (const { key, found, expected } of result.errors) expect([key, found, expected]).not.toContain("");
  }
});
