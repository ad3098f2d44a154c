import { expect, test } from "bun:test";
import { Registry } from "../../../../src/platform/metrics/registry.ts";
import { readMetrics } from "../../../support/metrics/reader.ts";

test("a counter is written with its help and type, and stands at 0 before its first step", () => {
  const registry = new Registry();
  const counter = registry.counter({ name: "pombo_x_total", help: "All of them." });
  expect(registry.text()).toBe("# HELP pombo_x_total All of them.\n# TYPE pombo_x_total counter\npombo_x_total 0\n");
  counter.add(1);
  counter.add(2.5);
  expect(readMetrics(registry.text()).value("pombo_x_total")).toBe(3.5);
});

test("each set of label values is a series of its own", () => {
  const registry = new Registry();
  const counter = registry.counter({ name: "x_total", help: "x", labels: ["class", "site"] });
  counter.declare("a", "m");
  counter.add(1, "a", "n");
  counter.add(1, "a", "n");
  counter.add(1, "b", "n");
  const read = readMetrics(registry.text());
  expect(read.value("x_total", { class: "a", site: "m" })).toBe(0);
  expect(read.value("x_total", { class: "a", site: "n" })).toBe(2);
  expect(read.value("x_total", { class: "b", site: "n" })).toBe(1);
  expect(() => counter.add(1, "a")).toThrow("2 labels");
});

test("label values and help texts cannot break out of their place", () => {
  const registry = new Registry();
  const values = ['"} 1\nforged 2', "back\\slash", "\\n is no line end", "é😀", "half \ud83d", ""];
  registry.read({ name: "x", help: "one\\two\nthree", labels: ["site"], type: "gauge" }, () =>
    values.map((value, index) => ({ labels: [value], value: index })),
  );
  const text = registry.text();
  const read = readMetrics(text);
  expect(read.families).toHaveLength(1);
  expect(read.labelsOf("x", "site")).toEqual(values.map((value) => value.toWellFormed()));
  expect(text).toStartWith("# HELP x one\\\\two\\nthree\n");
});

test("numbers that are none are written as the format wants them", () => {
  const registry = new Registry();
  const values = [Number.NaN, Number.POSITIVE_INFINITY, Number.NEGATIVE_INFINITY, 1e21, 1e-7, 2 ** 53, -0.5];
  registry.read({ name: "x", help: "x", labels: ["nth"], type: "gauge" }, () =>
    values.map((value, index) => ({ labels: [String(index)], value })),
  );
  const text = registry.text();
  for (const written of ["NaN", "+Inf", "-Inf", "1e+21", "1e-7", "9007199254740992", "-0.5"])
    expect(text).toContain(`"} ${written}\n`);
  expect(readMetrics(text).value("x", { nth: "4" })).toBe(1e-7);
});

test("a counter keeps at most 100 series: what comes later counts as other", () => {
  const registry = new Registry();
  const counter = registry.counter({ name: "x_total", help: "x", labels: ["site"] });
  for (let nth = 0; nth < 5_000; nth++) counter.add(1, `site ${nth}`);
  counter.add(1, "site 3");
  const read = readMetrics(registry.text());
  const sites = read.labelsOf("x_total", "site");
  expect(sites).toHaveLength(100);
  expect(read.value("x_total", { site: "other" })).toBe(5_000 - 99);
  expect(read.value("x_total", { site: "site 3" })).toBe(2);
});

test("a gauge is read at each asking, and left out while nothing is known", () => {
  const registry = new Registry();
  let now: number | null = null;
  registry.read({ name: "x", help: "x", type: "gauge" }, () => now);
  expect(registry.text()).toBe("");
  now = 7;
  expect(readMetrics(registry.text()).value("x")).toBe(7);
  now = 8;
  expect(readMetrics(registry.text()).value("x")).toBe(8);
});

test("a histogram counts what is up to each bound, bounds included", () => {
  const registry = new Registry();
  const histogram = registry.histogram({ name: "x_seconds", help: "x" }, [0.001, 0.01, 1]);
  for (const value of [0, 0.001, 0.002, 0.5, 1, 30]) histogram.observe(value);
  expect(registry.text()).toBe(
    [
      "# HELP x_seconds x",
      "# TYPE x_seconds histogram",
      'x_seconds_bucket{le="0.001"} 2',
      'x_seconds_bucket{le="0.01"} 3',
      'x_seconds_bucket{le="1"} 5',
      'x_seconds_bucket{le="+Inf"} 6',
      "x_seconds_sum 31.503",
      "x_seconds_count 6",
      "",
    ].join("\n"),
  );
  const [family] = readMetrics(registry.text()).families;
  expect(family).toMatchObject({ type: "HISTOGRAM", metrics: [{ count: "6", sum: "31.503" }] });
});

test("a name that Prometheus would refuse, or that is taken, is refused", () => {
  const registry = new Registry();
  registry.counter({ name: "x_total", help: "x" });
  for (const name of ["x_total", "1x", "x-y", "x y", "", "é"])
    expect(() => registry.counter({ name, help: "x" })).toThrow();
  for (const label of ["__name", "a-b", "1a", "le:"])
    expect(() => registry.counter({ name: "y_total", help: "x", labels: [label] })).toThrow("no name");
});

test("a histogram says below what a share of its values is", () => {
  const histogram = new Registry().histogram({ name: "pombo_took_seconds", help: "How long." }, [0.1, 1]);
  expect([histogram.count, histogram.quantile(0.99)]).toEqual([0, null]);
  for (let nth = 0; nth < 99; nth += 1) histogram.observe(0.05);
  histogram.observe(0.5);
  expect([histogram.count, histogram.quantile(0.99), histogram.quantile(1)]).toEqual([100, 0.1, 1]);
  histogram.observe(7);
  histogram.observe(7);
  expect(histogram.quantile(0.99)).toBe(Number.POSITIVE_INFINITY);
});
