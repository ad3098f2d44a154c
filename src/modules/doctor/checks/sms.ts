// The links to mobile networks, the receipts that come over them, and what workspaces send with: sender ids and credits.

import { bad, type Finding, ok, quote } from "../finding.ts";
import { readRecent } from "../lately/read-recent.ts";
import type { SenderLook, SmsLook } from "../lately/sms-store.ts";
import type { World } from "../world.ts";

const DAY_MS = 86_400_000;
const SPAN_MS = 7 * DAY_MS;
const HOUR_MS = 3_600_000;
/** Findings of one kind told of. */
const MAX_TOLD = 20;

export async function checkSms(world: World): Promise<Finding[]> {
  const rest = () => new Promise<void>((resolve) => void world.steady.after(0, resolve));
  return [
    ...checkLinks(world),
    ...(await checkSenders(world, rest)),
    ...(await checkReceipts(world, rest)),
    ...(await checkCredits(world, rest)),
  ];
}

function checkLinks({ instance }: World): Finding[] {
  const id = "sms_link";
  const byRoute = Map.groupBy(instance?.links ?? [], ({ route }) => route);
  return [...byRoute].map(([route, links]) => {
    const bound = links.filter(({ isBound }) => isBound).length;
    const why = links.find(({ lastEnd }) => lastEnd !== null)?.lastEnd ?? null;
    const seen = `${bound} of ${links.length} links of the route ${route} are bound${why === null ? "" : `; the last session ended: ${quote(why)}`}.`;
    if (bound === links.length) return ok(id, seen, { subject: route });
    return bad(id, bound === 0 ? "problem" : "warning", {
      subject: route,
      seen,
      step: `pombo sms links shows each; pombo sms test sends one message. Host, port, system_id and password of [[sms.routes]] ${route} must be as the network gave them, and it must let this address in.`,
    });
  });
}

type Rest = () => Promise<void>;

/** Sender ids and workspaces looked at, and SMS of each of these. */
const MAX_SENDERS = 1_000;
const MAX_WORKSPACES = 200;
const MAX_SMS = 1_000;
/** One that was just added is not used yet. */
const NEW_MS = 30 * DAY_MS;

async function checkSenders({ sms, clock }: World, rest: Rest): Promise<Finding[]> {
  const id = "sms_senders";
  const now = clock.now();
  const all = sms.listSenders(MAX_SENDERS);
  if (all.length === 0) return [];
  const old = all.filter(({ createdAt }) => createdAt < now - NEW_MS);
  const byWorkspace = [...Map.groupBy(old, ({ workspaceId }) => workspaceId)].slice(0, MAX_WORKSPACES);
  const unused: { sender: SenderLook; isCut: boolean }[] = [];
  for (const [workspaceId, senders] of byWorkspace) {
    const used = sms.listUsedSenders(workspaceId, MAX_SMS);
    const names = new Set(used);
    const isCut = used.length === MAX_SMS;
    unused.push(...senders.filter(({ name }) => !names.has(name)).map((sender) => ({ sender, isCut })));
    await rest();
  }
  if (unused.length === 0) return [ok(id, "Each sender id is used, or was added in the last 30 days.")];
  return unused.slice(0, MAX_TOLD).map(({ sender: { workspaceUid, name, createdAt }, isCut }) => {
    const which = isCut ? `None of the last ${MAX_SMS.toLocaleString("en")} SMS` : "No SMS";
    const days = Math.floor((now - createdAt) / DAY_MS);
    return bad(id, "warning", {
      subject: `${workspaceUid} ${name}`,
      seen: `${which} of the workspace ${workspaceUid} came from its sender id ${quote(name)}, which was added ${days} days ago.`,
      step: `If it is not needed: pombo sender remove ${workspaceUid} ${quoteForShell(name)}`,
    });
  });
}

function quoteForShell(word: string): string {
  return /^[\w+.-]+$/.test(word) ? word : `'${word.replaceAll("'", String.raw`'\''`)}'`;
}

/** Fewer say nothing. */
const MIN_MESSAGES = 20;
const FEW_RECEIPTS = 0.8;
const LATE_MS = 600_000;
/** Prefixes told of: those with most SMS. */
const MAX_PREFIXES = 10;
const FINAL = new Set<SmsLook["deliveryState"]>([
  "delivered",
  "partially_delivered",
  "expired",
  "deleted",
  "undeliverable",
  "rejected",
]);

