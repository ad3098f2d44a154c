// What monitoring/ holds for Prometheus and Grafana: it names only metrics and labels that there are, and Prometheus takes it.

import { describe, expect, setDefaultTimeout, test } from "bun:test";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { runHere } from "../../support/cli/kit.ts";
import { sourcesOf } from "../../architecture/tidy/sources.ts";
import { startTexting } from "../../support/texting/world.ts";

setDefaultTimeout(60_000);

const FOLDER = join(import.meta.dir, "../../../monitoring");
const read = (name: string) => readFileSync(join(FOLDER, name), "utf8");

interface Panel {
  title: string;
  type: string;
  gridPos: { h: number; w: number; x: number; y: number };
  targets?: { expr: string; legendFormat: string }[];
}

const { panels } = JSON.parse(read("grafana-dashboard.json")) as { panels: Panel[] };
const queries = panels.flatMap(({ title, targets = [] }) => targets.map((target) => ({ title, ...target })));
const rules = [...read("prometheus-rules.yml").matchAll(/^ +(?:expr: |> ?|and )(.*)$/gm)].map(([, expr = ""]) => expr);

/** As the sources name them, with the series that a histogram has. */
function listMetrics(): Set<string> {
  const code = sourcesOf("src", ".ts").map(({ text }) => text);
  const named = code.flatMap((text) =>
    [...text.matchAll(/"((?:pombo|process)_[a-z0-9_]+)"/g)].map(([, name = ""]) => name),
  );
  const inbound = code.flatMap((text) =>
    text.includes("pombo_inbound_${name}_total")
      ? [...text.matchAll(/counter\(\s*"(\w+)"/g)].map(([, name = ""]) => `pombo_inbound_${name}_total`)
      : [],
  );
  const buckets = named
    .filter((name) => name.endsWith("_seconds"))
    .flatMap((name) => [`${name}_bucket`, `${name}_count`]);
  return new Set([...named, ...inbound, ...buckets]);
}

const namesIn = (expr: string) => expr.match(/\b(?:pombo|process)_[a-z0-9_]+/g) ?? [];

test("every metric that a rule or a panel names exists", () => {
  const known = listMetrics();
  expect(known.size).toBeGreaterThan(50);
  const named = [...rules, ...queries.map(({ expr }) => expr)].flatMap(namesIn);
  expect(new Set(named).size).toBeGreaterThan(30);
  expect(named.filter((name) => !known.has(name))).toEqual([]);
});

test("every rule of the table in docs/operating.md is one of Prometheus'", () => {
  const table = readFileSync(join(FOLDER, "../docs/operating.md"), "utf8");
  const [, rows = ""] = /Worth an alert:\n\n([\s\S]*?)\n\n/.exec(table) ?? [];
  const conditions = rows.split("\n").map((row) => row.split(" | ")[0] ?? "");
  const wanted = new Set(conditions.flatMap(namesIn));
  expect(wanted.size).toBeGreaterThan(10);
  expect([...wanted.difference(new Set(rules.flatMap(namesIn)))]).toEqual([]);
});

test("a running instance has the labels that the panels divide by", async () => {
  await using world = await startTexting({
    configure: (config) => void (config.metrics.listen = { address: "127.0.0.1", port: 0 }),
  });
  const id = await world.text();
  await world.until(id, ({ status }) => status === "delivered");
  await world.instance.workspace.call("POST", "/api/v1/emails", { body: world.instance.email() });
  await world.instance.app.worker.idle();
  const text = await (await fetch(world.instance.app.metricsUrl ?? "")).text();
  const labels = new Map<string, Set<string>>();
  for (const [, name = "", given = ""] of text.matchAll(/^(\w+)(?:\{(.*)\})? /gm)) {
    const known = labels.get(name) ?? new Set(["instance", "job"]);
    for (const [, label = ""] of given.matchAll(/(\w+)="/g)) known.add(label);
    labels.set(name, known);
  }
  expect(labels.size).toBeGreaterThan(40);
  const missing = queries.flatMap(({ title, expr, legendFormat }) => {
    const used = [
      ...[...legendFormat.matchAll(/\{\{(\w+)\}\}/g)].map(([, label = ""]) => label),
      ...[...expr.matchAll(/by \(([\w, ]+)\)/g)].flatMap(([, list = ""]) => list.split(/, ?/)),
    ];
    return [...expr.matchAll(/\b((?:pombo|process)_\w+)(?:\{([^}]*)\})?/g)].flatMap(([, name = "", given = ""]) => {
      const known = labels.get(name);
      const all = [...used, ...[...given.matchAll(/(\w+)[=!]~?"/g)].map(([, label = ""]) => label)];
      return known === undefined
        ? []
        : all.filter((label) => !known.has(label)).map((label) => `${title}: ${name}{${label}}`);
    });
  });
  expect(missing).toEqual([]);
});

test("no two panels of the dashboard lie on each other, and none is wider than the screen", () => {
  const cells = panels.flatMap(({ gridPos: { h, w, x, y } }) => {
    expect(x + w).toBeLessThanOrEqual(24);
    return Array.from({ length: h * w }, (_, nth) => `${x + (nth % w)} ${y + Math.floor(nth / w)}`);
  });
  expect(new Set(cells).size).toBe(cells.length);
});

test("pombo monitoring prints both", async () => {
  expect((await runHere(["monitoring", "rules"])).out).toBe(read("prometheus-rules.yml"));
  expect(JSON.parse((await runHere(["monitoring", "dashboard"])).out)).toMatchObject({ title: "pombo" });
});

const promtool = Bun.which("promtool");

describe.skipIf(promtool === null)("Prometheus itself (skipped without promtool: Debian's package prometheus)", () => {
  const run = (...args: string[]) => {
    const { exitCode, stdout, stderr } = Bun.spawnSync([promtool ?? "", ...args], { cwd: FOLDER });
    return { exitCode, output: `${stdout.toString()}${stderr.toString()}` };
  };

  test("takes the rules", () => {
    expect(run("check", "rules", "prometheus-rules.yml")).toMatchObject({ exitCode: 0 });
  });

  test("tells what it should of a world that is well and of one that is not", () => {
    expect(run("test", "rules", "prometheus-rules.test.yml")).toMatchObject({ exitCode: 0 });
  });
});
