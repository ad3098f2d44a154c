// The doctor of a running instance, through the API, and of one that does not run, through the command.
import { expect, setDefaultTimeout, test } from "bun:test";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { runHere, startDesk } from "../../support/cli/kit.ts";
import { type Instance, type Json, SENDING_DOMAIN, startInstance } from "../../support/fakes/instance.ts";
import { HOSTNAME } from "../../support/fakes/instance.ts";

setDefaultTimeout(60_000);

const PATH = "/api/v1/operator/doctor";

function startLooked(change: (config: Instance["config"]) => void = () => undefined): Promise<Instance> {
  return startInstance({
    configure(config) {
      config.doctor.probes = ["example.com"];
      config.email.sourceIpv4 = "127.0.0.1";
      change(config);
    },
  });
}

/** By id and subject. */
function levels(findings: Json[]): Record<string, string> {
  return Object.fromEntries(
    findings.map(({ id, subject, level }) => [subject === null ? id : `${id} ${subject}`, level]),
  );
}

test("what is wrong is found with its step, is well once that is done, and the last run can be read again", async () => {
  await using pombo = await startLooked();
  const before = await pombo.operator.call("GET", PATH);
  expect(before.body.data).toEqual({ at: null, tookMs: null, findings: [] });
  const { status, body } = await pombo.operator.call("POST", PATH);
  expect(status).toBe(200);
  const found = levels(body.data.findings);
  expect(found).toMatchObject({
    "ptr 127.0.0.1": "problem",
    [`spf_record ${HOSTNAME}`]: "problem",
    [`dkim ${SENDING_DOMAIN}`]: "ok",
    [`dmarc ${SENDING_DOMAIN}`]: "ok",
    [`from_domain ${SENDING_DOMAIN}`]: "problem",
    port25_out: "ok",
    bounce_letter: "ok",
    [`ports_in ${pombo.app.inbound?.split(":")[1]}`]: "ok",
  });
  pombo.dns.zone["1.0.0.127.in-addr.arpa"] = { PTR: [HOSTNAME] };
  pombo.dns.zone[HOSTNAME] = { A: ["127.0.0.1"], TXT: ["v=spf1 a -all"] };
  pombo.dns.zone[SENDING_DOMAIN] = { MX: [[10, "mx.example.com"]] };
  const after = await pombo.operator.call("POST", PATH);
  expect(levels(after.body.data.findings)).toMatchObject({
    "ptr 127.0.0.1": "ok",
    [`spf ${HOSTNAME} 127.0.0.1`]: "ok",
    [`spf_record ${HOSTNAME}`]: "ok",
    [`from_domain ${SENDING_DOMAIN}`]: "ok",
  });
  expect((await pombo.operator.call("GET", PATH)).body.data).toEqual(after.body.data);
  // The message of bounce_letter is kept nowhere.
  expect((await pombo.operator.call("GET", "/api/v1/operator/inbox")).body.data).toEqual([]);
  expect(pombo.bugs).toEqual([]);
});

test("only what is asked for is looked at, of one domain, and strangers learn nothing", async () => {
  await using pombo = await startLooked();
  await pombo.addDomain(pombo.workspace, "second.test");
  const { body } = await pombo.operator.call("POST", `${PATH}?domain=SECOND.test&only=dkim,spf_record`);
  expect(body.data.findings.map(({ id, subject }: Json) => `${id} ${subject}`).toSorted()).toEqual([
    "dkim second.test",
    `spf_record ${HOSTNAME}`,
  ]);
  const unknownDomain = await pombo.operator.call("POST", `${PATH}?domain=nobody.test`);
  expect([unknownDomain.status, unknownDomain.body.errors[0].code]).toEqual([404, "NOT_FOUND"]);
  const mistyped = await pombo.operator.call("POST", `${PATH}?only=dkmi`);
  expect([mistyped.status, mistyped.text]).toEqual([422, expect.stringContaining("dkmi")]);
  for (const method of ["GET", "POST"]) expect((await pombo.workspace.call(method, PATH)).status).toBe(403);
  expect(pombo.bugs).toEqual([]);
});

