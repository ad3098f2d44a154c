// What mail servers answered, and the health of the instance: mail goes to the world's Gmail, whose words we chose.

import { findPombo, type Api, type PomboApp } from "../../../support/peers/pombo.ts";
import { mustRun, waitUntil } from "../../../support/peers/process.ts";
import type { Doctor, Lines } from "./kit.ts";
import { GMAIL, type Servers } from "./world.ts";

const TAKEN = 30;
const REFUSED = 10;
/** Which are no 4,800 a day because they came within an hour. */
const MANY = 200;
const ARRIVAL_MS = 60_000;

export async function checkMail(options: {
  api: Api;
  app: PomboApp;
  doctor: Doctor;
  lines: Lines;
  servers: Servers;
  sender: string;
}): Promise<void> {
  const { api, app, doctor, lines, servers, sender } = options;
  const count = (pattern: RegExp): number => servers.mx.log().match(pattern)?.length ?? 0;
  const delivered = () => count(new RegExp(`to=<user\\d+@${GMAIL}>.*status=sent`, "g"));
  const send = async (to: string) =>
    void (await api.expect(202, "POST", "/api/v1/emails", { from: sender, to, subject: "Order", text: "Thank you." }));

  for (let number = 0; number < TAKEN; number++) await send(`user${number}@${GMAIL}`);
  await waitUntil("mail at Gmail", ARRIVAL_MS, () => delivered() >= TAKEN);
  const good = await waitForLook(doctor, TAKEN);
  for (const id of ["provider_delivery", "provider_words", "provider_volume", "complaints"] as const)
    lines.expect(good, { id, level: "ok", what: `${TAKEN} emails to Gmail, all taken` });

  for (let number = TAKEN; number < MANY; number++) await send(`user${number}@${GMAIL}`);
  await waitUntil("mail at Gmail", ARRIVAL_MS, () => delivered() >= MANY);
  const volume = await waitForLook(doctor, MANY);
  lines.expect(volume, { id: "provider_volume", level: "ok", what: `${MANY} within an hour`, subject: "Gmail" });

  for (let number = 0; number < REFUSED; number++) await send(`refused@${GMAIL}`).catch(() => undefined); // suppressed once it has bounced
  await waitUntil("a refusal", ARRIVAL_MS, () => count(/NOQUEUE: reject.*5\.7\.26/g) > 0);
  const words = await waitForLook(doctor, MANY + 1);
  const said = lines.expect(words, { id: "provider_words", level: "problem", what: "Gmail says 5.7.26" });
  lines.claim(
    "provider_words: in Gmail's own words",
    said?.seen.includes("unauthenticated") ?? false,
    () => said?.seen ?? "",
  );

  const pombo = (...rest: string[]) => mustRun([...findPombo().command, ...rest, "--config", app.configFile]);
  await pombo("queue", "pause");
  lines.expect(await doctor.look("health"), { id: "health", level: "warning", what: "delivery is paused by hand" });
  await pombo("queue", "resume");
  lines.expect(await doctor.look("health"), { id: "health", level: "ok", what: "delivery resumed", isCure: true });
}

/** The attempts are written a moment after the mail server has taken the mail. */
async function waitForLook(doctor: Doctor, attempts: number) {
  let report = await doctor.look("providers");
  await waitUntil("the attempts are stored", 15_000, async () => {
    report = await doctor.look("providers");
    const seen =
      report.findings.find(({ id, subject }) => id === "provider_delivery" && subject === "google")?.seen ?? "";
    return Number(/(\d[\d,]*) attempts/.exec(seen)?.[1]?.replace(",", "") ?? 0) >= attempts;
  });
  return report;
}
