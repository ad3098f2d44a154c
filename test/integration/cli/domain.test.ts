// `pombo domain add` and `pombo domain check`: the records as people, programs and DNS servers read them.
import { expect, test } from "bun:test";
import { type Json, startInstance } from "../../support/fakes/instance.ts";
import { type Asked, runHere, type Scripted, startDesk, workspaceRecord } from "../../support/cli/kit.ts";

const W = workspaceRecord().id;
const W2 = W.replace("01a1", "01c1");
const ID = "01b1fd60-a478-7fc3-8fd7-7499a9ff2c18";
const ID2 = ID.replace("01b1", "01d1");
const TIME = "2026-01-31T08:15:00.000Z";
const RSA = `v=DKIM1; k=rsa; p=${"M".repeat(392)}`;
const NONE = { has_more: false, next_cursor: null };

const record = (type: string, name: string, value: string, seen: Json = {}) => ({ type, name, value, ...seen });
const DNS = {
  dkim: [
    record("TXT", "pombo1._domainkey.loja.test", RSA),
    record("TXT", "pombo2._domainkey.loja.test", "v=DKIM1; k=ed25519; p=x"),
  ],
  spf: record("CNAME", "bounce.loja.test", "mail.example.org"),
  dmarc: record("TXT", "_dmarc.loja.test", "v=DMARC1; p=none"),
};
const ADDED = { id: ID, workspaceId: W, domain: "loja.test", status: "pending", createdAt: TIME, verifiedAt: null };
const CHECKED = {
  ...ADDED,
  dns: {
    dkim: [
      { ...DNS.dkim[0], status: "missing", found: [], hint: "Publish this TXT record at your DNS provider." },
      { ...DNS.dkim[1], status: "found", found: [DNS.dkim[1]?.value] },
    ],
    spf: { ...DNS.spf, status: "mismatch", found: ["mx.other.test"], hint: "Point the CNAME to mail.example.org." },
    dmarc: { ...DNS.dmarc, found: [], hint: "DNS did not answer, so nothing changes: timed out" },
  },
  hint: "Not verified yet: pombo1._domainkey.loja.test is missing.",
};

/** An instance with workspaces and domains of these ids. */
function answer(workspaces: string[], domains: string[] = [ID], checked: Json = CHECKED) {
  return ({ line }: Asked): Scripted => {
    if (line.startsWith("GET /operator/workspaces?"))
      return { data: workspaces.map((id) => workspaceRecord({ id })), meta: NONE };
    if (line.startsWith("GET /operator/domains?")) {
      const of = new URLSearchParams(line.split("?")[1]).get("workspaceId");
      const all = domains.map((id) => ({ ...ADDED, id, workspaceId: id === ID ? W : W2 }));
      return { data: all.filter(({ workspaceId }) => of === null || of === workspaceId), meta: NONE };
    }
    return line.endsWith("/domains") ? { status: 201, data: { ...ADDED, dns: DNS } } : { data: checked };
  };
}

test("a domain is added for the only workspace, and each record stands whole on its line", async () => {
  await using desk = startDesk(answer([W]));
  const { code, out, err } = await desk.run(["domain", "add", "Loja.test"], { width: 80 });
  expect([code, err]).toEqual([0, ""]);
  expect(desk.asked.at(-1)).toEqual({
    line: `POST /operator/workspaces/${W}/domains`,
    body: { domain: "Loja.test" },
  });
  expect(out).toBe(`loja.test is registered for workspace 01a1fd60-a478-7fc3-8fd7-7499a9ff2c17.
Publish these records at its DNS provider:

TYPE   NAME
TXT    pombo1._domainkey.loja.test
  value   ${RSA}
TXT    pombo2._domainkey.loja.test
  value   v=DKIM1; k=ed25519; p=x
CNAME  bounce.loja.test
  value   mail.example.org
TXT    _dmarc.loja.test
  value   v=DMARC1; p=none

The first one is needed to send; the others improve delivery. Then look whether
they are there:

  pombo domain check loja.test
`);
});

test("a check says of each record whether it is found, what is there instead and what to do; it ends with 1 until it can send", async () => {
  await using desk = startDesk(answer([W]));
  const { code, out } = await desk.run(["domain", "check", "loja.test"], { width: 80 });
  expect(code).toBe(1);
  expect(desk.asked.at(-1)).toEqual({ line: `POST /operator/domains/${ID}/verification-checks`, body: null });
  expect(out).toBe(`loja.test is pending.

STATUS     TYPE   NAME
missing    TXT    pombo1._domainkey.loja.test
  value   ${RSA}
  to do   Publish this TXT record at your DNS provider.
found      TXT    pombo2._domainkey.loja.test
  value   v=DKIM1; k=ed25519; p=x
different  CNAME  bounce.loja.test
  value   mail.example.org
  in DNS  mx.other.test
  to do   Point the CNAME to mail.example.org.
unknown    TXT    _dmarc.loja.test
  value   v=DMARC1; p=none
  to do   DNS did not answer, so nothing changes: timed out

Not verified yet: pombo1._domainkey.loja.test is missing.
`);
  const coloured = await desk.run(["domain", "check", "loja.test"], { width: 80, hasColour: true });
  expect(coloured.out).toContain("\u001b[31mmissing\u001b[39m    TXT    pombo1");
  for (const status of ["verified", "warning"]) {
    await using good = startDesk(answer([W], [ID], { ...CHECKED, status }));
    expect((await good.run(["domain", "check", "loja.test"], { width: 80 })).code).toBe(0);
  }
});

