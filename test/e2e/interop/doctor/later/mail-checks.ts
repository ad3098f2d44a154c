// What mail servers and people answered, as days pass: refusals, complaints, and much mail.

import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { pathOf } from "../../../../support/peers/packages.ts";
import { mustRun, waitUntil } from "../../../../support/peers/process.ts";
import { followStep } from "../followed.ts";
import type { Report } from "../kit.ts";
import { BOUNCE_HOST, GMAIL, MX_DOMAIN, SENDER_DOMAIN, WORDED } from "../world.ts";
import type { Later } from "./instance.ts";

const ARRIVAL_MS = 90_000;
const AT_ONCE = 10;
const FIRST = 200;
const COMPLAINTS = 2;
/** Four fifths of what makes a bulk sender. */
const MANY = 4_000;
const OTHERS = 30;
/** How mail to the other provider is counted: by the end of its host's name. */
const OTHER = "example.com";

/** To all of them. */
let sent = 0;

/** To people at Gmail who want it; resolves when all is there. */
export async function sendMany({ api, servers }: Later, number: number, domain = GMAIL): Promise<void> {
  const first = sent;
  sent += number;
  const to = (at: number) => `reader${first + at}@${domain}`;
  const numbers = Array.from({ length: number }, (_, at) => at).values();
  const post = async () => {
    for (const at of numbers) await send(api, to(at));
  };
  await Promise.all(Array.from({ length: AT_ONCE }, post));
  const last = new RegExp(`to=<reader(\\d+)@${domain}>.*status=sent`, "g");
  await waitUntil(`${number} emails at ${domain}`, ARRIVAL_MS, () => {
    const there = [...servers.mx.log().matchAll(last)].filter(([, at]) => Number(at) >= first);
    return there.length >= number;
  });
}

async function send(api: Later["api"], to: string): Promise<string> {
  const email = { from: `loja@${SENDER_DOMAIN}`, to, subject: "Order", text: "Thank you." };
  return (await api.expect(202, "POST", "/api/v1/emails", email)).data.id;
}

/** The attempts are written a moment after the mail server has taken the mail. */
async function lookAfter({ doctor }: Later, provider: string, attempts: number): Promise<Report> {
  let report = await doctor.look("providers");
  await waitUntil("the attempts are stored", ARRIVAL_MS, async () => {
    report = await doctor.look("providers");
    const seen = report.findings.find(({ id, subject }) => id === "provider_delivery" && subject === provider)?.seen;
    return Number(/(\d[\d,]*) attempts/.exec(seen ?? "")?.[1]?.replaceAll(",", "") ?? 0) >= attempts;
  });
  return report;
}

export async function sendFirst(later: Later): Promise<void> {
  await sendMany(later, FIRST);
  const report = await lookAfter(later, "google", FIRST);
  later.lines.expect(report, { id: "complaints", level: "ok", what: "nobody complains", subject: SENDER_DOMAIN });
}

/** The world's Gmail reports them by its own Postfix, as RFC 5965 has it. */
export async function complain({ doctor, folder, lines, servers }: Later): Promise<void> {
  const id = "complaints";
  const log = servers.mx.log();
  const from = [...log.matchAll(/from=<(b\+[^>]+)>/g)].map(([, path = ""]) => path).slice(-COMPLAINTS);
  for (const path of from) {
    const report = [
      `From: feedback@${GMAIL}`,
      `To: fbl@${BOUNCE_HOST}`,
      "Subject: complaint",
      "MIME-Version: 1.0",
      'Content-Type: multipart/report; report-type=feedback-report; boundary="b1"',
      "",
      "--b1",
      "Content-Type: message/feedback-report",
      "",
      "Feedback-Type: abuse",
      "User-Agent: Provider/1.0",
      "Version: 1",
      `Original-Mail-From: <${path}>`,
      "",
      "--b1",
      "Content-Type: text/rfc822-headers",
      "",
      `From: loja@${SENDER_DOMAIN}`,
      "Subject: Order",
      "",
      "--b1--",
      "",
    ].join("\n");
    const file = join(folder, "complaint.eml");
    writeFileSync(file, report);
    const script = 'exec "$0" -C "$1" -f "$2" "$3" < "$4"';
    const words = [servers.mx.configFolder, `feedback@${GMAIL}`, `fbl@${BOUNCE_HOST}`, file];
    await mustRun([...servers.network.world, "sh", "-c", script, pathOf("sendmail"), ...words]);
  }
  const level = async () => (await doctor.look(id)).findings[0]?.level;
  await waitUntil("the complaints are read", ARRIVAL_MS, async () => (await level()) !== "ok");
  const what = `${COMPLAINTS} of the first readers complain`;
  const found = lines.expect(await doctor.look(id), { id, level: "problem", what, subject: SENDER_DOMAIN });
  lines.claim(`${id}: its step`, /Send only to who asked for it/.test(found?.step ?? ""), () => found?.step ?? "");
}

