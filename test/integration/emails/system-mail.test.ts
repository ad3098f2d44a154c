// pombo's own mail: it goes the way of all email, and no workspace has anything of it.

import { expect, setDefaultTimeout, test } from "bun:test";
import { bounce, complaintAbout } from "../../support/inbound/messages.ts";
import {
  type Instance,
  type InstanceOptions,
  type Json,
  SENDING_DOMAIN,
  startInstance,
} from "../../support/fakes/instance.ts";

setDefaultTimeout(30_000);

const MAIL = { to: "maria@example.com", subject: "Convite: Olá", text: "Abra https://mail.example.net/…\n" };

const start = (options: InstanceOptions = {}, from = "pombo@mail.pombo.test") =>
  startInstance({
    ...options,
    configure(config) {
      config.dashboard.from = from;
      config.email.retryScheduleMs = [20];
      options.configure?.(config);
    },
  });

const mail = ({ app }: Instance, changes: Partial<typeof MAIL & { until: number }> = {}) =>
  app.committer.commit(() => app.sendSystemMail({ ...MAIL, ...changes }));

const operator = async ({ operator: client }: Instance, path: string, method = "GET", body?: object): Promise<Json> => {
  const answer = await client.call(method, `/api/v1/operator/${path}`, body === undefined ? {} : { body });
  expect(answer.text).not.toContain('"errors"');
  return answer.body.data;
};

const find = async (pombo: Instance, to = MAIL.to): Promise<Json> => (await operator(pombo, `trace?find=${to}`))[0];

async function traceOfEnded(pombo: Instance, to = MAIL.to): Promise<Json> {
  const { id } = await find(pombo, to);
  for (const deadline = Date.now() + 10_000; ;) {
    const trace = await operator(pombo, `trace/${id}`);
    if (!["queued", "sending", "delivery_delayed"].includes(trace.email.status) || Date.now() > deadline) return trace;
  }
}

const rows = ({ app }: Instance, query: string) => app.db.sqlite.query<Record<string, unknown>, []>(query).all();

test("it goes out from the configured address with a return path of its own, unsigned where nobody has verified that domain", async () => {
  await using pombo = await start();
  expect(await mail(pombo)).toBe(true);
  const trace = await traceOfEnded(pombo);
  expect(trace).toMatchObject({ workspaceId: null, workspaceName: "pombo's own mail", email: { status: "delivered" } });
  const [message] = pombo.mx.messages;
  expect(message?.from).toMatch(/^b\+[a-z2-7]{42}@mail\.pombo\.test$/);
  const text = message?.stuffed.toString() ?? "";
  expect(text).toContain("From: pombo <pombo@mail.pombo.test>\r\nTo: maria@example.com\r\n");
  expect(text).not.toMatch(/^DKIM-Signature/im);
  expect(text).toMatch(/^Date: \w{3}, \d\d? \w{3} \d{4} [\d:]{8} \+0000\r$/m);
  expect(text).toMatch(/^Message-ID: <[\w.-]+@[\w.-]+>\r$/m);
  expect(text).toMatch(/^Auto-Submitted: auto-generated\r$/m);
  expect(pombo.bugs).toEqual([]);
});

test("it is signed by the keys of its domain where a workspace here has verified that", async () => {
  await using pombo = await start({}, `pombo@${SENDING_DOMAIN}`);
  await mail(pombo);
  await traceOfEnded(pombo);
  expect(pombo.mx.messages[0]?.stuffed.toString()).toMatch(new RegExp(`^DKIM-Signature:[^:]* d=${SENDING_DOMAIN};`));
});

test("without an address to send from nothing is queued", async () => {
  await using pombo = await startInstance();
  expect(await mail(pombo)).toBe(false);
  expect(rows(pombo, "SELECT id FROM email")).toEqual([]);
});

test("it belongs to the transaction that it is sent in", async () => {
  await using pombo = await start();
  const failing = pombo.app.committer.commit(() => {
    pombo.app.sendSystemMail(MAIL);
    throw new Error("the invitation was refused");
  });
  expect(String(await failing.catch((error: unknown) => error))).toBe("Error: the invitation was refused");
  await mail(pombo, { subject: "The next" });
  await traceOfEnded(pombo);
  expect(pombo.mx.messages).toHaveLength(1);
  expect(rows(pombo, "SELECT subject FROM email")).toEqual([{ subject: "The next" }]);
});

