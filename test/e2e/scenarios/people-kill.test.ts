// kill -9 while people are invited, join, sign in and out, get other roles and are removed. Nobody is half there at any
// start: what was answered holds, a cookie works if and only if its row is there, and each change has its audit entry.
import { expect, setDefaultTimeout, test } from "bun:test";
import { seeded } from "../../support/db/temporary.ts";
import { spawnPombo, within } from "./child.ts";
import { withCopy } from "./stored.ts";
import { bugsOf, createWorld, type Served, type World } from "./world.ts";

const ROUNDS = Number(process.env["ROUNDS"] ?? 5);
const SEED = Number(process.env["SEED"] ?? Date.now() % 1_000_000);
const CLIENTS = 4;
/** A kill comes at most so many answers after a start, or so long after the process was made. */
const LATEST = { answers: 80, bootMs: 400 };
const ROUND_LIMIT_MS = 30_000;
const PASSWORD = "quatro pombos no telhado";

setDefaultTimeout((ROUNDS + 3) * ROUND_LIMIT_MS);

type Role = "admin" | "member" | "viewer";
type Step = "invite" | "withdraw" | "join" | "sign in" | "change" | "sign out" | "remove";

/** A person as the answers told of them. */
interface Person {
  email: string;
  /** Of the invitation's link. */
  token: string | null;
  isLinkOpen: boolean;
  isMember: boolean;
  role: Role;
  /** Of the session; null: none. */
  cookie: string | null;
  /** Of sessions that ended. */
  ended: string[];
  /** Asked for, and not answered: it is done, or it is not. */
  pending: Step | null;
}

interface Owner {
  workspace: string;
  cookie: string;
}

test("nobody is half there, whenever kill -9 comes between the steps of many people", async () => {
  console.log(`people: ${ROUNDS} rounds, SEED=${SEED}`);
  const random = seeded(SEED);
  await using world = await createWorld({ mxPort: 1 });
  let serving = Promise.withResolvers<Served>();
  const owner = await makeOwner(world);
  const crowd = startCrowd(owner, random, async () => (await serving.promise).url);
  let checked = 0;
  let rows = readAccess(world);
  /** Those who came since the start before, and of whom nothing is asked any more. */
  const expectNewTrue = async ({ url }: Served) => {
    await expectTrue(crowd.people.slice(checked), { url, rows });
    checked = crowd.people.length;
  };

  for (let round = 0; round < ROUNDS; round += 1) {
    if (random() < 0.25) {
      await using process = spawnPombo(["serve", "--config", world.configFile]);
      await Bun.sleep(Math.floor(random() * LATEST.bootMs));
      process.signal("SIGKILL");
      await process.ended;
      continue;
    }
    await using process = await world.serve();
    await expectNewTrue(process);
    serving.resolve(process);
    const target = crowd.answers + 1 + Math.floor(random() * LATEST.answers);
    await within(ROUND_LIMIT_MS, "answers", Promise.race([crowd.until(target), crowd.ended]));
    serving = Promise.withResolvers<Served>();
    process.signal("SIGKILL");
    await process.ended;
    await within(ROUND_LIMIT_MS, "the requests that were cut off", Promise.race([crowd.idle(), crowd.ended]));
    expect(bugsOf(process)).toEqual([]);
    expect([round, findHalves(world)]).toEqual([round, NO_HALVES]);
    rows = readAccess(world);
  }

  await using last = await world.serve();
  await expectNewTrue(last);
  serving.resolve(last);
  await within(ROUND_LIMIT_MS, "more answers", Promise.race([crowd.until(crowd.answers + 40), crowd.ended]));
  crowd.stop();
  await within(ROUND_LIMIT_MS, "the last answers", crowd.ended);
  last.signal("SIGTERM");
  expect(await last.ended).toEqual({ code: 0, signal: null });
  expect([bugsOf(last), findHalves(world)]).toEqual([[], NO_HALVES]);
  rows = readAccess(world);
  await using again = await world.serve();
  await expectTrue(crowd.people, { url: again.url, rows });
  const cutOff = crowd.people.filter(({ pending }) => pending !== null);
  console.log(`people: ${crowd.people.length}, ${crowd.answers} answers, ${cutOff.length} steps cut off`);
  expect(crowd.people.length).toBeGreaterThan(5);
});

