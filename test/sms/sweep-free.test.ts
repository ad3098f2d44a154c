import { expect, test } from "bun:test";
import { defaultSmsRoute } from "../../src/config.ts";
import { smsSegments } from "../../src/db/schema-sms.ts";
import { openRoutes, type Route } from "../../src/sms/route-settings.ts";
import { Sweeper, type SweeperParts } from "../../src/sms/sweep.ts";
import { temporaryDatabase, turn } from "../db/temporary.ts";
import { fakeClock } from "../fakes/clock.ts";
import { addMessage, addWorkspace, openLedger } from "./rows.ts";

const HOUR = 3_600_000;

test("texts that wait for a link that is away are freed, also where a neighbour's bug has their transaction run again", async () => {
  using of = temporaryDatabase();
  const sms = openLedger(of.db);
  const { commit } = of.committer;
  const links = [{ name: "a" }, { name: "b" }] as unknown as Route["links"];
  const [route] = openRoutes([defaultSmsRoute("vodacom")]).values();
  if (route === undefined) throw new Error("no route");
  const clock = Object.assign(fakeClock(), { jump: null });
  let hasLooked = false;
  let bugs = 0;
  /** Throws in the one transaction that is meant: those after a bug are not run again, they have savepoints. */
  const neighbour = () => {
    if (hasLooked && bugs === 0) throw new Error("a bug of a neighbour");
  };
  const linkUnboundMs = (link: string) => {
    hasLooked = true;
    return link === "a" ? HOUR : 0;
  };
  const parts = {
    sms,
    routes: new Map([["vodacom", { ...route, links }]]),
    links: { unboundMs: () => 0, linkUnboundMs },
    health: { isOpen: () => false },
    receipts: { recount: () => undefined },
    receiver: { sms },
    repeats: { forget: () => undefined, oldest: 0 },
    receiptGraceMs: HOUR,
    backlog: { look: () => undefined },
    nudge: () => undefined,
    unwritten: { run: () => Promise.resolve(0) },
    commit(work: () => never) {
      const committed = commit(work);
      void commit(neighbour).catch(() => (bugs += 1));
      return committed;
    },
    clock,
    log: { event: () => undefined, bug: (_: string, error: unknown) => expect(error).toBeUndefined() },
  } as unknown as SweeperParts;
  await commit(() => {
    addMessage(sms, 2, { message: { workspaceId: addWorkspace(sms, 10) } });
    of.db.orm.update(smsSegments).set({ link: "a" }).run();
    sms.forget(null);
  });
  await new Sweeper(parts).sweep();
  await turn();
  expect(bugs).toBe(1);
  expect(sms.segments.of(1).map(({ link }) => link)).toEqual([null, null]);
});