test("no workspace's list, usage or storage shows it", async () => {
  await using pombo = await start();
  await mail(pombo);
  await traceOfEnded(pombo);
  const list = await pombo.workspace.call("GET", "/api/v1/emails");
  expect([list.body.data, list.body.meta.total]).toEqual([[], 0]);
  const { usage } = (await pombo.workspace.call("GET", "/api/v1/workspace/usage")).body.data;
  expect(usage).toMatchObject({ emailsToday: 0, emailsThisMonth: 0, storageBytes: 0 });
  const whose = "SELECT DISTINCT workspace_id FROM usage WHERE count <> 0";
  expect(rows(pombo, whose)).toEqual([{ workspace_id: 0 }]);
});

test("a refused recipient is suppressed nowhere: the next mail to it goes", async () => {
  await using pombo = await start({ mx: { rcpt: "550 5.1.1 No such user here" } });
  await mail(pombo);
  expect((await traceOfEnded(pombo)).email.status).toBe("bounced");
  expect(rows(pombo, "SELECT * FROM suppression")).toEqual([]);
  delete pombo.mx.script.rcpt;
  await mail(pombo);
  expect((await traceOfEnded(pombo)).email.status).toBe("delivered");
});

test("a bounce and a complaint that come by mail end it, suppress nobody and count against no workspace", async () => {
  await using pombo = await start();
  const ratesOf = async () => (await pombo.workspace.call("GET", "/api/v1/workspace")).body.data.rates;
  const rates = await ratesOf();
  await mail(pombo);
  const { id } = await traceOfEnded(pombo);
  await pombo.app.receive(bounce(id));
  expect((await operator(pombo, `trace/${id}`)).email.status).toBe("bounced");
  const to = "joao@example.com";
  await mail(pombo, { to });
  const second = await traceOfEnded(pombo, to);
  await pombo.app.receive(complaintAbout(pombo, second.id));
  expect((await operator(pombo, `trace/${second.id}`)).email.status).toBe("complained");
  expect(rows(pombo, "SELECT * FROM suppression")).toEqual([]);
  expect(await ratesOf()).toEqual(rates);
});

test("it waits like other mail: the queue shows it, a restart keeps it, a deleted domain or workspace does not take it along", async () => {
  await using pombo = await start();
  await operator(pombo, "queue/pause", "POST", { reason: "test" });
  const other = await pombo.newWorkspace();
  const domain = await pombo.addDomain(other, "other.test");
  await mail(pombo);
  await pombo.workspace.call("POST", "/api/v1/emails", { body: pombo.email() });
  expect((await other.call("DELETE", `/api/v1/domains/${domain}`)).status).toBe(200);
  expect((await pombo.operator.call("DELETE", `/api/v1/operator/workspaces/${pombo.workspace.id}`)).status).toBe(200);
  await pombo.restart();
  await pombo.app.committer.commit(() => null);
  const listed = await pombo.operator.call("GET", "/api/v1/operator/queue/messages?kind=email");
  expect(listed.body.data).toMatchObject([{ workspaceId: null, to: MAIL.to, state: "queued" }]);
  await operator(pombo, "queue/resume", "POST", {});
  expect((await traceOfEnded(pombo)).email.status).toBe("delivered");
  expect(pombo.bugs).toEqual([]);
});

test("it is not tried past the time until which it is of use", async () => {
  await using pombo = await start({ mx: { rcpt: "451 4.3.0 Later" } });
  await mail(pombo, { until: Date.now() + 200 });
  const { email } = await traceOfEnded(pombo);
  expect(email).toMatchObject({ status: "failed", bounce: { category: "expired" } });
});

test("its recipient is erased with those of all workspaces", async () => {
  await using pombo = await start();
  await mail(pombo);
  await traceOfEnded(pombo);
  expect(await operator(pombo, `recipients/${MAIL.to}`, "DELETE")).toMatchObject({ emails: 1 });
  expect(JSON.stringify(rows(pombo, "SELECT * FROM email"))).not.toContain("maria");
});