interface Ask {
  method?: string;
  body?: object;
  cookie?: string | null;
  /** Of a workspace. */
  key?: string;
  workspace?: string;
}

/** A request of the dashboard's page. Rejects when no whole answer came. */
async function ask(url: string, path: string, { method = "POST", body, cookie, key, workspace }: Ask) {
  const response = await fetch(`${url}/api/v1${path}`, {
    method,
    headers: {
      "sec-fetch-site": "same-origin",
      ...(key === undefined ? {} : { "x-api-key": key }),
      ...(typeof cookie === "string" ? { cookie: `pombo-session=${cookie}` } : {}),
      ...(workspace === undefined ? {} : { "pombo-workspace": workspace }),
      ...(body === undefined ? {} : { "content-type": "application/json" }),
    },
    ...(body === undefined ? {} : { body: JSON.stringify(body) }),
    signal: AbortSignal.timeout(ROUND_LIMIT_MS),
  });
  const text = await response.text();
  const set = /^pombo-session=([\w-]+)/.exec(response.headers.getSetCookie()[0] ?? "")?.[1] ?? null;
  return { status: response.status, text, data: JSON.parse(text).data, cookie: set };
}

/** The first owner of the workspace, signed in for the whole run. */
async function makeOwner(world: World): Promise<Owner> {
  await using served = await world.serve();
  const { url } = served;
  const own = { key: world.key };
  const workspace = await ask(url, "/workspace", { ...own, method: "GET" });
  const email = "ana@example.net";
  const invited = await ask(url, "/workspace/invitations", { ...own, body: { email, role: "owner" } });
  const body = { token: tokenOf(invited.data.url), email, name: "Ana", password: PASSWORD };
  const used = await ask(url, "/auth/links/use", { body });
  if (used.cookie === null) throw new Error(`there is no owner: ${used.text}`);
  served.signal("SIGTERM");
  await served.ended;
  return { workspace: workspace.data.id, cookie: used.cookie };
}

const tokenOf = (url: string): string => url.split("#")[1] ?? "";

class CutOff extends Error {}

/** Clients that have person after person come, change and go, by the hand of the owner. */
function startCrowd(owner: Owner, random: () => number, urlOf: () => Promise<string>) {
  const people: Person[] = [];
  const watchers = new Set<() => void>();
  let [answers, running, isOver] = [0, 0, false];
  const look = () => {
    for (const watcher of watchers) watcher();
  };
  const until = (isTrue: () => boolean) =>
    new Promise<void>((resolve) => {
      const watcher = () => {
        if (!isTrue()) return;
        watchers.delete(watcher);
        resolve();
      };
      watchers.add(watcher);
      watcher();
    });
  const actorOf = (person: Person, url: string) => async (step: Step, path: string, request: Ask) => {
    person.pending = step;
    const answer = await ask(url, path, request).catch((error: unknown) => {
      throw new CutOff(step, { cause: error });
    });
    const wanted = step === "invite" ? 201 : 200;
    expect([person.email, step, answer.status, answer.text]).toEqual([person.email, step, wanted, answer.text]);
    person.pending = null;
    answers += 1;
    look();
    return answer;
  };
  const runClient = async () => {
    while (!isOver) {
      const url = await urlOf();
      const person = newPerson(`person${people.length}@example.net`);
      people.push(person);
      running += 1;
      try {
        await live(person, actorOf(person, url), { owner, random });
      } catch (error) {
        if (!(error instanceof CutOff)) throw error;
      } finally {
        running -= 1;
        look();
      }
    }
  };
  const ended = Promise.all(Array.from({ length: CLIENTS }, runClient));
  ended.catch(() => undefined); // each wait has it beside it
  return {
    people,
    ended,
    get answers() {
      return answers;
    },
    until: (target: number) => until(() => answers >= target),
    /** Nobody waits for an answer of the process that is gone. */
    idle: () => until(() => running === 0),
    stop: () => void (isOver = true),
  };
}