test("what mail servers answered is counted by provider and by sending domain", async () => {
  await using pombo = await startLooked();
  for (let at = 0; at < 3; at++) await pombo.workspace.call("POST", "/api/v1/emails", { body: pombo.email() });
  await pombo.app.worker.idle();
  await pombo.app.committer.flush();
  const { body } = await pombo.operator.call("POST", `${PATH}?only=providers,machine,sms`);
  const seen = body.data.findings.map(({ id, subject, seen: said }: Json) => `${id} ${subject}: ${said}`).join("\n");
  expect(seen).toContain("provider_delivery example.com: example.com, 3 attempts in 7 days: 100 % delivered");
  expect(seen).toContain(`complaints ${SENDING_DOMAIN}: 0 of 3 delivered emails`);
  expect(seen).toContain("backup null: Nothing is copied elsewhere");
  expect(pombo.bugs).toEqual([]);
});

test("two that ask at once are answered by one run", async () => {
  await using pombo = await startLooked();
  const both = [pombo.operator.call("POST", PATH), pombo.operator.call("POST", PATH)];
  const [first, second] = (await Promise.all(both)).map(({ body }) => body.data);
  expect(first).toEqual(second);
  const keys = pombo.dns.queries.filter(({ name }) => name === `pombo1._domainkey.${SENDING_DOMAIN}`);
  // One of the verification, one of the run.
  expect(keys.length).toBe(2);
});

test("an instance that begins to stop ends its run", async () => {
  const pombo = await startLooked();
  pombo.dns.faults["*"] = "silence";
  const asked = pombo.operator.call("POST", PATH).catch(() => null);
  const startedAt = performance.now();
  await pombo[Symbol.asyncDispose]();
  await asked;
  expect(performance.now() - startedAt).toBeLessThan(10_000);
});

test("the command shows each finding with its step beneath, and its exit code says whether there is a problem", async () => {
  const finding = {
    id: "ptr",
    level: "warning",
    subject: "203.0.113.7",
    seen: "The PTR is odd.",
    step: "one\n\n  two",
  };
  const well = { id: "spf", level: "ok", subject: null, seen: "SPF passes.", step: null };
  const data: Json = { at: "2026-01-31T08:15:00.000Z", tookMs: 1_234, findings: [finding, well] };
  await using desk = startDesk(() => ({ data }));
  const shown = await runHere([
    ...["doctor", "--domain", "loja.test", "--only", "name,spf", "--rdap"],
    ...["--data-dir", desk.folder],
  ]);
  expect(desk.asked[0]?.line).toBe("POST /operator/doctor?domain=loja.test&only=name%2Cspf&rdap=true");
  expect([shown.code, shown.err]).toEqual([0, ""]);
  expect(shown.out).toBe(
    "warning  ptr  The PTR is odd.\n    one\n\n      two\n\nok       spf  SPF passes.\n\n1 warning, 1 ok; looked for 1.2 s.\n",
  );
  data.findings[0].level = "problem";
  const json = await runHere(["doctor", "--json", "--data-dir", desk.folder]);
  expect([json.code, JSON.parse(json.out)]).toEqual([1, data]);
  const wrong = await runHere(["doctor", "--only", "dkmi", "--data-dir", desk.folder]);
  expect([wrong.code, wrong.err]).toEqual([2, expect.stringContaining("--only knows no dkmi")]);
});

test("before the first start the command looks by itself", async () => {
  await using pombo = await startLooked();
  const folder = mkdtempSync(join(tmpdir(), "pombo-doctor-"));
  try {
    const file = join(folder, "pombo.toml");
    const lines = [
      `hostname = "${HOSTNAME}"`,
      `data_dir = "${folder}/data"`,
      `dns.servers = ["${pombo.dns.address}"]`,
      'email.source_ipv4 = "127.0.0.1"',
      'email.allow_private_ranges = ["127.0.0.0/8"]',
      `email.destination_port = ${pombo.mx.port}`,
      'doctor.probes = ["example.com"]',
      `inbound.listen = "127.0.0.1:${pombo.mx.port}"`,
    ];
    writeFileSync(file, `${lines.join("\n")}\n`);
    expect((await runHere(["init", "--config", file])).code).toBe(0);
    const { code, out } = await runHere(["doctor", "--json", "--config", file]);
    expect(code).toBe(1);
    const { findings } = JSON.parse(out);
    expect(levels(findings)).toMatchObject({
      "ptr 127.0.0.1": "problem",
      port25_out: "ok",
      // The fake mail server is the other program.
      [`ports_in ${pombo.mx.port}`]: "problem",
    });
    const sending = await runHere(["doctor", "--send-test", "maria@example.com", "--config", file]);
    expect([sending.code, sending.err]).toEqual([1, expect.stringContaining("No instance runs that could send it")]);
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
});
