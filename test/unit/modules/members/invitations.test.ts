// Invitations against a model: whatever happens in whatever order, a link lets one person in, once, while it is open.

import { expect, test } from "bun:test";
import { defaultConfig } from "../../../../src/config/config.ts";
import { createAudit } from "../../../../src/modules/audit/index.ts";
import { openAuditStore } from "../../../../src/modules/audit/store.ts";
import { openInvitationStore } from "../../../../src/modules/members/invitation-store.ts";
import {
  acceptInvitation,
  createInvitation,
  findInvitation,
  type InviteDeps,
  renewInvitation,
  withdrawInvitation,
} from "../../../../src/modules/members/invite.ts";
import { openMemberStore } from "../../../../src/modules/members/store.ts";
import { openWorkspaceStore } from "../../../../src/modules/workspaces/store.ts";
import { AppError } from "../../../../src/platform/errors.ts";
import { authenticate, type Caller } from "../../../../src/platform/http/auth.ts";
import { systemRandom } from "../../../../src/platform/random.ts";
import { seeded, temporaryDatabase } from "../../../support/db/temporary.ts";
import { fakeClock } from "../../../support/fakes/clock.ts";

const DAY_MS = 24 * 60 * 60_000;
const MEMBER_LIMIT = 4;
const PEOPLE = 8;

function open() {
  const opened = temporaryDatabase();
  const { db, committer } = opened;
  const clock = fakeClock(1_000 * DAY_MS);
  const { commit } = committer;
  const context = { commit, commitHere: commit, clock, random: systemRandom };
  const plan = defaultConfig({ hostname: "mail.pombo.test", dataDir: "/x" }).plans["launch"];
  if (plan === undefined) throw new Error("there is no plan launch");
  const workspaces = openWorkspaceStore(db);
  workspaces.insert({ uid: "w", name: "Loja", plan: "launch", createdAt: 1 });
  for (let id = 1; id <= PEOPLE; id += 1)
    db.sqlite.run("INSERT INTO user (id, uid, email, name, created_at) VALUES (?, ?, ?, ?, 1)", [
      ...[id, `u${id}`, `u${id}@example.com`, `U${id}`],
    ]);
  const { recordAudit } = createAudit(
    { ...context, steady: clock, log: { event() {}, error() {} }, guard: { failure: null, whenOpen: () => () => {} } },
    { audit: openAuditStore(db) },
    { findNetwork: () => null, retentionMs: DAY_MS },
  );
  const mailed: string[] = [];
  const deps: InviteDeps = {
    ...context,
    workspaces,
    recordAudit,
    members: openMemberStore(db),
    invitations: openInvitationStore(db),
    findPlan: () => ({ ...plan, members: MEMBER_LIMIT }),
    sendSystemMail: ({ text }) => mailed.push(text) > 0,
    mayMail: () => true,
    findPlace: () => ({ origin: "http://localhost:8080" }),
    publicUrl: "https://mail.example.net",
    hostname: "mail.example.net",
  };
  return { ...opened, clock, deps, mailed };
}

function requestOf(caller: Caller): Request {
  const request = new Request("http://localhost/api/v1/workspace/invitations");
  const rules = { isOpen: () => false, isForOperator: () => false, findPerson: () => caller };
  authenticate(request, () => null, rules);
  return request;
}

const OPERATOR = {
  kind: "member",
  userId: 1,
  sessionId: 1,
  workspaceId: 1,
  role: "operator",
  hasFreshProof: true,
} as const;
const BY = { request: requestOf(OPERATOR), workspaceId: 1 };

async function codeOf(run: () => unknown): Promise<string> {
  try {
    await run();
    return "done";
  } catch (error) {
    if (error instanceof AppError) return error.code;
    throw error;
  }
}

/** One invitation as the model knows it. */
interface Modelled {
  uid: string;
  email: string;
  token: string;
  expiresAt: number;
}

const tokenOf = ({ url }: { url: string }) => url.split("#")[1] ?? "";

