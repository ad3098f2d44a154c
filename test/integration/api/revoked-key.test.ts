import { connect, type Socket } from "node:net";
import { expect, test } from "bun:test";
import { NO_RATE_LIMITS } from "../../../src/config/config.ts";
import { type Instance, startInstance } from "../../support/fakes/instance.ts";
import { addPerson, type Person } from "../../support/people/member.ts";

/** A POST, by a key or with these headers, whose head and first byte are sent; `finish` sends the rest and gives the answer. */
async function beginPost(
  pombo: Instance,
  path: string,
  key: string | string[],
  body: object,
): Promise<{ finish(): Promise<string> }> {
  const text = JSON.stringify(body);
  const { hostname, port } = new URL(pombo.app.url);
  const socket: Socket = connect(Number(port), hostname);
  await new Promise<void>((resolve) => socket.once("connect", resolve));
  const proof = typeof key === "string" ? ["Host: pombo.test", `X-API-Key: ${key}`] : ["Host: localhost", ...key];
  const head = [`POST ${path} HTTP/1.1`, ...proof, "Content-Type: application/json"];
  socket.write(
    `${head.join("\r\n")}\r\nContent-Length: ${text.length}\r\nConnection: close\r\n\r\n${text.slice(0, 1)}`,
  );
  return {
    finish: () =>
      new Promise((resolve) => {
        let answer = "";
        socket.on("data", (chunk) => (answer += String(chunk)));
        socket.on("close", () => resolve(answer));
        socket.write(text.slice(1));
      }),
  };
}

test("a key that is deleted while a body comes is no key any more: neither for a new key nor for a send", async () => {
  await using pombo = await startInstance();
  const made = await pombo.workspace.call("POST", "/api/v1/auth/keys", { body: { name: "lost" } });
  const { id, key } = made.body.data;
  const keyPost = await beginPost(pombo, "/api/v1/auth/keys", key, { name: "again" });
  const emailPost = await beginPost(pombo, "/api/v1/emails", key, pombo.email());
  // Both heads have been read when this later request is answered.
  await pombo.workspace.call("GET", "/api/v1/auth/keys");
  expect((await pombo.workspace.call("DELETE", `/api/v1/auth/keys/${id}`)).status).toBe(200);
  for (const each of [keyPost, emailPost]) expect(await each.finish()).toStartWith("HTTP/1.1 401");
  expect((await pombo.workspace.call("GET", "/api/v1/auth/keys")).body.data).toHaveLength(1);
  expect(pombo.mx.messages).toHaveLength(0);
});

test("an operator key that was replaced while a body came makes nothing", async () => {
  await using pombo = await startInstance();
  const begun = await beginPost(pombo, "/api/v1/workspaces", pombo.operator.key, { name: "late" });
  await pombo.workspace.call("GET", "/api/v1/auth/keys");
  expect((await pombo.operator.call("POST", "/api/v1/operator/key/rotate")).status).toBe(200);
  expect(await begun.finish()).toStartWith("HTTP/1.1 401");
});

test("a person whose role is taken, or whose session ends, while a body comes changes nothing", async () => {
  await using pombo = await startInstance();
  const owner = addPerson(pombo, { role: "owner" });
  const invite = (person: Person) =>
    beginPost(
      pombo,
      "/api/v1/workspace/invitations",
      [
        `Cookie: pombo-session=${person.cookies.get("pombo-session")}`,
        "Sec-Fetch-Site: same-origin",
        `Pombo-Workspace: ${pombo.workspace.id}`,
      ],
      { email: "rui@example.com", role: "viewer" },
    );
  const [demoted, ended] = [addPerson(pombo, { role: "admin" }), addPerson(pombo, { role: "admin" })];
  const posts = [await invite(demoted), await invite(ended)];
  await owner.act("PATCH", `/api/v1/workspace/members/${demoted.id}`, { body: { role: "viewer" } });
  await ended.call("DELETE", "/api/v1/auth/session");
  const answers = await Promise.all(posts.map((post) => post.finish()));
  expect(answers.map((answer) => answer.slice(9, 12))).toEqual(["403", "401"]);
  expect((await owner.act("GET", "/api/v1/workspace/invitations")).body.data).toEqual([]);
});

test("with creation = open a key makes no more workspaces from an address than nobody does", async () => {
  await using pombo = await startInstance({
    configure(config) {
      config.workspaces.creation = "open";
      config.rateLimits = { ...NO_RATE_LIMITS, workspacesPerHour: 3 };
    },
  });
  const statuses: number[] = [];
  for (const key of [null, pombo.workspace.key, pombo.workspace.key, pombo.workspace.key, null]) {
    const { status } = await pombo.workspace.call("POST", "/api/v1/workspaces", { key, body: { name: "x" } });
    statuses.push(status);
  }
  expect(statuses).toEqual([201, 201, 201, 429, 429]);
  expect((await pombo.operator.call("POST", "/api/v1/workspaces", { body: { name: "x" } })).status).toBe(201);
});

test("a workspace's key at the operator's door is counted as any of its requests", async () => {
  await using pombo = await startInstance({
    configure: (config) => void (config.rateLimits = { ...NO_RATE_LIMITS, readsPerSecond: 1, readsBurst: 2 }),
  });
  const stranger = await pombo.newWorkspace();
  const statuses: number[] = [];
  for (let count = 0; count < 3; count += 1)
    statuses.push((await stranger.call("GET", "/api/v1/operator/workspaces")).status);
  expect(statuses).toEqual([403, 403, 429]);
});
