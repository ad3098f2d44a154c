// The order of the run: everything well; each record broken and mended; each fault of the machine and of others; alerts;
// what only time shows.

import { join } from "node:path";
import { publishRecords } from "./publish.ts";
import { createWorkspace, findPombo, type PomboApp, startPombo } from "../../../support/peers/pombo.ts";
import { run, waitUntil, type Cleanup } from "../../../support/peers/process.ts";
import { startReceiver } from "../../../support/fakes/receiver.ts";
import type { FindingId } from "../../../../src/modules/doctor/catalog.ts";
import { checkAlerts, ALERTS_TO } from "./alert-checks.ts";
import { checkEgresses } from "./egress-checks.ts";
import { checkLocked } from "./database-checks.ts";
import { checkFollowed } from "./followed.ts";
import { checkMachine, takeOwnExecutable } from "./machine-checks.ts";
import { checkMail } from "./mail-checks.ts";
import { checkOutside } from "./outside-checks.ts";
import { type Doctor, type Lines, mergeSettings, openDoctor, openLines } from "./kit.ts";
import { domainCases, HOST_CASES, type RecordCase } from "./record-cases.ts";
import { checkLater } from "./later/run.ts";
import { carryOut } from "./steps.ts";
import { FIRST_RECORDS, HOST, type Records, SENDER_DOMAIN, type Servers } from "./world.ts";

const REPLICA_MS = 20_000;

/** Of a new instance with a domain, to which nothing has happened. */
const WELL: FindingId[] = [
  "resolver_answers",
  "resolver_honest",
  "resolver_tcp",
  "resolver_dnssec",
  "resolver_txt",
  "address",
  "port25_out",
  "ports_in",
  "ptr",
  "ptr_generic",
  "hostname",
  "spf",
  "spf_record",
  "bounce_host",
  "bounce_port",
  "bounce_letter",
  "blocklist",
  "blocklist_name",
  "dkim",
  "return_path",
  "dmarc",
  "dmarc_alignment",
  "dmarc_policy",
  "dmarc_reports",
  "from_domain",
  "domain_blocklist",
  "provider_rules",
  "memory",
  "health",
  "disk",
  "disk_speed",
  "certificate",
];

export async function checkCases(options: {
  folder: string;
  servers: Servers;
  hasTime: boolean;
  hasExim: boolean;
  isSmoke: boolean;
  cleanup: Cleanup;
}): Promise<void> {
  const { folder, servers, hasTime, hasExim, isSmoke, cleanup } = options;
  const lines = openLines();
  const receiver = startReceiver();
  // The sources bring no Litestream.
  const hasReplica = findPombo().command.length === 1;
  cleanup.add(() => receiver[Symbol.asyncDispose]());
  takeOwnExecutable(folder);
  const app = await startPombo({
    folder,
    hostname: HOST,
    cleanup,
    settings: {
      ...mergeSettings({ webhooks: { allow_http: true, allow_private_ranges: ["127.0.0.0/8"] } }),
      ...(hasReplica ? { replication: { url: join(folder, "replica") } } : {}),
      alerts: [{ to: [ALERTS_TO] }, { kind: "webhook", to: [receiver.url] }],
    },
  });
  const doctor = await openDoctor(folder, app.configFile);
  const api = await createWorkspace(app, "doctor");
  const { dkim, records } = await publishRecords(api, servers.bind);
  const first = { ...FIRST_RECORDS, ...records };

  const report = await doctor.look();
  const wanted = hasTime ? [...WELL, "clock" as const] : WELL;
  for (const id of wanted) lines.expect(report, { id, level: "ok", what: "all is well" });
  await checkBackup({ app, doctor, lines, hasReplica });
  lines.claim("a full run for one domain takes at most 15 s", report.tookMs <= 15_000, () => `${report.tookMs} ms`);
  console.error(`doctor: a full run of one domain took ${report.tookMs} ms`);

  const cases = [...HOST_CASES, ...domainCases(dkim)];
  const chosen = isSmoke ? cases.filter(({ id }, at) => at === 0 || id === "return_path").slice(0, 2) : cases;
  for (const each of chosen) await checkRecord(each, { doctor, lines, servers, first });
  if (!isSmoke) {
    await checkLocked({ app, doctor, lines }).catch(
      (error: unknown) => void lines.claim("a locked database", false, () => String(error)),
    );
    await checkOutside({ doctor, lines, servers, hasTime, hasExim });
    const sender = `loja@${SENDER_DOMAIN}`;
    let last = app;
    const parts: [string, () => Promise<unknown>][] = [
      ["egress", () => checkEgresses({ folder, doctor, lines, cleanup })],
      ["steps that name commands", () => checkFollowed({ doctor, lines, servers, first })],
      ["alerts", () => checkAlerts({ app, receiver, lines, servers })],
      ["mail", () => checkMail({ api, app, doctor, lines, servers, sender })],
      ["the machine", async () => (last = await checkMachine({ app, doctor, lines, cleanup }))],
      ["as days pass", () => last.process.stop().then(() => checkLater({ folder, lines, servers, cleanup }))],
    ];
    for (const [name, work] of parts)
      await work().catch((error: unknown) => void lines.claim(name, false, () => String(error)));
    for (const what of [
      "certificate: its step ends with an authority that browsers know, which signs nothing in this world",
      "alerts of a trouble that lasts: they take two minutes",
    ])
      lines.notRun(what);
    lines.sum();
  }
}

