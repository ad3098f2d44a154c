import { expect, test } from "bun:test";
import {
  defaultConfig,
  formatConfigErrors,
  parseConfig,
  type ReplicationConfig,
} from "../../../../src/config/config.ts";
import { formatDaemonConfig, buildDaemonEnvironment, getPlaces } from "../../../../src/backup/litestream/config.ts";

const BASE = 'hostname = "mail.example.net"\ndata_dir = "/var/lib/pombo"\n[replication]\n';

function read(lines: string, env: Record<string, string> = {}): ReplicationConfig {
  const result = parseConfig(BASE + lines, { file: "pombo.toml", env });
  if (result.kind === "errors") throw new Error(formatConfigErrors("pombo.toml", result.errors));
  return result.config.replication;
}

function mistakesOf(lines: string, env: Record<string, string> = {}): string[] {
  const result = parseConfig(BASE + lines, { file: "pombo.toml", env });
  return result.kind === "errors" ? result.errors.map(({ key }) => key) : [];
}

const LINEAGE = "0199a000-0000-7000-8000-000000000000";
const PLACES = getPlaces("/var/lib/pombo", "/var/lib/pombo/pombo.db");
// oxlint-disable-next-line no-explicit-any
const daemonOf = (replication: ReplicationConfig): any => JSON.parse(formatDaemonConfig(replication, PLACES, LINEAGE));

test("without a url nothing is replicated", () => {
  expect(defaultConfig({ hostname: "mail.example.net", dataDir: "/var/lib/pombo" }).replication.url).toBeNull();
});

test("a bucket is all that an operator writes; a lineage and its owner are below it", () => {
  const told = daemonOf(read('url = "s3://copies/pombo/"'));
  const interval = { "sync-interval": "1000ms" };
  expect(told.dbs).toEqual([
    {
      path: "/var/lib/pombo/pombo.db",
      "meta-path": `/var/lib/pombo/litestream/lineages/${LINEAGE}/database`,
      replica: { url: `s3://copies/pombo/${LINEAGE}`, ...interval },
    },
    {
      path: "/var/lib/pombo/litestream/owner.db",
      "meta-path": `/var/lib/pombo/litestream/lineages/${LINEAGE}/owner`,
      replica: { url: `s3://copies/pombo/${LINEAGE}/owner`, ...interval },
    },
  ]);
  expect(told.snapshot).toEqual({ interval: "21600000ms", retention: "259200000ms" });
  expect(told.socket).toEqual({ enabled: true, path: "/var/lib/pombo/lite.sock", permissions: 0o600 });
});

test("secrets go by the environment and never into the daemon's file", () => {
  const env = { POMBO_REPLICATION_ACCESS_KEY_ID: "AKIA1", POMBO_REPLICATION_SECRET_ACCESS_KEY: "s3cr3t-s3cr3t" };
  const replication = read('url = "s3://copies/pombo"\nendpoint = "https://s3.example.net"\nregion = "eu-1"', {
    ...env,
    HTTPS_PROXY: "http://proxy:3128",
    HOME: "/root",
  });
  const text = formatDaemonConfig(replication, PLACES, LINEAGE);
  expect(text).not.toContain("s3cr3t");
  expect(text).not.toContain("AKIA1");
  expect(daemonOf(replication).dbs[0].replica).toMatchObject({ endpoint: "https://s3.example.net", region: "eu-1" });
  expect(buildDaemonEnvironment(replication, null)).toEqual({
    HTTPS_PROXY: "http://proxy:3128",
    AWS_ACCESS_KEY_ID: "AKIA1",
    AWS_SECRET_ACCESS_KEY: "s3cr3t-s3cr3t",
  });
  const byFile = read('url = "s3://copies/pombo"\naccess_key_id = "AKIA2"\nsecret_access_key_file = "/etc/secret"');
  expect(buildDaemonEnvironment(byFile, "from-file")).toEqual({
    AWS_ACCESS_KEY_ID: "AKIA2",
    AWS_SECRET_ACCESS_KEY: "from-file",
  });
  // The machine's own role.
  expect(buildDaemonEnvironment(read('url = "s3://copies/pombo"'), null)).toEqual({});
});

test("a folder and an sftp server; what looks like YAML in a path stays a path", () => {
  const folder = daemonOf(read('url = "/mnt/a:_[b]_${HOME}_\\"c\\"/pombo"'));
  expect(folder.dbs[0].replica).toMatchObject({ type: "file", path: `/mnt/a:_[b]_\${HOME}_"c"/pombo/${LINEAGE}` });
  expect(daemonOf(read('url = "file:///mnt/copies"')).dbs[1].replica.path).toBe(`/mnt/copies/${LINEAGE}/owner`);
  const sftp = read(
    'url = "sftp://pombo@box.example.net:23/copies"\nsftp_key_file = "/etc/pombo/sftp"\nsftp_host_key = "ssh-ed25519 AAAA"',
  );
  expect(daemonOf(sftp).dbs[0].replica).toMatchObject({
    url: `sftp://pombo@box.example.net:23/copies/${LINEAGE}`,
    "key-path": "/etc/pombo/sftp",
    "host-key": "ssh-ed25519 AAAA",
  });
});

for (const [what, lines, env, keys] of [
  ["a password in the url", 'url = "sftp://a:secret@box.example.net/x"', {}, ["replication.url"]],
  ["options in the url", 'url = "s3://copies/x?endpoint=y"', {}, ["replication.url"]],
  ["another service", 'url = "gs://copies/x"', {}, ["replication.url"]],
  ["a relative path", 'url = "copies"', {}, ["replication.url"]],
  ["an id without its secret", 'url = "s3://copies/x"\naccess_key_id = "A"', {}, ["replication.access_key_id"]],
  [
    "a secret without its id",
    'url = "s3://copies/x"',
    { POMBO_REPLICATION_SECRET_ACCESS_KEY: "x" },
    ["replication.access_key_id"],
  ],
  [
    "two secrets",
    'url = "s3://copies/x"\naccess_key_id = "A"\nsecret_access_key_file = "/etc/s"',
    { POMBO_REPLICATION_SECRET_ACCESS_KEY: "x" },
    ["replication.secret_access_key_file"],
  ],
  [
    "sftp without a key",
    'url = "sftp://a@box.example.net/x"\nsftp_host_key = "ssh-ed25519 AAAA"',
    {},
    ["replication.sftp_key_file"],
  ],
  ...["", "ssh-ed25519", "box.example.net ssh-ed25519 AAAA", "ssh-dss AAAA", "SHA256:abc"].map(
    (key): [string, string, Record<string, string>, string[]] => [
      `sftp with "${key}" as the server's key`,
      `url = "sftp://a@box.example.net/x"\nsftp_key_file = "/etc/pombo/sftp"\nsftp_host_key = "${key}"`,
      {},
      ["replication.sftp_host_key"],
    ],
  ),
  [
    "whole copies rarer than they are kept",
    'url = "/mnt/x"\nsnapshot_interval = "48h"\nretention = "24h"',
    {},
    ["replication.snapshot_interval"],
  ],
] as [string, string, Record<string, string>, string[]][]) {
  test(`${what} is refused with its key`, () => expect(mistakesOf(lines, env)).toEqual(keys));
}