test.each([1, 3, 4])("a link lets one person in, once, while it is open (seed %d)", async (seed) => {
  using world = open();
  const { clock, deps, committer } = world;
  const random = seeded(seed);
  const pick = <T>(all: readonly T[]) => all[Math.floor(random() * all.length)];
  let open_: Modelled[] = [];
  /** Every token that ever was and does not work any more. */
  const dead: string[] = [];
  const members = new Set<number>();
  const isOpen = ({ expiresAt }: Modelled) => expiresAt > clock.now();
  const isFull = () => members.size + open_.filter(isOpen).length >= MEMBER_LIMIT;
  const accept = (token: string, userId: number) =>
    codeOf(() => committer.commit(() => acceptInvitation({ token, userId, request: BY.request }, deps)));
  const seen = new Set<string>();

  const steps: Record<string, () => Promise<void>> = {
    async create() {
      const number = 1 + Math.floor(random() * PEOPLE);
      const email = `u${number}@example.com`;
      const replaced = open_.filter((each) => each.email === email);
      const others = open_.filter((each) => each.email !== email);
      const room = members.size + others.filter(isOpen).length < MEMBER_LIMIT;
      let made: Awaited<ReturnType<typeof createInvitation>> | null = null;
      const code = await codeOf(async () => (made = await createInvitation(BY, { email, role: "member" }, deps)));
      expect(code).toBe(members.has(number) ? "ALREADY_MEMBER" : room ? "done" : "PLAN_LIMIT_REACHED");
      seen.add(`create ${code}`);
      if (made === null) return;
      const { invitation, ...link } = made as Awaited<ReturnType<typeof createInvitation>>;
      dead.push(...replaced.map(({ token }) => token));
      open_ = [...others, { uid: invitation.uid, email, token: tokenOf(link), expiresAt: clock.now() + 7 * DAY_MS }];
    },
    async renew() {
      const one = pick(open_);
      if (one === undefined) return;
      const wasFull = !isOpen(one) && isFull();
      const code = await codeOf(async () => {
        const { url } = await renewInvitation(BY, one.uid, deps);
        dead.push(one.token);
        Object.assign(one, { token: tokenOf({ url }), expiresAt: clock.now() + 7 * DAY_MS });
      });
      expect(code).toBe(wasFull ? "PLAN_LIMIT_REACHED" : "done");
      seen.add(`renew ${code}`);
    },
    async withdraw() {
      const one = pick(open_);
      if (one === undefined) return;
      expect(await codeOf(() => withdrawInvitation(BY, one.uid, deps))).toBe("done");
      open_ = open_.filter((each) => each !== one);
      dead.push(one.token);
      expect(await codeOf(() => withdrawInvitation(BY, one.uid, deps))).toBe("NOT_FOUND");
    },
    async accept() {
      const one = pick(open_);
      const userId = 1 + Math.floor(random() * PEOPLE);
      if (one === undefined) return;
      const code = await accept(one.token, userId);
      expect(code).toBe(isOpen(one) ? (members.has(userId) ? "ALREADY_MEMBER" : "done") : "LINK_USED");
      seen.add(`accept ${code}`);
      if (code !== "done") return;
      members.add(userId);
      open_ = open_.filter((each) => each !== one);
      dead.push(one.token);
    },
    async twoAtOnce() {
      const one = pick(open_);
      const pair = [1, 2, 3, 4, 5, 6, 7, 8].filter((id) => !members.has(id)).slice(0, 2);
      if (one === undefined || !isOpen(one) || pair.length < 2) return;
      const codes = await Promise.all(pair.map((userId) => accept(one.token, userId)));
      expect(codes.toSorted()).toEqual(["LINK_USED", "done"]);
      members.add(pair[codes.indexOf("done")] ?? 0);
      open_ = open_.filter((each) => each !== one);
      dead.push(one.token);
      seen.add("two at once");
    },
    async leave() {
      const [userId] = [...members];
      if (userId === undefined) return;
      const uid = `u${userId}`;
      await committer.commit(() => {
        const member = deps.members.byUid(1, uid);
        if (member !== undefined) deps.members.delete(member);
      });
      members.delete(userId);
    },
    async wait() {
      clock.advance(Math.floor(random() * 8 * DAY_MS));
    },
  };

  // Most of all are made, so that the plan's limit is reached.
  const drawn = [...Object.values(steps), steps["create"], steps["create"], steps["create"]];
  for (let turns = 0; turns < 200; turns += 1) {
    await pick(drawn)?.();
    for (const one of open_)
      expect(findInvitation(one.token, deps)?.email ?? null).toBe(isOpen(one) ? one.email : null);
    for (const token of dead.slice(-20)) expect(findInvitation(token, deps)).toBeUndefined();
    expect(deps.members.countForWorkspace(1)).toBe(members.size);
    expect(deps.invitations.countOpen(1, clock.now())).toBe(open_.filter(isOpen).length);
  }
  for (const token of dead) expect(await accept(token, 1)).toBe("LINK_USED");
  for (const outcome of ["create done", "create PLAN_LIMIT_REACHED", "accept done", "accept LINK_USED", "two at once"])
    expect(seen).toContain(outcome);
});

test("the mail and the answer carry the same link, and the row only its hash", async () => {
  using world = open();
  const { deps, db, mailed } = world;
  const { url, mailed: isMailed } = await createInvitation(BY, { email: "rui@example.com", role: "viewer" }, deps);
  expect(url).toMatch(/^https:\/\/mail\.example\.net\/dashboard\/invite#[\w-]{43}$/);
  expect([isMailed, mailed.length, mailed[0]?.includes(url)]).toEqual([true, 1, true]);
  const rows = JSON.stringify(db.sqlite.query("SELECT * FROM invitation").all());
  expect(rows).not.toContain(tokenOf({ url }));
  expect(JSON.stringify(db.sqlite.query("SELECT * FROM audit").all())).not.toContain(tokenOf({ url }));
});

test("an invitation to a workspace that was deleted lets nobody in", async () => {
  using world = open();
  const { deps, db, committer } = world;
  const made = await createInvitation(BY, { email: "rui@example.com", role: "viewer" }, deps);
  await committer.commit(() => openWorkspaceStore(db).update(1, { deletedAt: 5 }));
  expect(findInvitation(tokenOf(made), deps)).toBeUndefined();
  expect(
    await codeOf(() =>
      committer.commit(() => acceptInvitation({ token: tokenOf(made), userId: 1, request: BY.request }, deps)),
    ),
  ).toBe("LINK_USED");
});

test("what is no token at all is no invitation", () => {
  using world = open();
  for (const token of ["", "x", "'; DROP TABLE invitation; --", "A".repeat(43)])
    expect(findInvitation(token, world.deps)).toBeUndefined();
});