async function checkBackup(options: {
  app: PomboApp;
  doctor: Doctor;
  lines: Lines;
  hasReplica: boolean;
}): Promise<void> {
  const { app, doctor, lines, hasReplica } = options;
  const id = "backup";
  if (!hasReplica) {
    lines.expect(await doctor.look(id), { id, level: "warning", what: "there is no replica" });
    return lines.notRun("backup: the sources have no Litestream; script/build makes an executable that has");
  }
  let report = await doctor.look(id);
  await waitUntil("the replica", REPLICA_MS, async () => {
    report = await doctor.look(id);
    return report.findings.every(({ level }) => level === "warning");
  });
  const found = lines.expect(report, { id, level: "warning", what: "a replica that was never tried" });
  const [program, ...words] = (found?.step ?? "").split(" ");
  lines.claim("backup: the step is a command of pombo", program === "pombo", () => found?.step ?? "");
  const tried = await run([...findPombo().command, ...words, "--config", app.configFile]);
  lines.claim("backup: the step works", tried.exitCode === 0, () => tried.output);
  lines.expect(await doctor.look(id), { id, level: "ok", what: "tried, as the step says", isCure: true });
}

/** Broken, seen; the finding's own step carried out, seen; then as it was. */
async function checkRecord(
  { id, what, level, subject, broken }: RecordCase,
  { doctor, lines, servers, first }: { doctor: Doctor; lines: Lines; servers: Servers; first: Records },
): Promise<void> {
  const { bind } = servers;
  const about = { id, ...(subject === undefined ? {} : { subject }) };
  try {
    for (const [key, values] of Object.entries(broken)) await bind.set(...split(key), values);
    const found = lines.expect(await doctor.look(id), { ...about, what, level });
    if (found === null) return;
    const present = (name: string, type: string) => broken[`${name} ${type}`] ?? first[`${name} ${type}`] ?? [];
    await carryOut(found.step ?? "", bind, present);
    // Findings name all that is amiss one after the other, as two keys that are both missing.
    const again = await doctor.look(id);
    const left = again.findings.find((each) => each.id === id && each.subject === found.subject);
    if (left?.level === "warning" && level === "problem" && left.step !== null)
      await carryOut(left.step, bind, present);
    lines.expect(await doctor.look(id), { ...about, level: "ok", what: `${what}, the step carried out`, isCure: true });
  } catch (error) {
    lines.claim(`${id}: ${what}`, false, () => String(error));
  } finally {
    for (const key of Object.keys(broken)) await bind.set(...split(key), []);
    for (const [key, values] of Object.entries(first)) {
      if (Object.keys(broken).some((each) => split(each)[0] === split(key)[0])) await bind.set(...split(key), values);
    }
    if (id === "dmarc_reports") await bind.set(`${SENDER_DOMAIN}._report._dmarc.example.info`, "TXT", []);
  }
}

function split(key: string): [name: string, type: string] {
  const [name = "", type = ""] = key.split(" ");
  return [name, type];
}
