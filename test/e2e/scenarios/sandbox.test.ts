// `pombo dev` as a developer, or a test suite, uses it: one line of JSON to read, an inbox, recipients
// that behave on purpose, data that is kept when asked for and gone when not.
import { expect, setDefaultTimeout, test } from "bun:test";
import { mkdtempSync, readdirSync, rmSync, statSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { createTransport } from "nodemailer";
import { anotherPort } from "../../../src/cli/commands/dev/messages.ts";
import { openTalk } from "../../support/inbound/kit.ts";
import { freePort, waitUntil } from "../../support/peers/process.ts";
import { type Child, spawnPombo, within } from "./child.ts";
import { call } from "./world.ts";

setDefaultTimeout(60_000);

const LIMIT_MS = 10_000;
/** defer@ is taken at the third try: after 5 s and 10 s, ± 10 %. */
const DEFER_LIMIT_MS = 30_000;

interface Ready {
  dashboardUrl: string;
  url: string;
  apiKey: string;
  operatorKey: string;
  workspaceId: string;
  domain: string;
  inboxUrl: string;
  /** Host and port. */
  inbound: string;
  submission: string;
}

interface Scratch {
  folder: string;
  [Symbol.dispose](): void;
}

function scratch(): Scratch {
  const folder = mkdtempSync(join(tmpdir(), "pombo-sandbox-"));
  return { folder, [Symbol.dispose]: () => rmSync(folder, { recursive: true, force: true }) };
}

function spawnDev(folder: string, more: string[] = []): Child {
  return spawnPombo(["dev", "--json", "--port", "0", ...more], { env: { TMPDIR: folder } });
}

async function readyOf(dev: Child): Promise<Ready> {
  await dev.until("it is ready", () => dev.stdout().includes("\n"));
  return JSON.parse(dev.stdout()) as Ready;
}

async function interrupt(dev: Child): Promise<void> {
  dev.signal("SIGINT");
  expect(await within(LIMIT_MS, "the end", dev.ended)).toEqual({ code: 0, signal: null });
  expect(dev.stderr()).not.toContain("BUG");
}

async function send(ready: Ready, to: string, subject: string): Promise<string> {
  const body = { from: `Loja <loja@${ready.domain}>`, to, subject, html: `<h1>${subject}</h1>` };
  const answer = await call(ready.url, ready.apiKey, { method: "POST", path: "/api/v1/emails", body });
  expect(answer.status).toBe(202);
  return answer.body.data.id;
}

async function record(ready: Ready, id: string) {
  return (await call(ready.url, ready.apiKey, { path: `/api/v1/emails/${id}` })).body.data;
}

async function untilStatus(ready: Ready, id: string, status: string, limitMs = LIMIT_MS): Promise<void> {
  await waitUntil(`status ${status}`, limitMs, async () => (await record(ready, id)).status === status);
}

/** The inbox needs no key. */
async function inbox(ready: Ready, query = ""): Promise<Record<string, unknown>[]> {
  return (await fetch(`${ready.inboxUrl}/messages${query}`)).json() as Promise<Record<string, unknown>[]>;
}

test("pombo dev --json prints one line with what a test suite needs, delivers to its inbox over TLS with DKIM, and leaves nothing", async () => {
  using at = scratch();
  await using dev = spawnDev(at.folder);
  const ready = await readyOf(dev);
  expect(Object.keys(ready)).toEqual([
    "dashboardUrl",
    "url",
    "apiKey",
    "operatorKey",
    "workspaceId",
    "domain",
    "inboxUrl",
    "inbound",
    "submission",
  ]);
  expect(ready.inboxUrl).toBe(`${ready.url}/sandbox`);
  expect(ready.inbound).toMatch(/^127\.0\.0\.1:\d+$/);
  using talk = await openTalk(Number(ready.inbound.split(":")[1]));
  await talk.envelope("postmaster");
  expect(readdirSync(at.folder)).toHaveLength(1);
  expect(dev.stderr()).toBe("");

  const id = await send(ready, "maria@example.com", "Olá, Maria");
  await untilStatus(ready, id, "delivered");
  const [message, ...others] = await inbox(ready, "?to=maria@example.com");
  expect(others).toEqual([]);
  expect(message).toMatchObject({ to: "maria@example.com", subject: "Olá, Maria", dkim: "pass" });
  expect(message?.["tls"]).toStartWith("TLSv1.");
  const signatures = message?.["dkimSignatures"] as { result: string; algorithm: string; domain: string }[];
  expect(signatures.map(({ result, algorithm, domain }) => `${algorithm} ${domain} ${result}`).sort()).toEqual([
    `ed25519-sha256 ${ready.domain} pass`,
    `rsa-sha256 ${ready.domain} pass`,
  ]);
  // With the defaults of a library, which would upgrade to a TLS that it does not trust.
  const [host = "", port] = ready.submission.split(":");
  const transport = createTransport({ host, port: Number(port), auth: { user: "pombo", pass: ready.apiKey } });
  const handed = { from: `loja@${ready.domain}`, to: "ana@example.com", subject: "Por SMTP", text: "Olá" };
  const { response } = await transport.sendMail(handed);
  transport.close();
  const [, handedId = ""] = /^250 2\.0\.0 Accepted: (\S+)$/.exec(response) ?? [];
  await untilStatus(ready, handedId, "delivered");
  expect((await fetch(ready.inboxUrl)).status).toBe(200);
  expect((await fetch(ready.url, { redirect: "manual" })).headers.get("location")).toBe("/sandbox");
  const workspace = { method: "POST", path: "/api/v1/workspaces", body: { name: "Second" } };
  expect((await call(ready.url, ready.operatorKey, workspace)).status).toBe(201);

  await interrupt(dev);
  expect(dev.stdout().trimEnd().split("\n")).toHaveLength(1);
  expect(dev.stderr()).toContain(`delivered         ${id}  `);
  expect(dev.stderr()).toContain("Stopping …\n");
  expect(readdirSync(at.folder)).toEqual([]);
});

test("recipients behave on purpose: bounce@ is refused and shut out, slow@ takes its time, defer@ is taken at the third try, .invalid is not believed at once", async () => {
  using at = scratch();
  await using dev = spawnDev(at.folder);
  const ready = await readyOf(dev);
  const names = ["bounce@one.example", "slow@two.example", "defer+tag@three.example", "maria@nowhere.invalid"];
  const [bounce = "", slow = "", defer = "", missing = ""] = await Promise.all(names.map((to) => send(ready, to, to)));

  await untilStatus(ready, bounce, "bounced");
  expect(await record(ready, bounce)).toMatchObject({ bounce: { type: "permanent", category: "invalid_recipient" } });
  const again = { from: `a@${ready.domain}`, to: "bounce@one.example", subject: "again", text: "again" };
  expect((await call(ready.url, ready.apiKey, { method: "POST", path: "/api/v1/emails", body: again })).status).toBe(
    422,
  );
  await untilStatus(ready, missing, "delivery_delayed");
  expect((await record(ready, slow)).status).toBe("sending");
  await untilStatus(ready, slow, "delivered");
  await untilStatus(ready, defer, "delivery_delayed");
  await untilStatus(ready, defer, "delivered", DEFER_LIMIT_MS);
  expect(await record(ready, defer)).toMatchObject({ attempts: 3 });
  const kept = (await inbox(ready)).map((message) => message["to"]);
  expect(kept.sort()).toEqual(["defer+tag@three.example", "slow@two.example"]);
  await interrupt(dev);
});

test("bounces on purpose block nobody, however many a test suite makes", async () => {
  using at = scratch();
  await using dev = spawnDev(at.folder);
  const ready = await readyOf(dev);
  const ids = await Promise.all(Array.from({ length: 25 }, (_, n) => send(ready, `bounce+${n}@one.example`, `${n}`)));
  for (const id of ids) await untilStatus(ready, id, "bounced");
  await send(ready, "maria@example.com", "still open");
  await interrupt(dev);
});

/** A request of the dashboard's own page. */
function fromPage({ url }: Ready, path: string, body: object | null, headers: Record<string, string> = {}) {
  return fetch(`${url}/api/v1/${path}`, {
    method: body === null ? "GET" : "POST",
    headers: { "sec-fetch-site": "same-origin", "content-type": "application/json", ...headers },
    ...(body === null ? {} : { body: JSON.stringify(body) }),
  });
}

/** Opens a link to the dashboard; the session's cookie. */
async function signIn(ready: Ready, url: string): Promise<string> {
  const used = await fromPage(ready, "auth/links/use", { token: url.split("#")[1] });
  expect([url, used.status]).toEqual([url, 200]);
  return used.headers.getSetCookie()[0]?.split(";")[0] ?? "";
}

test("the first link signs in an operator who owns the workspace, once; the inbox's page and the next start give others", async () => {
  using at = scratch();
  const more = ["--data", join(at.folder, "kept")];
  const inspect = (ready: Ready, url: string) => fromPage(ready, "auth/links/inspect", { token: url.split("#")[1] });
  let old: string;
  {
    await using dev = spawnDev(at.folder, more);
    const ready = await readyOf(dev);
    old = ready.dashboardUrl;
    expect(old).toStartWith(`${ready.url.replace("127.0.0.1", "localhost")}/dashboard/`);
    const cookie = await signIn(ready, old);
    const me = (await (await fromPage(ready, "auth/me", null, { cookie })).json()) as { data: object };
    expect(me.data).toMatchObject({
      user: { isOperator: true },
      session: { method: "sandbox" },
      workspaces: [{ id: ready.workspaceId, role: "owner" }],
      instance: { isSandbox: true, canMail: true },
    });
    expect((await inspect(ready, old)).status).toBe(410);

    const form = { method: "POST", redirect: "manual" } as const;
    const led = await fetch(`${ready.inboxUrl}/dashboard`, { ...form, headers: { origin: ready.url } });
    expect(led.status).toBe(303);
    await signIn(ready, led.headers.get("location") ?? "");
    const foreign = { ...form, headers: { origin: "https://evil.example" } };
    expect((await fetch(`${ready.inboxUrl}/dashboard`, foreign)).status).toBe(403);

    // pombo's own mail comes to the inbox too, signed as it is from the sandbox's domain.
    const headers = { cookie, "pombo-workspace": ready.workspaceId };
    const body = { email: "rui@example.com", role: "member" };
    const invited = await fromPage(ready, "workspace/invitations", body, headers);
    expect(((await invited.json()) as { data: object }).data).toMatchObject({ mailed: true });
    await waitUntil("the invitation", LIMIT_MS, async () => (await inbox(ready, "?to=rui@example.com")).length === 1);
    const [mail] = await inbox(ready, "?to=rui@example.com");
    expect(mail).toMatchObject({ dkim: "pass", raw: expect.stringContaining(`${ready.url}/dashboard/invite#`) });
    await interrupt(dev);
  }
  await using dev = spawnDev(at.folder, more);
  const ready = await readyOf(dev);
  expect(ready.dashboardUrl.split("#")[1]).not.toBe(old.split("#")[1]);
  await signIn(ready, ready.dashboardUrl);
  await interrupt(dev);
});

test("with --data keys, emails and inbox are there again at the next run, after Ctrl-C and after a kill at any moment of a start", async () => {
  using at = scratch();
  const more = ["--data", join(at.folder, "kept")];
  // A first start that was cut off anywhere can be repeated.
  for (const afterMs of [30, 90, 200, 400]) {
    await using cut = spawnDev(at.folder, more);
    const { promise, resolve } = Promise.withResolvers<void>();
    setTimeout(resolve, afterMs);
    await promise;
    cut.signal("SIGKILL");
    await cut.ended;
  }
  let first: Ready;
  let id: string;
  {
    await using dev = spawnDev(at.folder, more);
    first = await readyOf(dev);
    id = await send(first, "maria@example.com", "kept");
    await untilStatus(first, id, "delivered");
    await interrupt(dev);
  }
  for (const end of ["kill", "interrupt"] as const) {
    await using dev = spawnDev(at.folder, more);
    const ready = await readyOf(dev);
    const unlike = { dashboardUrl: "", url: "", inboxUrl: "", inbound: "", submission: "" };
    expect({ ...ready, ...unlike }).toEqual({ ...first, ...unlike });
    expect(await record(ready, id)).toMatchObject({ status: "delivered", subject: "kept" });
    expect((await inbox(ready)).map((message) => message["subject"])).toContain("kept");
    const next = await send(ready, "joao@example.com", `kept, ${end}`);
    await untilStatus(ready, next, "delivered");
    if (end === "interrupt") await interrupt(dev);
    else dev.signal("SIGKILL");
    await dev.ended;
  }
  expect(readdirSync(at.folder)).toEqual(["kept"]);
});

test("Ctrl-C while a message waits for its answer lets it end and records it", async () => {
  using at = scratch();
  const more = ["--data", join(at.folder, "kept")];
  let id: string;
  {
    await using dev = spawnDev(at.folder, more);
    const ready = await readyOf(dev);
    id = await send(ready, "slow@example.com", "on its way");
    await waitUntil("the mail server has it", LIMIT_MS, async () => (await inbox(ready)).length === 1);
    expect((await record(ready, id)).status).toBe("sending");
    await interrupt(dev);
    expect(dev.stderr()).toContain("Stopping … (running deliveries get up to 6 s)\n");
  }
  await using dev = spawnDev(at.folder, more);
  const ready = await readyOf(dev);
  expect(await record(ready, id)).toMatchObject({ status: "delivered", attempts: 1, possibleDuplicate: false });
  await interrupt(dev);
});

test("what stands in the way of a start is told with the way out: the directory, another sandbox on it, the port", async () => {
  using at = scratch();
  const kept = join(at.folder, "kept");
  const refusal = async (more: string[]) => {
    await using refused = spawnDev(at.folder, more);
    expect(await within(LIMIT_MS, "the refusal", refused.ended)).toEqual({ code: 1, signal: null });
    return refused.stderr();
  };
  const unmade = await refusal(["--data", "/dev/null/x"]);
  expect(unmade).toStartWith("The data directory /dev/null/x cannot be created (");
  expect(unmade).toEndWith("). Choose another with --data, or create it as root and give it to this user.\n");

  await using dev = spawnDev(at.folder, ["--data", kept]);
  const ready = await readyOf(dev);
  expect(statSync(join(kept, "sandbox.db")).mode & 0o777).toBe(0o600);
  expect(await refusal(["--data", kept])).toBe(
    `Another pombo (process ${dev.pid}) is running on ${kept}. Stop it first, or use another directory with --data DIR. Nothing was written or sent.\n`,
  );
  const port = Number(new URL(ready.url).port);
  expect(await refusal(["--port", String(port)])).toContain(
    `Stop that one, or start this one with another, such as --port ${anotherPort(port)}.`,
  );
  await interrupt(dev);
});

test("pombo dev shows each refused request with its reason, and has the same key at the next start on its port", async () => {
  using at = scratch();
  const port = await freePort();
  const keys: string[] = [];
  for (let start = 0; start < 2; start += 1) {
    await using dev = spawnPombo(["dev", "--json", "--port", String(port)], { env: { TMPDIR: at.folder } });
    const ready = await readyOf(dev);
    keys.push(ready.apiKey);
    const body = { from: `loja@${ready.domain}`, to: "nobody", subject: "Olá", html: "<p>Olá</p>" };
    const { status } = await call(ready.url, ready.apiKey, { method: "POST", path: "/api/v1/emails", body });
    expect(status).toBe(422);
    expect((await call(ready.url, "svc_wrong", { path: "/api/v1/emails?limit=1" })).status).toBe(401);
    await dev.until("both are shown", () => dev.stderr().split("refused").length === 3);
    expect(dev.stderr()).toMatch(/refused +POST \/api\/v1\/emails  422 VALIDATION_ERROR: to .*/);
    expect(dev.stderr()).toMatch(
      /refused +GET \/api\/v1\/emails\?limit=1  401 INVALID_API_KEY: The API key is not valid\. Check/,
    );
    // What a listing of the keys shows is that one key.
    const { body: listed } = await call(ready.url, ready.apiKey, { path: "/api/v1/auth/keys" });
    expect(listed.data).toMatchObject([{ name: "Sandbox" }]);
    await interrupt(dev);
  }
  expect(keys[1]).toBe(keys[0] ?? "");
});

const hasCurl = Bun.which("curl") !== null;
if (!hasCurl)
  console.warn("SKIPPED: the lines that pombo dev shows are tried with curl, which is not on this machine.");

test.skipIf(!hasCurl)("the lines that pombo dev shows work as pasted", async () => {
  using at = scratch();
  await using dev = spawnPombo(["dev", "--port", "0"], { env: { TMPDIR: at.folder } });
  await dev.until("it is ready", () => dev.stdout().includes("Press Ctrl-C to stop."));
  const setKey = /^ *(export POMBO_KEY=.*)$/m.exec(dev.stdout())?.[1] ?? "";
  // A command begins with curl and goes on where a line ends in a backslash.
  const commands = dev.stdout().match(/^ *curl(?:.*\\\n)*.*$/gm) ?? [];
  expect(commands.length).toBeGreaterThanOrEqual(2);
  const paste = async (command: string) => {
    const shell = Bun.spawn(["sh", "-c", `${setKey}\n${command}`], { stdin: "ignore", stdout: "pipe", stderr: "pipe" });
    const [answer, code] = await Promise.all([new Response(shell.stdout).text(), shell.exited]);
    expect(code).toBe(0);
    expect(answer).toEndWith("}\n");
    return JSON.parse(answer);
  };
  const isText = (command: string) => command.includes("/api/v1/sms");
  const [sent, ...looks] = commands.filter((command) => !isText(command));
  const texts = commands.filter(isText);
  const { data } = await paste(sent ?? "");
  expect(data.status).toBe("queued");
  for (const command of looks)
    expect((await paste(command)).data[0]).toMatchObject({
      id: data.id,
      subject: "Olá, Maria",
      status: expect.stringMatching(/^(queued|sending|delivered)$/),
    });
  const inboxUrl = /Inbox +(\S+)/.exec(dev.stdout())?.[1] ?? "";
  await waitUntil(
    "it is in the inbox",
    LIMIT_MS,
    async () => ((await (await fetch(`${inboxUrl}/messages`)).json()) as unknown[]).length === 1,
  );
  expect(texts).toHaveLength(1);
  for (const command of texts) expect((await paste(command)).data.status).toBe("queued");
  await waitUntil(
    "it is on the phone",
    LIMIT_MS,
    async () => ((await (await fetch(`${inboxUrl}/texts`)).json()) as unknown[]).length === 1,
  );
  await interrupt(dev);
});
