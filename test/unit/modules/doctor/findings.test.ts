// Each finding in a world that is well, and in one that is broken for it alone; where the step is a record to publish,
// publishing it makes the finding ok.
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, test } from "bun:test";
import { FINDING_IDS, type FindingId, groupOf } from "../../../../src/modules/doctor/catalog.ts";
import type { Level } from "../../../../src/modules/doctor/finding.ts";
import { CASES } from "../../../support/doctor/cases.ts";
import { addEgress } from "../../../support/doctor/egress.ts";
import { carryOut, startWorld } from "../../../support/doctor/world.ts";

/** What is looked at without DNS. */
const INSIDE: string[] = [
  ...FINDING_IDS.filter((id) => ["providers", "machine", "sms"].includes(groupOf(id))),
  "domain_age",
];

test("each finding has a case in which it is ok, one in which it is not, and none is without an id", () => {
  const named = Object.entries(CASES);
  expect(named.map(([id]) => id).toSorted()).toEqual([...FINDING_IDS].toSorted());
  for (const [id, cases] of named) expect([id, cases.some(({ level }) => level !== "ok")]).toEqual([id, true]);
});

test("docs/doctor.md has each finding under its group, and no other", () => {
  const text = readFileSync(join(import.meta.dir, "../../../../docs/doctor.md"), "utf8");
  const sections = text.split(/^### /m).slice(1);
  const found = sections.flatMap((section) => {
    const [group = ""] = section.split("\n");
    return [...section.matchAll(/^\| `([a-z0-9_]+)` \|/gm)].map(([, id]) => `${group} ${id}`);
  });
  expect(found).toEqual(FINDING_IDS.map((id) => `${groupOf(id)} ${id}`));
});

test("a world that is well has nothing but ok", async () => {
  await using world = await startWorld();
  await addEgress(world, {});
  const findings = await world.run();
  expect(findings.filter(({ level }) => level !== "ok")).toEqual([]);
  expect([...new Set(findings.map(({ id }) => id))].toSorted()).toEqual([...FINDING_IDS].toSorted());
  expect(findings.every(({ step }) => step === null)).toBe(true);
  expect(world.errors).toEqual([]);
});

for (const id of FINDING_IDS)
  describe(id, () => {
    for (const { name, level, arrange, seen, step, isCuredByRecord } of CASES[id])
      test(
        name,
        async () => {
          await using world = await startWorld();
          await arrange(world);
          const found = await world.find(id);
          expect([found.seen, found.level]).toEqual([expect.stringMatching(seen), level]);
          expect(world.errors).toEqual([]);
          if (level === "ok") return expect(found.step).toBeNull();
          if (level !== "unknown") expect(found.step).toMatch(/\S{3}/);
          if (step !== undefined) expect(found.step).toMatch(step);
          if (isCuredByRecord !== true) return;
          carryOut(found.step ?? "", world.dns.zone);
          const after = await world.find(id);
          expect([after.seen, after.level]).toEqual([expect.any(String), "ok" satisfies Level]);
        },
        20_000,
      );
  });

test("with a DNS that says nothing all that needs it is unknown, and soon", async () => {
  await using world = await startWorld();
  world.mood = "mute";
  const startedAt = performance.now();
  const findings = await world.run();
  expect(performance.now() - startedAt).toBeLessThan(15_000);
  const levels = new Map<FindingId, Level>(findings.map(({ id, level }) => [id, level]));
  expect(levels.get("resolver_answers")).toBe("problem");
  const withoutDns = ["resolver_answers", "address", "ports_in", "bounce_port", "bounce_letter", ...INSIDE];
  expect(findings.filter(({ id, level }) => level !== "unknown" && !withoutDns.includes(id))).toEqual([]);
  expect(world.errors).toEqual([]);
}, 20_000);

test("a run whose time is over says of everything that it is unknown", async () => {
  await using world = await startWorld();
  world.signal = AbortSignal.abort();
  const findings = await world.run();
  const known = findings.filter(({ level }) => level !== "unknown").map(({ id }) => id);
  expect(known.filter((id) => !INSIDE.includes(id))).toEqual(["address"]);
});

test("a run in the background asks no more questions than it may, and leaves out the domains that it does not reach", async () => {
  await using world = await startWorld();
  const [first] = world.domains;
  if (first === undefined) throw new Error("no domain");
  world.questions = 100;
  world.domains = Array.from({ length: 60 }, (_, at) => ({ ...first, id: at, name: `d${at}.example` }));
  const findings = await world.run();
  expect(new Set(world.dns.lookups).size).toBeLessThanOrEqual(100);
  const reached = new Set(findings.filter(({ id }) => id === "dmarc").map(({ subject }) => subject));
  expect(reached.size).toBeGreaterThan(2);
  expect(reached.size).toBeLessThan(60);
  expect(reached).toContain("d0.example");
});