/** All of them asked for it. Meanwhile somebody has deleted the DMARC record, which Gmail asks for with so much mail. */
export async function fillVolume(later: Later): Promise<void> {
  const { doctor, lines, servers, first } = later;
  await sendMany(later, MANY - sent);
  const report = await lookAfter(later, "google", MANY);
  lines.expect(report, {
    ...{ id: "complaints", level: "ok", subject: SENDER_DOMAIN },
    what: "the others asked for it, as the step says",
    isCure: true,
  });
  const what = `${MANY.toLocaleString("en")} emails within a day`;
  const volume = { id: "provider_volume", subject: "Gmail" } as const;
  const rules = { id: "provider_rules", subject: "Gmail" } as const;
  lines.expect(report, { ...volume, level: "ok", what: `${what}, and all that Gmail asks for` });
  await servers.bind.set(`_dmarc.${SENDER_DOMAIN}`, "TXT", []);
  const broken = await doctor.look(BOTH);
  lines.expect(broken, { ...rules, level: "warning", what: `${what}, and no DMARC record` });
  const found = lines.expect(broken, { ...volume, level: "warning", what: `${what}, and no DMARC record` });
  await followStep({ doctor, lines, bind: servers.bind, first, step: found?.step ?? "", id: volume.id });
  const cured = await doctor.look(BOTH);
  for (const each of [rules, volume])
    lines.expect(cured, { ...each, level: "ok", what: `${what}, the step carried out`, isCure: true });
}

const BOTH = "provider_volume,provider_rules";

/** A filter that takes a part of the mail for spam, and a mailbox that takes no more. */
export async function expectRefusals(later: Later): Promise<void> {
  const { api, lines, servers, pombo } = later;
  const id = "provider_delivery";
  await sendMany(later, OTHERS, MX_DOMAIN);
  const names = Array.from({ length: WORDED }, (_, at) => at);
  await Promise.all(names.map((at) => send(api, `slow${at}@${MX_DOMAIN}`)));
  const deferred = () => servers.mx.log().match(/reject: RCPT .*<slow/g)?.length ?? 0;
  await waitUntil("deferrals", ARRIVAL_MS, () => deferred() >= WORDED);
  const first = await lookAfter(later, OTHER, OTHERS + WORDED);
  const what = `${WORDED} of ${OTHERS + WORDED} deferred`;
  const found = lines.expect(first, { id, level: "warning", what, subject: OTHER });
  const refused = await Promise.all(names.map((at) => send(api, `spam${at}@${MX_DOMAIN}`)));
  const report = await lookAfter(later, OTHER, OTHERS + 2 * WORDED);
  lines.expect(report, { id, level: "problem", what: `${WORDED} more refused as spam`, subject: OTHER });
  const step = found?.step ?? "";
  lines.claim(`${id}: its step`, /^pombo queue shows .*; pombo trace ID the servers' words/.test(step), () => step);
  const queue = await pombo("queue");
  lines.claim(`${id}: pombo queue shows what waits`, queue.exitCode === 0, () => queue.output);
  const trace = await pombo("trace", refused[0] ?? "");
  lines.claim(`${id}: pombo trace shows the words`, trace.output.includes("content filter"), () => trace.output);
}

/** Neither key is published any more, nor the return path: Gmail says so. */
export async function refuseWords(later: Later): Promise<void> {
  const { api, doctor, lines, servers, first } = later;
  const id = "provider_words";
  const keys = Object.keys(first).filter((key) => key.includes("._domainkey.") || key.startsWith("bounce."));
  for (const key of keys) {
    const [name = "", type = ""] = key.split(" ");
    await servers.bind.set(name, type, []);
  }
  await send(api, `refused@${GMAIL}`);
  await waitUntil("a word of Gmail's", ARRIVAL_MS, async () => (await doctor.look(id)).findings[0]?.level !== "ok");
  const found = lines.expect(await doctor.look(id), {
    id,
    level: "problem",
    what: "Gmail says 5.7.26, two days later",
  });
  await followStep({ doctor, lines, bind: servers.bind, first, step: found?.step ?? "", id });
  const { findings } = await doctor.look("domains,spf");
  const left = findings.filter(({ level }) => level === "problem");
  lines.claim(`${id}: what was wrong is published again`, left.length === 0, () => JSON.stringify(left));
}

/** More than a week after all that, mail goes out as it should. */
export async function expectGoodMail(later: Later): Promise<void> {
  const { lines } = later;
  await sendMany(later, OTHERS);
  await sendMany(later, OTHERS, MX_DOMAIN);
  await lookAfter(later, "google", OTHERS);
  const report = await lookAfter(later, OTHER, OTHERS);
  const about = { level: "ok", isCure: true } as const;
  lines.expect(report, { ...about, id: "provider_delivery", subject: OTHER, what: "a week without refusals" });
  lines.expect(report, { ...about, id: "provider_words", subject: "google", what: "a week after the records" });
}
