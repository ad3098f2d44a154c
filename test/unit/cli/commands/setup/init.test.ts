import { expect, test } from "bun:test";
import { existsSync, mkdtempSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { parseArguments, type Terminal } from "../../../../../src/cli/framework/definition.ts";
import { init } from "../../../../../src/cli/commands/setup/init.ts";
import { parseConfig } from "../../../../../src/config/config.ts";

function scratch() {
  const folder = mkdtempSync(join(tmpdir(), "pombo-init-"));
  const terminal = { env: {}, out: () => undefined } as unknown as Terminal;
  const config = join(folder, "pombo.toml");
  return {
    config,
    run(listen: string | undefined, ...more: string[]) {
      const args = [
        "--config",
        config,
        "--data-dir",
        join(folder, "data"),
        "--hostname",
        "mail.example.net",
        "--json",
        ...more,
      ];
      if (listen !== undefined) args.push("--listen", listen);
      void init.run(parseArguments(init, args), terminal);
    },
    [Symbol.dispose]: () => rmSync(folder, { recursive: true, force: true }),
  };
}

test("pombo init --listen writes where the API listens, and nothing else that is called so", () => {
  using at = scratch();
  at.run("0.0.0.0:8080");
  const read = parseConfig(readFileSync(at.config, "utf8"), { file: at.config, env: {} });
  if (read.kind === "errors") throw new Error(JSON.stringify(read.errors));
  const { http, inbound, metrics } = read.config;
  expect(http.listen).toEqual({ address: "0.0.0.0", port: 8080 });
  expect(inbound.listen).toEqual({ address: "0.0.0.0", port: 25 });
  expect(metrics.listen).toEqual({ address: "127.0.0.1", port: 9464 });
});

test("pombo init --https writes what serves https, and the addresses that follow from it", () => {
  using at = scratch();
  at.run(undefined, "--https");
  const read = parseConfig(readFileSync(at.config, "utf8"), { file: at.config, env: {} });
  if (read.kind === "errors") throw new Error(JSON.stringify(read.errors));
  const { tls, http, dashboard } = read.config;
  expect(tls.listen.map(({ address, port }) => `${address} ${port}`)).toEqual(["0.0.0.0 443", ":: 443"]);
  expect(tls.acme).toBe("https://acme-v02.api.letsencrypt.org/directory");
  expect(tls.names).toEqual(["mail.example.net"]);
  expect([http.publicUrl, dashboard.url]).toEqual(["https://mail.example.net", "https://mail.example.net"]);
  expect(http.listen).toEqual({ address: "127.0.0.1", port: 8080 });
});

test("pombo init --https refuses a configuration that is there already and serves none", async () => {
  using at = scratch();
  await Bun.write(at.config, `hostname = "mail.example.net"\ndata_dir = "${join(at.config, "../data")}"\n`);
  expect(() => at.run(undefined, "--https")).toThrow("--listen or --https");
});

test("pombo init refuses a --listen that the configuration would refuse, and writes nothing", () => {
  using at = scratch();
  expect(() => at.run("8080")).toThrow(/^--listen: found "8080"; expected /);
  expect(existsSync(at.config)).toBe(false);
});

test("pombo init refuses another --listen than the configuration has that is there already", async () => {
  using at = scratch();
  await Bun.write(at.config, `hostname = "mail.example.net"\ndata_dir = "${join(at.config, "../data")}"\n`);
  expect(() => at.run("0.0.0.0:8080")).toThrow("differs from --hostname, --data-dir, --listen or --https");
  at.run("127.0.0.1:8080");
});
