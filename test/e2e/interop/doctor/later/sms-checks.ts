// A network that texts go to: its link, its receipts, and what a workspace texts with.

import { waitUntil } from "../../../../support/peers/process.ts";
import { CREDITS, type Later, PREFIX, SENDERS } from "./instance.ts";

const BIND_MS = 15_000;
const END_MS = 20_000;

export async function expectUnbound({ doctor, lines, smsc, pombo }: Later): Promise<void> {
  const id = "sms_link";
  await waitUntil("a bind is refused", BIND_MS, async () => {
    const [found] = (await doctor.look(id)).findings;
    return found?.seen.includes("the last session ended") ?? false;
  });
  const found = lines.expect(await doctor.look(id), { id, level: "problem", what: "a wrong password" });
  const step = found?.step ?? "";
  lines.claim(`${id}: its step names the password`, /system_id and password of .* must be as/.test(step), () => step);
  const shown = await pombo(...(/pombo (sms links)/.exec(step)?.[1] ?? "false").split(" "));
  lines.claim(`${id}: the command of its step works`, shown.exitCode === 0, () => shown.output);
  lines.claim(`${id}: nobody is bound`, (await smsc.state()).counters.bound === 0);
}

export async function expectBound({ doctor, lines, smsc }: Later): Promise<void> {
  const id = "sms_link";
  await smsc.until({ bound: 1 });
  await waitUntil("the link is bound", BIND_MS, async () => (await doctor.look(id)).findings[0]?.level === "ok");
  lines.expect(await doctor.look(id), { id, level: "ok", what: "as the network gave it", isCure: true });
}

/** Sends so many, and waits until the network has them, and pombo what it says of them. */
export async function text({ api, smsc }: Later, number: number, hasReceipts: boolean): Promise<void> {
  const { counters } = await smsc.state();
  const ids: string[] = [];
  for (let at = 0; at < number; at++) {
    const to = `+${PREFIX}${String(at).padStart(7, "0")}`;
    const body = { to, body: "A sua encomenda chegou.", from: SENDERS.used };
    ids.push((await api.expect(202, "POST", "/api/v1/sms", body)).data.id);
  }
  await smsc.until({ accepted: counters.accepted + number });
  for (const id of ids)
    await waitUntil("a text is sent", END_MS, async () => {
      const { data } = await api.expect(200, "GET", `/api/v1/sms/${id}`);
      return !["queued", "sending"].includes(data.status);
    });
  if (hasReceipts) await smsc.until({ acknowledged: counters.acknowledged + number });
}

export async function expectLateReceipts({ doctor, lines }: Later, level: "warning" | "ok"): Promise<void> {
  const id = "sms_receipts";
  const isCure = level === "ok";
  const what = isCure ? "the network sends them, as the step asks for" : "receipts that never come";
  const found = lines.expect(await doctor.look(id), { id, level, subject: `+${PREFIX}`, what, isCure });
  if (isCure) return;
  const step = found?.step ?? "";
  lines.claim(`${id}: its step asks the network`, step.includes("ask the network whether it sends them"), () => step);
}

export async function expectCredits({ doctor, lines, pombo }: Later): Promise<void> {
  const id = "sms_credits";
  const found = lines.expect(await doctor.look(id), { id, level: "warning", what: `most of ${CREDITS} are used` });
  const step = /pombo (credits grant \S+ \d+)$/.exec(found?.step ?? "")?.[1];
  lines.claim(`${id}: its step is a command`, step !== undefined, () => found?.step ?? "");
  const granted = await pombo(...(step ?? "false").split(" "));
  lines.claim(`${id}: the step works`, granted.exitCode === 0, () => granted.output);
  lines.expect(await doctor.look(id), { id, level: "ok", what: "granted, as the step says", isCure: true });
}

export async function removeSender({ doctor, lines, pombo }: Later): Promise<void> {
  const id = "sms_senders";
  const found = lines.expect(await doctor.look(id), { id, level: "warning", what: "one that was never used" });
  lines.claim(`${id}: it is that one`, found?.subject?.endsWith(SENDERS.unused) ?? false, () => found?.seen ?? "");
  const step = /pombo (sender remove \S+ \S+)$/.exec(found?.step ?? "")?.[1];
  lines.claim(`${id}: its step is a command`, step !== undefined, () => found?.step ?? "");
  const removed = await pombo(...(step ?? "false").split(" "));
  lines.claim(`${id}: the step works`, removed.exitCode === 0, () => removed.output);
  lines.expect(await doctor.look(id), { id, level: "ok", what: "removed, as the step says", isCure: true });
}
