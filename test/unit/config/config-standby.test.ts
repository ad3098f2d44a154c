import { expect, test } from "bun:test";
import { parseConfig } from "../../../src/config/config.ts";

const KEYS = 'access_key_id = "A"\nsecret_access_key_file = "/etc/s"';

function errorsOf(replication: string, lease: string): string[] {
  const source = `hostname = "mail.pombo.test"\ndata_dir = "/var/lib/pombo"\n[replication]\n${replication}\n[standby]\nlease = "${lease}"\n`;
  const parsed = parseConfig(source, { file: "pombo.toml", env: {} });
  return parsed.kind === "errors" ? parsed.errors.map(({ key }) => key) : [];
}

test("a lease needs a bucket, a key and answers that wait for the replica", () => {
  expect(errorsOf(`url = "s3://copies/x"\nacknowledge = "replica"\n${KEYS}`, "15s")).toEqual([]);
  expect(errorsOf(`url = "s3://copies/x"\n${KEYS}`, "15s")).toEqual(["replication.acknowledge"]);
  expect(errorsOf('url = "s3://copies/x"\nacknowledge = "replica"', "15s")).toEqual(["replication.access_key_id"]);
  expect(errorsOf('url = "/mnt/x"\nacknowledge = "replica"', "15s")).toEqual(["replication.url"]);
  expect(errorsOf(`url = "s3://copies/x"\nacknowledge = "replica"\n${KEYS}`, "1s")).toEqual(["standby.lease"]);
});

test("without a lease nothing is needed, and answers can wait for any replica", () => {
  expect(errorsOf("", "0s")).toEqual([]);
  expect(errorsOf('url = "/mnt/x"\nacknowledge = "replica"', "0s")).toEqual([]);
  expect(errorsOf('acknowledge = "replica"', "0s")).toEqual(["replication.acknowledge"]);
});
