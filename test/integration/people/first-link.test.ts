// The link of `pombo init`, by which the first operator comes to the dashboard.

import { Database } from "bun:sqlite";
import { expect, test } from "bun:test";
import { existsSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { runHere } from "../../support/cli/kit.ts";

interface Row {
  hash: string;
  kind: string;
  lifetime: number;
}

function scratch() {
  const folder = mkdtempSync(join(tmpdir(), "pombo-first-link-"));
  const config = join(folder, "pombo.toml");
  const init = (...more: string[]) =>
    runHere([
      "init",
      "--config",
      config,
      "--data-dir",
      join(folder, "data"),
      "--hostname",
      "mail.example.net",
      ...more,
    ]);
  const links = () => {
    using sqlite = new Database(join(folder, "data", "pombo.db"), { readwrite: true });
    return sqlite.query<Row, []>("SELECT hash, kind, expires_at - created_at AS lifetime FROM link").all();
  };
  return { folder, config, init, links, [Symbol.dispose]: () => rmSync(folder, { recursive: true, force: true }) };
}

const hashOf = (url: string) => Bun.SHA256.hash(url.split("#")[1] ?? "", "hex");
const TUNNEL = "ssh -L 8080:127.0.0.1:8080 mail.example.net";

test("init shows a link of 30 minutes beside the keys, and how to reach it from elsewhere", async () => {
  using at = scratch();
  const { out, code } = await at.init();
  const url = /http:\/\/localhost:8080\/dashboard\/setup#[\w-]{43}/.exec(out)?.[0] ?? "";
  expect([code, at.links()]).toEqual([0, [{ hash: hashOf(url), kind: "setup", lifetime: 30 * 60_000 }]]);
  expect(out).toContain(TUNNEL);
  expect(out.indexOf("pombo serve")).toBeLessThan(out.indexOf(url));
});

test("the link begins with [dashboard] url, and then needs no tunnel; programs read it", async () => {
  using at = scratch();
  const data = join(at.folder, "data");
  const text = `hostname = "mail.example.net"\ndata_dir = "${data}"\n[dashboard]\nurl = "https://mail.example.net"\n`;
  writeFileSync(at.config, text);
  const { out } = await at.init("--json");
  const { dashboardUrl } = JSON.parse(out) as { dashboardUrl: string };
  expect(dashboardUrl).toStartWith("https://mail.example.net/dashboard/setup#");
  expect(at.links()).toMatchObject([{ hash: hashOf(dashboardUrl) }]);
  rmSync(data, { recursive: true });
  const said = (await at.init()).out;
  expect([said.includes("https://mail.example.net/dashboard/setup#"), said.includes("ssh -L")]).toEqual([true, false]);
});

test("where the port is chosen at each start there is no link before it, and the words say why", async () => {
  using at = scratch();
  const data = join(at.folder, "data");
  writeFileSync(at.config, `hostname = "mail.example.net"\ndata_dir = "${data}"\n[http]\nlisten = "127.0.0.1:0"\n`);
  const { out } = await at.init("--json");
  expect([JSON.parse(out), at.links()]).toEqual([expect.objectContaining({ dashboardUrl: null }), []]);
  const link = await runHere(["dashboard", "link", "--config", at.config]);
  expect([link.code, link.out, at.links()]).toEqual([1, "", []]);
  expect(link.err).toContain("[http] listen has port 0");
});

test("there is no link to a dashboard that is turned off, and none where init fails", async () => {
  using at = scratch();
  const data = join(at.folder, "data");
  writeFileSync(at.config, `hostname = "mail.example.net"\ndata_dir = "${data}"\n[dashboard]\nenabled = false\n`);
  const { out } = await at.init("--json");
  expect(JSON.parse(out)).toMatchObject({ dashboardUrl: null });
  expect([at.links(), (await at.init()).out]).toEqual([[], ""]);
  using other = scratch();
  writeFileSync(other.config, "hostname = 1\n");
  expect((await other.init()).out).toBe("");
  expect(existsSync(join(other.folder, "data", "pombo.db"))).toBe(false);
});
