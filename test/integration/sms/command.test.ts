// The commands about SMS as an operator has them, against an instance and an SMSC.
import { expect, test } from "bun:test";
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { runHere } from "../../support/cli/kit.ts";
import { startTexting, type TextWorld } from "../../support/texting/world.ts";

const TO = "+258849999999";

function run({ instance }: TextWorld, args: string[], width?: number) {
  const place = ["--data-dir", instance.directory];
  return runHere([...args, ...place], width === undefined ? {} : { width });
}

test("pombo sms test prints each PDU and what pombo reads in it, and ends with 0 when all three are delivered", async () => {
  await using world = await startTexting({ script: { ids: "hex", receipts: { ids: "decimal" } } });
  await world.smsc.tell("ids", { next: 40_000 });
  const { code, out } = await run(world, ["sms", "test", "--to", TO, "--from", "Loja"], 200);
  expect(code).toBe(0);
  expect(out).toContain(`Testing route vodacom, link vodacom-a: three messages to ${TO}. Ctrl-C stops it.`);
  expect(out).toMatch(/submit {3}GSM +sequence \d+ {2}data_coding 0x00 {2}esm_class 0x00/);
  expect(out).toMatch(/submit {3}UCS-2 +sequence \d+ {2}data_coding 0x08 {2}esm_class 0x00/);
  expect(out).toMatch(/submit {3}two parts, part 2 +sequence \d+ {2}data_coding 0x00 {2}esm_class 0x40/);
  expect(out).toMatch(/answer {3}GSM +ESME_ROK \(0x00000000\) {2}id 9c40 {2}\d+ ms {2}the SMSC has it/);
  expect(out).toMatch(
    /receipt {2}GSM +DELIVRD {2}err 000 {2}id 40000 \(decimal of the response's hexadecimal\) {2}delivered/,
  );
  expect(out.match(/^ {4}[0-9a-f]{32,}$/gm)?.length).toBe(12);
  expect(out).toEndWith(
    "\nGSM: delivered.\nUCS-2: delivered.\nTwo parts: delivered.\nIds are hexadecimal in answers and decimal in receipts: found out, nothing to set.\n",
  );
});

test("pombo sms test ends with 3 without receipts, 4 after a refusal, 1 when nothing went out, and says why", async () => {
  await using world = await startTexting({ script: { receipts: { states: [] } } });
  const unconfirmed = await run(world, ["sms", "test", "--to", TO, "--wait", "1s"]);
  expect([unconfirmed.code, unconfirmed.err]).toEqual([
    3,
    "The SMSC accepted the messages, but not all deliveries were confirmed.\n",
  ]);
  expect(unconfirmed.out).toContain("Receipts do not come");
  await world.smsc.script({ rules: [{ answer: { status: 0x0a } }] });
  const refused = await run(world, ["sms", "test", "--to", TO, "--wait", "1s", "--json"]);
  expect([refused.code, refused.err]).toEqual([4, "The link does not carry all three messages.\n"]);
  const shown = JSON.parse(refused.out);
  expect(shown.verdict.sentences.join(" ")).toContain("The sender is not registered with this operator");
  expect(shown.lines.filter(({ kind }: { kind: string }) => kind === "answer")).toHaveLength(4);
  const none = await run(world, ["sms", "test", "--to", "+258821111111", "--route", "none"]);
  expect([none.code, none.err]).toEqual([1, 'There is no route "none". There is "vodacom".\n']);
  expect((await run(world, ["sms", "test"])).code).toBe(2);
  expect((await run(world, ["sms", "test", "--to", TO, "--wait", "soon"])).code).toBe(2);
});

test("pombo sms test on a link that is down ends before its time, and says once that nothing was sent", async () => {
  await using world = await startTexting({ link: { port: 9 } });
  const { code, out, err } = await run(world, ["sms", "test", "--to", TO, "--wait", "1h"]);
  expect([code, err]).toEqual([1, ""]);
  expect(out.match(/Nothing was sent/g)).toHaveLength(1);
  expect(out).toContain("Look at host and port of the link");
});

test("Ctrl-C ends a test, with what came of it so far", async () => {
  await using world = await startTexting({ script: { receipts: { states: [] } } });
  const stop = world.smsc.until({ submits: 4 }).then(() => "SIGINT");
  const place = ["--data-dir", world.instance.directory];
  const { code, out, err } = await runHere(["sms", "test", "--to", TO, "--wait", "1h", ...place], { stop });
  expect([code, err]).toEqual([130, "Stopped. Messages already sent may still arrive.\n"]);
  expect(out).toContain("GSM: the SMSC has it");
  expect((await world.instance.operator.call("GET", "/api/v1/operator/sms/trial")).body.data.verdict).not.toBeNull();
});

test("pombo sms links shows a link that is bound, and one that is refused with what to do", async () => {
  await using world = await startTexting();
  const id = await world.text();
  await world.until(id, ({ status }) => status === "delivered");
  const bound = await run(world, ["sms", "links"], 300);
  expect(bound.out).toMatch(
    /vodacom-a {2}vodacom {2}bound {2}\d{4}-\d\d-\d\d \d\d:\d\d:\d\d {2}0\/10 .* 127\.0\.0\.1:\d+/,
  );
  await world.smsc.script({ bind: { status: 0x0e } });
  await world.smsc.tell("drop", { how: "rst" });
  await world.smsc.untilAtMost({ open: 0 });
  const [link] = await refusedLinks(world);
  expect(link).toMatchObject({
    state: "refused",
    lastError: { statusName: "ESME_RINVPASWD" },
    submits: { accepted: 1 },
  });
  const { out } = await run(world, ["sms", "links"], 300);
  expect(out).toMatch(/vodacom-a {2}vodacom {2}refused {2}/);
  expect(out).toContain("vodacom-a: Look at password or password_file of the link.");
  const one = await run(world, ["sms", "links", "vodacom-a"], 120);
  expect(one.out).toMatch(/State +refused, again at/);
  expect(one.out).toMatch(/ {2}refused {4}the bind was refused with 0x0000000E ESME_RINVPASWD\n/);
  expect(one.out).toMatch(/ {2}bound {6}transceiver\n/);
  expect(one.out).toMatch(/<- deliver_sm {2}sequence \d+\n/);
  expect(one.out).toMatch(/<- submit_sm_resp {2}sequence \d+ {2}ESME_ROK\n/);
  // Nowhere the password.
  expect(one.out).not.toContain(Buffer.from("segredo").toString("hex"));
  expect((await run(world, ["sms", "links", "none"])).err).toBe('There is no link "none". Links: vodacom-a.\n');
});

async function refusedLinks(world: TextWorld) {
  for (;;) {
    const { out } = await run(world, ["sms", "links", "--json"]);
    const links = JSON.parse(out) as { state: string }[];
    if (links.some(({ state }) => state === "refused")) return links;
  }
}

test("without an instance the links are shown as configured, and a test says what to start", async () => {
  await using world = await startTexting();
  const { directory, app } = world.instance;
  await app.stop(0);
  const file = join(directory, "pombo.toml");
  writeFileSync(
    file,
    [
      `hostname = "mail.pombo.test"\ndata_dir = ${JSON.stringify(directory)}`,
      `[[sms.routes]]\nname = "vodacom"`,
      `[[sms.routes.links]]\nname = "vodacom-a"\nhost = "smsc.example.net"\nsystem_id = "loja"\npassword = "segredo"\n`,
    ].join("\n"),
  );
  const links = await runHere(["sms", "links", "--config", file], { width: 200 });
  expect([links.code, links.err]).toEqual([
    0,
    "No instance runs here, so no link is connected: these are the configured links.\n",
  ]);
  expect(links.out).toMatch(/vodacom-a {2}vodacom {2}not running {2}.* smsc\.example\.net:2775 TLS {2}/);
  const tried = await runHere(["sms", "test", "--to", TO, "--config", file]);
  expect([tried.code, tried.err]).toEqual([
    1,
    "No instance runs here, so there are no links. Start it (pombo serve), then try again.\n",
  ]);
});