test("a program gets a line for each record, or the API's data", async () => {
  await using desk = startDesk(answer([W]));
  const { out } = await desk.run(["domain", "check", ID]);
  expect(out.split("\n").map((line) => line.split("\t"))).toEqual([
    ["missing", "TXT", "pombo1._domainkey.loja.test", RSA, "-", "Publish this TXT record at your DNS provider."],
    ["found", "TXT", "pombo2._domainkey.loja.test", "v=DKIM1; k=ed25519; p=x", "v=DKIM1; k=ed25519; p=x", "-"],
    [
      ...["different", "CNAME", "bounce.loja.test", "mail.example.org", "mx.other.test"],
      "Point the CNAME to mail.example.org.",
    ],
    [
      ...["unknown", "TXT", "_dmarc.loja.test", "v=DMARC1; p=none", "-"],
      "DNS did not answer, so nothing changes: timed out",
    ],
    [""],
  ]);
  expect(JSON.parse((await desk.run(["domain", "check", ID, "--json"])).out)).toEqual(CHECKED);
  expect(JSON.parse((await desk.run(["domain", "add", "loja.test", "--json"])).out)).toEqual({ ...ADDED, dns: DNS });
});

test("--zone prints only a zone file, also on a screen; what DNS has is a comment", async () => {
  await using desk = startDesk(answer([W]));
  const dkim = `"v=DKIM1; k=rsa; p=${"M".repeat(237)}" "${"M".repeat(155)}"`;
  for (const screen of [{}, { width: 80 }]) {
    expect((await desk.run(["domain", "add", "loja.test", "--zone"], screen)).out).toBe(
      `; DNS records of loja.test for pombo. Add them to its zone.
pombo1._domainkey.loja.test. 3600 IN TXT ${dkim}
pombo2._domainkey.loja.test. 3600 IN TXT "v=DKIM1; k=ed25519; p=x"
bounce.loja.test. 3600 IN CNAME mail.example.org.
_dmarc.loja.test. 3600 IN TXT "v=DMARC1; p=none"
`,
    );
    const checked = await desk.run(["domain", "check", "loja.test", "--zone"], screen);
    expect(checked.code).toBe(0);
    expect(checked.out.split("\n").slice(2)).toEqual([
      '; published: pombo2._domainkey.loja.test. 3600 IN TXT "v=DKIM1; k=ed25519; p=x"',
      "; replaces: mx.other.test",
      "bounce.loja.test. 3600 IN CNAME mail.example.org.",
      '_dmarc.loja.test. 3600 IN TXT "v=DMARC1; p=none"',
      "",
    ]);
  }
  for (const verb of ["add", "check"])
    expect((await desk.run(["domain", verb, "loja.test", "--zone", "--json"])).err).toStartWith(
      `pombo domain ${verb}: --zone and --json cannot be combined.`,
    );
});

test("a domain that is there already, and a plan that is full, name the command to run next", async () => {
  await using pombo = await startInstance();
  const { id } = await pombo.newWorkspace("launch");
  const add = (name: string) =>
    runHere(["domain", "add", name, "--zone", "--workspace", id, "--data-dir", pombo.directory]);
  expect((await add("loja.test")).code).toBe(0);
  expect(await add("Loja.test")).toEqual({
    code: 1,
    out: "",
    err: "loja.test is already registered in this workspace. Look up its records with pombo domain check NAME; with --zone that prints them as a zone file.\n",
  });
  expect((await add("other.test")).err).toBe(
    "The plan allows 1 domain. Change the workspace's plan with pombo workspace plan WORKSPACE PLAN, or raise the limit in [plans] of the configuration.\n",
  );
});

test("where several workspaces could be meant they are named, and one is chosen by --workspace", async () => {
  await using desk = startDesk(answer([W, W2], [ID, ID2]));
  const add = await desk.run(["domain", "add", "loja.test"]);
  expect(add).toEqual({
    code: 1,
    out: "",
    err: `There are several workspaces; choose one with --workspace:\n  ${W}  Loja da Maria\n  ${W2}  Loja da Maria\n`,
  });
  expect((await desk.run(["domain", "add", "loja.test", "--workspace", W2.slice(0, 13)])).code).toBe(0);
  expect(desk.asked.at(-1)?.line).toBe(`POST /operator/workspaces/${W2}/domains`);
  const check = await desk.run(["domain", "check", "loja.test"]);
  expect([check.code, check.out]).toEqual([1, ""]);
  expect(check.err).toBe(
    `"loja.test" matches several domains; give the id:\n  ${ID}  loja.test of workspace ${W}, pending\n  ${ID2}  loja.test of workspace ${W2}, pending\n`,
  );
  await desk.run(["domain", "check", "loja.test", "--workspace", W2]);
  expect(desk.asked.at(-1)?.line).toBe(`POST /operator/domains/${ID2}/verification-checks`);
  await using empty = startDesk(answer([]));
  expect((await empty.run(["domain", "add", "loja.test"])).err).toBe(
    "There are no workspaces yet. Create one with pombo workspace create NAME.\n",
  );
});
