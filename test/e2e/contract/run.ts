// The contract run: Schemathesis makes requests from the document of a running sandbox, valid and broken
// ones, and holds every answer against it: no 500, no status, header or member that the document does not
// name, nothing accepted that it forbids. It is given the things that paths name (seeds.ts), and every
// operation must have been answered with 2xx at least once. Exit code 1: something was found; 2: this
// machine cannot run it. CONTRACT_EXAMPLES (25) is how many requests it makes up for an operation in each
// phase, CONTRACT_SEED (1) what it draws them from.

import { mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { Checks } from "../interop/checks.ts";
import { openTalk } from "../../support/inbound/kit.ts";
import { findPombo } from "../../support/peers/pombo.ts";
import { makeFolder, runProgram, runShown, type Cleanup } from "../../support/peers/process.ts";
import { type Sandbox, startSandbox } from "../../support/peers/sandbox.ts";
import { checkClients } from "./clients.ts";
import { isForPeople } from "../../integration/api/documented-routes.ts";
import { ensureSchemathesis, type Schemathesis } from "./environment.ts";
import { hasSuccess, parseReport, statusesOf } from "./report.ts";
import { type Caller, LAST, seed, type World } from "./seeds.ts";

/** JSON whose shape the caller knows from the interface. */
// oxlint-disable-next-line no-explicit-any
type Json = any;

/** Of those for people, what a session can ask for again and again. */
const BY_SESSION = new Set([
  "GET /api/v1/auth/me",
  "PATCH /api/v1/auth/me",
  "GET /api/v1/auth/passkeys",
  "GET /api/v1/auth/sessions",
  "DELETE /api/v1/auth/sessions",
]);

await runProgram(async (cleanup) => {
  if (process.argv.length > 2) {
    console.error("usage: [CONTRACT_EXAMPLES=25] [CONTRACT_SEED=1] script/contract");
    return 2;
  }
  const schemathesis = await ensureSchemathesis();
  if (typeof schemathesis === "string") {
    console.error(schemathesis);
    return 2;
  }
  const checks = new Checks();
  const folder = makeFolder("contract", cleanup);
  console.log(`app: ${findPombo().what}`);
  const [all] = await Promise.all([
    testRoutes({ name: "all", schemathesis, folder, checks, cleanup, choose: isForAll }),
    checkClients({ folder: join(folder, "clients"), checks, cleanup }),
  ]);
  // What takes the key away that the others need has a sandbox of its own.
  for (const route of all.filter((each) => LAST.has(each)))
    await testRoutes({ name: "last", schemathesis, folder, checks, cleanup, choose: (each) => each === route });
  return checks.finish();
});

/** The rest of sign-in is a ceremony, whose answers test/integration/people/documented.test.ts holds against the document. */
function isForAll(route: string): boolean {
  // An answer that never ends.
  if (route.endsWith("/live")) return false;
  // The sandbox has no certificate authority; test/e2e/scenarios/tls.test.ts asks a real one.
  if (route === "POST /api/v1/operator/tls/renew") return false;
  // Nor anybody who is told what is wrong; test/integration/server/alert-test.test.ts sends tests.
  if (route === "POST /api/v1/operator/alerts/test") return false;
  return BY_SESSION.has(route) || (!LAST.has(route) && !isForPeople(route));
}

interface Run {
  name: string;
  schemathesis: Schemathesis;
  folder: string;
  checks: Checks;
  cleanup: Cleanup;
  choose: (route: string) => boolean;
}

/** Tests the chosen routes against a sandbox of their own. @returns all routes of the document */
async function testRoutes({ name, schemathesis, folder, checks, cleanup, choose }: Run): Promise<string[]> {
  const place = join(folder, name);
  mkdirSync(place);
  const part = cleanup.part();
  const sandbox = await startSandbox(join(place, "sandbox.log"), part);
  const document = await (await fetch(`${sandbox.url}/api/v1/openapi.json`)).json();
  const routes = routesOf(document);
  const chosen = routes.filter(choose);
  const unseeded = await addSeeds(document, chosen, worldOf(sandbox));
  const file = join(place, "openapi.json");
  writeFileSync(file, JSON.stringify(closed(document)));
  const report = join(place, "report.ndjson");
  const exitCode = await runShown(
    [...schemathesis.command, ...argumentsFor({ file, report, url: sandbox.url, routes, choose })],
    { cwd: place, env: { ...schemathesis.env, ...(await environmentFor(sandbox)) } },
  );
  const found = parseReport(readFileSync(report, "utf8"));
  checks.claim(
    `${name}: Schemathesis finds nothing in ${found.requests} requests`,
    exitCode === 0 && found.isWhole,
    () => (exitCode === 0 ? "it did not go through all its phases" : "what it found is above"),
  );
  for (const route of chosen) {
    const why = unseeded.get(route) ?? "no 2xx: its example or its seed does not work";
    checks.claim(`${route}: ${statusesOf(found, route)}`, hasSuccess(found, route) && !unseeded.has(route), () => why);
  }
  const bugs = sandbox.process
    .output()
    .split("\n")
    .filter((line) => line.includes("internal error in"));
  checks.equal(`${name}: pombo tells of no fault of its own`, bugs, []);
  await part.close();
  return routes;
}

function routesOf(document: Json): string[] {
  return Object.entries<Json>(document.paths).flatMap(([path, methods]) =>
    Object.keys(methods).map((method) => `${method.toUpperCase()} ${path}`),
  );
}

/** Gives every path its parameters, as examples in the document. @returns why a route has none, by route */
async function addSeeds(document: Json, routes: string[], world: World): Promise<Map<string, string>> {
  const unseeded = new Map<string, string>();
  for (const route of routes) {
    const [method = "", path = ""] = route.split(" ");
    try {
      const parameters = await seed(route, world);
      for (const parameter of document.paths[path][method.toLowerCase()].parameters ?? []) {
        const value = parameter.in === "path" ? parameters[parameter.name] : undefined;
        if (value !== undefined) parameter.examples = { seed: { value } };
      }
    } catch (error) {
      unseeded.set(route, (error as Error).message);
    }
  }
  return unseeded;
}

/**
 * The document with no members but those that it names. As it is served its answers may have more, so that clients made
 * from it go on when one is added; here an answer with a member that is not described is a fault. Without the examples of
 * objects: Schemathesis 4.32.5 takes what they have for required, and bodies have examples beside their schemas.
 */
function closed(schema: Json): Json {
  if (Array.isArray(schema)) return schema.map(closed);
  if (typeof schema !== "object" || schema === null) return schema;
  const isOfMembers = schema.type === "object" && Object.keys(schema.properties ?? {}).length > 0;
  const members = Object.entries<Json>(schema).flatMap(([name, value]) => {
    const isValue = name === "example" || name === "examples";
    return isOfMembers && isValue ? [] : [[name, isValue ? value : closed(value)]];
  });
  return { ...(isOfMembers ? { additionalProperties: false } : {}), ...Object.fromEntries(members) };
}

function worldOf({ url, apiKey, operatorKey, workspaceId, domain, inbound }: Sandbox): World {
  const callers = { workspace: callerOf(url, apiKey), operator: callerOf(url, operatorKey) };
  const addMember = async () => (await joinWorkspace(url, callers.workspace)).id;
  return { ...callers, workspaceId, domain, addMember, bringMail: () => mailPostmaster(Number(inbound.split(":")[1])) };
}

async function mailPostmaster(port: number): Promise<void> {
  using talk = await openTalk(port);
  await talk.message("postmaster");
  const reply = await talk.say("From: somebody@example.net\r\nSubject: Hello\r\n\r\nHello\r\n.");
  if (!reply.startsWith("250 ")) throw new Error(`mail to postmaster: ${reply}`);
}

function callerOf(url: string, key: string): Caller {
  return {
    async call(method, path, body) {
      const answer = await fetch(url + path, {
        method,
        headers: { "x-api-key": key, ...(body === undefined ? {} : { "content-type": "application/json" }) },
        ...(body === undefined ? {} : { body: JSON.stringify(body) }),
      });
      return { status: answer.status, body: await answer.json() };
    },
  };
}

interface Plan {
  file: string;
  report: string;
  url: string;
  routes: string[];
  choose: (route: string) => boolean;
}

function argumentsFor({ file, report, url, routes, choose }: Plan): string[] {
  const others = routes.filter((route) => !choose(route)).flatMap((route) => ["--exclude-name", route]);
  return [
    ...["--config-file", join(import.meta.dir, "schemathesis.toml"), "run", file, "--url", url, ...others],
    // Of one operation no answer leads to another.
    ...(routes.filter(choose).length > 1 ? [] : ["--phases", "examples,coverage,fuzzing"]),
    ...["--seed", process.env["CONTRACT_SEED"] ?? "1", "--max-examples", process.env["CONTRACT_EXAMPLES"] ?? "25"],
    ...["--generation-database", "none", "--report-ndjson-path", report, "--no-color"],
  ];
}

/** A person who opens an invitation to the workspace, with the token of their session. */
async function joinWorkspace(url: string, workspace: Caller): Promise<{ id: string; session: string }> {
  const email = `person.${crypto.randomUUID()}@example.net`;
  const invited = await workspace.call("POST", "/api/v1/workspace/invitations", { email, role: "admin" });
  const token = String(invited.body.data?.url).split("#")[1];
  const answer = await fetch(`${url}/api/v1/auth/links/use`, {
    method: "POST",
    headers: { "content-type": "application/json", "sec-fetch-site": "same-origin" },
    body: JSON.stringify({ token, email, name: "Person", password: `quatro pombos ${crypto.randomUUID()}` }),
  });
  if (answer.status !== 200) throw new Error(`nobody joined: ${answer.status} ${await answer.text()}`);
  const session = /pombo-session=([\w-]+)/.exec(answer.headers.get("set-cookie") ?? "")?.[1] ?? "";
  return { id: ((await answer.json()) as Json).data.user.id, session };
}

/** The keys, and the ids of what the requests need: hooks.py keeps them. */
async function environmentFor(sandbox: Sandbox): Promise<Record<string, string>> {
  const { workspace } = worldOf(sandbox);
  const idsOf = async (path: string): Promise<string[]> =>
    ((await workspace.call("GET", path)).body.data ?? []).map(({ id }: { id: string }) => id);
  const [own = ""] = (await idsOf("/api/v1/domains?limit=100")).slice(-1);
  const [key = ""] = (await idsOf("/api/v1/auth/keys?limit=100")).slice(-1);
  const person = await joinWorkspace(sandbox.url, workspace);
  return {
    PYTHONDONTWRITEBYTECODE: "1",
    CONTRACT_HOOKS: join(import.meta.dir, "hooks.py"),
    CONTRACT_KEY: sandbox.apiKey,
    CONTRACT_OPERATOR_KEY: sandbox.operatorKey,
    CONTRACT_SESSION: person.session,
    CONTRACT_PROTECTED: [sandbox.workspaceId, own, key, person.id].join(" "),
  };
}