function newPerson(email: string): Person {
  const account = { token: null, isLinkOpen: false, isMember: false, role: "member", cookie: null } as const;
  return { email, ...account, ended: [], pending: null };
}

type Act = (step: Step, path: string, request: Ask) => ReturnType<typeof ask>;

/** From the invitation on; each answer is noted. */
async function live(person: Person, act: Act, { owner, random }: { owner: Owner; random: () => number }) {
  const { email, role } = person;
  const invited = await act("invite", "/workspace/invitations", { ...owner, body: { email, role } });
  Object.assign(person, { token: tokenOf(invited.data.url), isLinkOpen: true });
  if (random() < 0.15) {
    await act("withdraw", `/workspace/invitations/${invited.data.id}`, { ...owner, method: "DELETE" });
    person.isLinkOpen = false;
    return;
  }
  const account = { token: person.token, email, name: "P.", password: PASSWORD };
  const joined = await act("join", "/auth/links/use", { body: account });
  Object.assign(person, { isLinkOpen: false, isMember: true, cookie: joined.cookie });
  if (random() < 0.6) {
    const { cookie } = await act("sign in", "/auth/session", {
      body: { email, password: PASSWORD },
      cookie: person.cookie,
    });
    if (person.cookie !== null) person.ended.push(person.cookie);
    person.cookie = cookie;
  }
  const path = `/workspace/members/${joined.data.user.id}`;
  for (const next of ["viewer", "admin"] as const) {
    await act("change", path, { ...owner, method: "PATCH", body: { role: next } });
    person.role = next;
  }
  if (random() < 0.4) {
    await act("sign out", "/auth/session", { method: "DELETE", cookie: person.cookie });
    if (person.cookie !== null) person.ended.push(person.cookie);
    person.cookie = null;
  }
  if (random() < 0.4) {
    await act("remove", path, { ...owner, method: "DELETE" });
    person.isMember = false;
  }
}

/** Rows that make a half of something, by what is wrong with them. Everybody came by an invitation and uses one browser. */
const HALVES = {
  "users who can sign in by nothing": `SELECT email FROM user WHERE password_hash IS NULL
    AND id NOT IN (SELECT user_id FROM passkey) AND id NOT IN (SELECT user_id FROM link WHERE user_id IS NOT NULL)`,
  "users who joined nothing": `SELECT email FROM user
    WHERE id NOT IN (SELECT accepted_by FROM invitation WHERE accepted_at IS NOT NULL)`,
  "users without their audit": `SELECT email FROM user
    WHERE 1 <> (SELECT COUNT(*) FROM audit WHERE action = 'account.created' AND user_id = user.id)`,
  "audit of users who are not there": `SELECT actor FROM audit
    WHERE action = 'account.created' AND user_id NOT IN (SELECT id FROM user)`,
  "memberships without user or workspace": `SELECT user_id FROM membership
    WHERE user_id NOT IN (SELECT id FROM user) OR workspace_id NOT IN (SELECT id FROM workspace)`,
  "accepted invitations without just one membership or removal": `SELECT email FROM invitation i WHERE accepted_at IS NOT NULL
    AND 1 <> (SELECT COUNT(*) FROM membership m WHERE m.user_id = i.accepted_by AND m.workspace_id = i.workspace_id)
           + (SELECT COUNT(*) FROM audit WHERE action = 'member.removed' AND target = i.email)`,
  "invitations accepted without audit, or the other way round": `SELECT email FROM invitation i
    WHERE (accepted_at IS NOT NULL) <> (SELECT COUNT(*) FROM audit WHERE action = 'member.joined' AND user_id = i.accepted_by)`,
  "invitations without audit": `SELECT email FROM invitation i
    WHERE 1 <> (SELECT COUNT(*) FROM audit WHERE action = 'invitation.created' AND target = i.email)`,
  "audit of invitations that are not there, but for the withdrawn": `SELECT target FROM audit a WHERE action = 'invitation.created'
    AND 1 <> (SELECT COUNT(*) FROM invitation WHERE email = a.target)
           + (SELECT COUNT(*) FROM audit WHERE action = 'invitation.withdrawn' AND target = a.target)`,
  "roles that the audit does not tell": `SELECT email FROM user JOIN membership m ON m.user_id = user.id
    WHERE m.role <> COALESCE(
      (SELECT detail ->> 'after' FROM audit WHERE action = 'member.role_changed' AND target = user.email ORDER BY id DESC LIMIT 1),
      (SELECT role FROM invitation WHERE accepted_by = user.id))`,
  "sessions that the audit does not tell": `SELECT email FROM user
    WHERE (SELECT COUNT(*) FROM session WHERE user_id = user.id) <> COALESCE((SELECT action = 'session.started' FROM audit
      WHERE action LIKE 'session.%' AND user_id = user.id ORDER BY id DESC LIMIT 1), 0)`,
};

