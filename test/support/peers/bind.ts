// A private BIND 9: a signed root, zones below it that are changed while it runs (nsupdate), and delegations to others.

import { mkdirSync, readdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { pathOf, type Tool } from "./packages.ts";
import { mustRun, startProcess, waitUntil, type Cleanup } from "./process.ts";

export const BIND: Tool[] = [
  { program: "named", package: "bind9" },
  { program: "dnssec-signzone", package: "bind9-utils" },
  { program: "nsupdate", package: "bind9-dnsutils" },
];
const START_MS = 15_000;
const ALIAS_MS = 1_100;

export interface BindOptions {
  folder: string;
  address: string;
  /** Runs it elsewhere, such as in another namespace. */
  prefix: readonly string[];
  /** Zones that it serves itself. */
  zones: string[];
  /** Zones of other name servers, with the address of each. */
  delegations: Record<string, string>;
  /** Lines of the root zone. */
  rootRecords: string[];
  cleanup: Cleanup;
}

export interface Bind {
  /** The root's key, as validating resolvers want it. */
  readonly anchorFile: string;
  /** Replaces the records of a name and type; no values: there are none. Values are as in zone files. */
  set(name: string, type: string, values: readonly string[]): Promise<void>;
}

export async function startBind(options: BindOptions): Promise<Bind> {
  const { address, prefix, zones, cleanup } = options;
  const folder = join(options.folder, "bind");
  mkdirSync(folder);
  await writeRoot(folder, options);
  for (const zone of zones)
    writeFileSync(join(folder, `${zone}.zone`), `${soaOf(zone)}${zone}. 0 IN NS bind.example.com.\n`);
  writeFileSync(join(folder, "named.conf"), configOf(folder, address, zones));
  const command = [...prefix, pathOf("named"), "-c", join(folder, "named.conf"), "-g"];
  const server = startProcess({ command, logFile: join(folder, "log") });
  cleanup.add(() => server.stop());
  await waitUntil("BIND", START_MS, () => {
    if (!server.isAlive()) throw new Error(`BIND ended:\n${server.output().slice(-2000)}`);
    return / running$/m.test(server.output());
  });
  const updateFile = join(folder, "update");
  return {
    anchorFile: join(folder, "anchor.key"),
    async set(name, type, values) {
      const lines = values.map((value) => `update add ${name}. 0 ${type} ${value}`);
      writeFileSync(
        updateFile,
        [`server ${address}`, `update delete ${name}. ${type}`, ...lines, "send", ""].join("\n"),
      );
      await mustRun([pathOf("nsupdate"), updateFile]);
      // unbound gives an alias of TTL 0 from its cache until the second is over.
      if (type === "CNAME") await Bun.sleep(ALIAS_MS);
    },
  };
}

function soaOf(zone: string): string {
  return `${zone === "" ? "" : zone}. 0 IN SOA bind.example.com. hostmaster.example.com. 1 3600 600 86400 0\n`;
}

async function writeRoot(folder: string, { address, zones, delegations, rootRecords }: BindOptions): Promise<void> {
  const file = join(folder, "root.zone");
  const others = Object.entries(delegations).flatMap(([zone, at], index) => [
    `${zone}. 0 IN NS ns${index}.example.com.`,
    `ns${index}.example.com. 0 IN A ${at}`,
  ]);
  const own = zones.map((zone) => `${zone}. 0 IN NS bind.example.com.`);
  const lines = [
    ". 0 IN NS bind.example.com.",
    `bind.example.com. 0 IN A ${address}`,
    ...own,
    ...others,
    ...rootRecords,
  ];
  writeFileSync(file, `${soaOf("")}${lines.join("\n")}\n`);
  const keygen = [pathOf("dnssec-keygen"), "-q", "-K", folder, "-a", "ECDSAP256SHA256"];
  await mustRun([...keygen, "-f", "KSK", "."]);
  await mustRun([...keygen, "."]);
  await mustRun([pathOf("dnssec-signzone"), "-S", "-K", folder, "-d", folder, "-o", ".", file]);
  const keys = readdirSync(folder).filter((name) => /^K\..*\.key$/.test(name));
  const anchor = keys.map((name) => readFileSync(join(folder, name), "latin1")).find((text) => text.includes(" 257 "));
  writeFileSync(join(folder, "anchor.key"), anchor ?? "");
}

function configOf(folder: string, address: string, zones: string[]): string {
  const own = zones.map(
    (zone) =>
      `zone "${zone}" { type primary; file "${folder}/${zone}.zone"; allow-update { any; }; journal "${folder}/${zone}.jnl"; };\n`,
  );
  return `options {
  directory "${folder}";
  pid-file none;
  session-keyfile none;
  listen-on { ${address}; };
  listen-on-v6 { none; };
  recursion no;
  dnssec-validation no;
  notify no;
  empty-zones-enable no;
  check-names primary ignore;
  check-mx ignore;
  check-integrity no;
};
controls { };
zone "." { type primary; file "${folder}/root.zone.signed"; };
${own.join("")}`;
}