async function checkReceipts({ sms, clock, config }: World, rest: Rest): Promise<Finding[]> {
  const now = clock.now();
  const { rows } = await readRecent(sms.listMessagesBefore, (row) => row.id, { since: now - SPAN_MS, rest });
  // A phone that is on has answered by then.
  const asked = rows.filter(
    ({ sentAt, expectsReceipt }) => expectsReceipt === 1 && sentAt !== null && sentAt <= now - HOUR_MS,
  );
  const heads = config.sms.prefixes
    .map((prefix) => prefix.replace(/x+$/, ""))
    .toSorted((left, right) => right.length - left.length);
  const byPrefix = Map.groupBy(asked, ({ recipient }) => heads.find((head) => recipient.startsWith(`+${head}`)));
  return [...byPrefix]
    .toSorted((left, right) => right[1].length - left[1].length)
    .flatMap(([prefix, own]) => (prefix === undefined ? [] : [checkPrefix(prefix, own)]))
    .slice(0, MAX_PREFIXES);
}

function checkPrefix(prefix: string, rows: readonly SmsLook[]): Finding {
  const id = "sms_receipts";
  const about = { subject: `+${prefix}` };
  const final = rows.filter(({ deliveryState }) => FINAL.has(deliveryState));
  const share = final.length / rows.length;
  const waits = final
    .flatMap(({ sentAt, receiptAt }) =>
      sentAt === null || receiptAt === null ? [] : [Math.max(0, receiptAt - sentAt)],
    )
    .toSorted((left, right) => left - right);
  const medianMs = waits[Math.floor(waits.length / 2)] ?? null;
  const median = medianMs === null ? "" : `, half of them within ${Math.max(1, Math.round(medianMs / 1_000))} s`;
  const seen = `+${prefix}, ${rows.length.toLocaleString("en")} SMS in 7 days: a final receipt came for ${Math.floor(100 * share)} %${median}.`;
  if (rows.length < MIN_MESSAGES) return ok(id, seen, about);
  const step = `pombo sms test with a phone of that network shows the receipts that come, and when. If none does, ask the network whether it sends them for all SMS and to this system_id; [[sms.routes]] receipts says for which parts they are waited for, "none" if there are none.`;
  const isLate = medianMs !== null && medianMs > LATE_MS;
  return share < FEW_RECEIPTS || isLate ? bad(id, "warning", { ...about, seen, step }) : ok(id, seen, about);
}

async function checkCredits({ sms, clock }: World, rest: Rest): Promise<Finding[]> {
  const id = "sms_credits";
  const now = clock.now();
  const { rows, isCut } = await readRecent(sms.listCreditsBefore, (row) => row.id, { since: now - SPAN_MS, rest });
  const changes = rows.filter(({ kind }) => kind !== "grant");
  if (changes.length === 0) return [];
  const oldest = rows.reduce((least, { createdAt }) => Math.min(least, createdAt), now);
  // Of what fills a look in less than a week, at its pace.
  const scale = isCut ? SPAN_MS / Math.max(HOUR_MS, now - oldest) : 1;
  const short = [...Map.groupBy(changes, ({ workspaceId }) => workspaceId)].flatMap(([workspaceId, own]) => {
    const used = Math.round(-scale * own.reduce((sum, { amount }) => sum + amount, 0));
    const workspace = sms.findWorkspace(workspaceId);
    return workspace === null || workspace.balance >= used ? [] : [{ ...workspace, used }];
  });
  if (short.length === 0) return [ok(id, "Each workspace has SMS credits for as much as it sent in the last 7 days.")];
  return short
    .toSorted((left, right) => left.balance / left.used - right.balance / right.used)
    .slice(0, MAX_TOLD)
    .map(({ uid, name, balance, used }) =>
      bad(id, "warning", {
        subject: uid,
        seen: `Workspace ${quote(name, 80)} (${uid}) has ${balance.toLocaleString("en")} SMS credits, and used ${used.toLocaleString("en")} in the last 7 days: without credits its SMS are refused.`,
        step: `When they are paid for: pombo credits grant ${uid} ${used - balance}`,
      }),
    );
}
