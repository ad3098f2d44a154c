import { expect, test } from "bun:test";
import type { AlertConfig } from "../../../../src/config/config.ts";
import { brokenId, isOwnTrouble, isWayOpen, listTargets, wants } from "../../../../src/modules/alerts/targets.ts";
import type { Trouble } from "../../../../src/modules/alerts/trouble.ts";

const MAIL: AlertConfig = { kind: "email", to: ["me@example.org"], least: "problem", from: null, route: null };
const SMS: AlertConfig = { kind: "sms", to: ["+258841234567"], least: "warning", from: "pombo", route: "vodacom" };
const HOOK: AlertConfig = { ...MAIL, kind: "webhook", to: ["https://hooks.example.com/T0/s3cret"] };

test("a receiver of two blocks is told once, of what the wider one wants", () => {
  const targets = listTargets([MAIL, { ...MAIL, to: ["me@example.org", "you@example.org"], least: "warning" }]);
  expect(targets.map(({ to, least }) => [to, least])).toEqual([
    ["me@example.org", "warning"],
    ["you@example.org", "warning"],
  ]);
});

test("what is stored and shown of a webhook does not tell its address", () => {
  const [target] = listTargets([HOOK]);
  expect(target?.shown).toBe("hooks.example.com");
  expect(target?.key).not.toContain("s3cret");
});

test("who wants problems hears of no warning", () => {
  expect([wants({ least: "problem" }, "warning"), wants({ least: "problem" }, "problem")]).toEqual([false, true]);
});

test("a webhook hears only the end of its own failure", () => {
  const [target, other] = listTargets([HOOK, { ...HOOK, to: ["https://hooks.example.com/T0/other"] }]);
  if (target === undefined || other === undefined) throw new Error("no targets");
  const id = brokenId(target);
  const kinds = ["began", "worsened", "reminded", "ended"] as const;
  expect(kinds.map((kind) => isOwnTrouble(target, { id, kind }))).toEqual([true, true, true, false]);
  expect(kinds.map((kind) => isOwnTrouble(other, { id, kind }))).toEqual([false, false, false, false]);
});

test("no way is open that is itself the trouble; of SMS only the route that it is about", () => {
  const [mail, sms] = listTargets([MAIL, SMS]);
  if (mail === undefined || sms === undefined) throw new Error("no targets");
  const trouble = (via: Trouble["via"], about?: string): Trouble => ({
    id: "x",
    level: "problem",
    what: "x",
    step: null,
    ...(via === undefined ? {} : { via }),
    ...(about === undefined ? {} : { about }),
  });
  const open = (...troubles: Trouble[]) => [isWayOpen(mail, troubles), isWayOpen(sms, troubles)];
  expect(open(trouble(undefined))).toEqual([true, true]);
  expect(open(trouble("mail"))).toEqual([false, true]);
  expect(open(trouble(["mail", "sms"]))).toEqual([false, false]);
  expect(open(trouble("sms", "vodacom"))).toEqual([true, false]);
  expect(open(trouble("sms", "tmcel"))).toEqual([true, true]);
});