type Halves = Record<string, unknown[]>;

const NO_HALVES: Halves = Object.fromEntries(Object.keys(HALVES).map((what) => [what, []]));

/** The process must be gone. */
function findHalves({ dataDir }: World): Halves {
  return withCopy(dataDir, (database) =>
    Object.fromEntries(Object.entries(HALVES).map(([what, sql]) => [what, database.query(sql).all()])),
  );
}

interface Access {
  /** SHA-256 of the cookies. */
  sessions: Set<string>;
  /** Of members, by their addresses. */
  roles: Map<string, string>;
}

/** The process must be gone. */
function readAccess({ dataDir }: World): Access {
  return withCopy(dataDir, (database) => {
    const read = <Row>(sql: string) => database.query<Row, []>(sql).all();
    const members = read<{ email: string; role: string }>(
      "SELECT email, role FROM user JOIN membership ON user_id = id",
    );
    const sessions = read<{ hash: string }>("SELECT hash FROM session");
    return {
      sessions: new Set(sessions.map(({ hash }) => hash)),
      roles: new Map(members.map(({ email, role }) => [email, role])),
    };
  });
}

/** What was answered is so, and what was not answered is done or not. */
async function expectTrue(people: Person[], { url, rows }: { url: string; rows: Access }): Promise<void> {
  const forged = Buffer.alloc(32, 7).toString("base64url");
  expect((await ask(url, "/auth/me", { method: "GET", cookie: forged })).status).toBe(401);
  const works = async (cookie: string) => {
    const { status } = await ask(url, "/auth/me", { method: "GET", cookie });
    // By its row, and by nothing else.
    expect(status).toBe(rows.sessions.has(Bun.SHA256.hash(cookie, "hex")) ? 200 : 401);
    return status === 200;
  };
  for (const { email, pending, cookie, ended, token, ...person } of people) {
    const role = rows.roles.get(email) ?? null;
    const expected: (string | null)[] = [person.isMember ? person.role : null];
    if (pending === "join") expected.push(person.role);
    if (pending === "change") expected.push(person.role === "member" ? "viewer" : "admin");
    if (pending === "remove") expected.push(null);
    expect([email, pending, expected, expected.includes(role)]).toEqual([email, pending, expected, true]);
    const mayHaveEnded = pending === "sign in" || pending === "sign out";
    if (cookie !== null)
      expect([email, pending, (await works(cookie)) || mayHaveEnded]).toEqual([email, pending, true]);
    for (const old of ended) expect([email, await works(old)]).toEqual([email, false]);
    if (token === null) continue;
    const { status } = await ask(url, "/auth/links/inspect", { body: { token } });
    const isUnsure = pending === "withdraw" || pending === "join";
    const statuses = isUnsure ? [200, 410] : [person.isLinkOpen ? 200 : 410];
    expect([email, pending, statuses, statuses.includes(status)]).toEqual([email, pending, statuses, true]);
  }
}
