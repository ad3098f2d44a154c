import { expect, test } from "bun:test";
import { type Findings, classifyForEmpty, classifyReplica } from "../../../../src/backup/litestream/replica-verdict.ts";
import { buildNextMark, explainStaleDatabase, parseMark } from "../../../../src/backup/litestream/marker.ts";

const OWNER = { instance: "i", boot: "b2", host: "old", startedAt: 0, endedAt: null };
const [OLDER, NEWEST, NEWER, LAST] = ["l1", "l2", "l3", "l4"];
const BACKUP = { kind: "backup", lineage: NEWEST ?? "", transaction: 9, at: 0 } as const;
const here = (transaction: number, lineage = NEWEST ?? "") => ({ local: { lineage, transaction } });
const USUAL: Findings = {
  replica: BACKUP,
  owner: OWNER,
  instance: "i",
  boots: ["b2", "b1"],
  ...here(9),
  newest: NEWEST ?? "",
  url: "s3://copies/pombo",
  startEmpty: false,
  takeOver: false,
};

for (const [what, changes, kind] of [
  ["its own replica, as far as it is itself", {}, "go"],
  ["one that an earlier start of its own wrote last", { owner: { ...OWNER, boot: "b1" } }, "go"],
  ["one that is behind", here(12), "go"],
  ["an empty one", { replica: { kind: "empty" } }, "go"],
  ["one that cannot be reached: mail does not wait for it", { replica: { kind: "unreachable", reason: "x" } }, "go"],
  ["one that is ahead", here(8), "behind"],
  ["one that its last start wrote, though the daemon's own files are lost", { local: null }, "go"],
  [
    "one that an earlier start wrote, the daemon's own files being lost",
    { local: null, owner: { ...OWNER, boot: "b1" } },
    "behind",
  ],
  ["another instance's", { owner: { ...OWNER, instance: "j" } }, "refused"],
  ["another copy's of this instance, which runs", { owner: { ...OWNER, boot: "z" } }, "refused"],
  [
    "another copy's, which has ended, and went further",
    { owner: { ...OWNER, boot: "z", endedAt: 5 }, ...here(8) },
    "behind",
  ],
  ["one whose newest lineage began after the one here", here(99, OLDER), "behind"],
  ["one that does not hold the lineage here yet", { ...here(0, NEWER), newest: NEWER ?? "" }, "go"],
  [
    "one whose newest lineage began after the one here, and holds nothing whole yet",
    { ...here(0, NEWER), newest: LAST ?? "" },
    "behind",
  ],
  [
    "one that holds nothing whole yet, of another instance",
    { replica: { kind: "empty" }, owner: { ...OWNER, instance: "j" } },
    "refused",
  ],
  ["another instance's, taken over", { owner: { ...OWNER, instance: "j" }, takeOver: true }, "go"],
] as [string, Partial<Findings>, string][]) {
  test(`a database that was in use meets ${what}: ${kind}`, () => {
    expect(classifyReplica({ ...USUAL, ...changes }).kind).toBe(kind as "go");
  });
}

test("a refusal says whose the replica is and what to do", () => {
  const verdict = classifyReplica({ ...USUAL, owner: { ...OWNER, instance: "j" } });
  expect(verdict).toEqual({
    kind: "refused",
    words:
      "The replica at s3://copies/pombo belongs to another instance of pombo (on old since 1970-01-01T00:00:00.000Z). " +
      "Give this one a [replication] url of its own; or, if the other will never run again: pombo serve --take-over.",
  });
});

test("an empty data directory does not begin over a backup, nor where that cannot be seen", () => {
  expect(classifyForEmpty({ kind: "empty" }, "x", false)).toEqual({ kind: "go" });
  expect(classifyForEmpty(BACKUP, "x", true)).toEqual({ kind: "go" });
  const backup = classifyForEmpty(BACKUP, "x", false);
  expect(backup.kind === "refused" && backup.words).toContain("pombo restore");
  expect(backup.kind === "refused" && backup.words).toContain("pombo serve --ignore-existing-backup");
  const unseen = classifyForEmpty({ kind: "unreachable", reason: "no route" }, "x", false);
  expect(unseen.kind === "refused" && unseen.words).toContain("no route");
  // A database that was made and never started is empty too.
  expect(classifyReplica({ ...USUAL, boots: [], local: null }).kind).toBe("refused");
});

test("a database behind its marker, or without one, is of an earlier time", () => {
  const at = (transaction: number) => ({ boots: ["b"], transaction });
  expect(explainStaleDatabase(null, null)).toBeNull();
  expect(explainStaleDatabase(at(5), at(5))).toBeNull();
  expect(explainStaleDatabase(at(6), at(5))).toBeNull();
  expect(explainStaleDatabase(at(4), at(5))).toContain("older than the file marker");
  expect(explainStaleDatabase(null, at(5))).toContain("older than the file marker");
  expect(explainStaleDatabase(at(5), null)).toContain("the file marker is not beside");
});

test("a start follows the database and the marker, and remembers a number of starts", () => {
  expect(buildNextMark(null, null, "a")).toEqual({ boots: ["a"], transaction: 1 });
  const next = buildNextMark(
    { boots: Array.from({ length: 20 }, (_, at) => `${at}`), transaction: 3 },
    parseMark('{"boots":[],"transaction":7}'),
    "a",
  );
  expect(next.transaction).toBe(8);
  expect(next.boots).toHaveLength(20);
  expect(next.boots.slice(0, 2)).toEqual(["a", "0"]);
  for (const text of ["", "{}", '{"boots":"x","transaction":1}', '{"boots":[],"transaction":"1"}', "null"])
    expect(parseMark(text)).toBeNull();
});
