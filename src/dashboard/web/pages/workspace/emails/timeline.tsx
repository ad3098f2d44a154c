// What happened to an email, oldest first: each attempt with why it ended so, and the server's own words.

import { type Data, formatNumber, t, Time, type Tone } from "../../../kit.ts";
import { isolate } from "../parts/words.tsx";
import { KeptDialogue } from "./dialogue.tsx";

type Entry = Data<"GET /api/v1/emails/:id/events">[number];

/** `openAttempt`: the one whose dialogue stands open. */
export function Timeline({ entries, openAttempt }: { entries: Entry[]; openAttempt: number | null }) {
  return (
    <ol class="timeline">
      {entries.map((entry, index) => (
        <li key={index} class={findTone(entry)}>
          <EntryView entry={entry} isOpen={entry.attempt === openAttempt} />
        </li>
      ))}
    </ol>
  );
}

function findTone({ type }: Entry): Tone {
  switch (type) {
    case "email.delivered":
    case "email.sent":
      return "good";
    case "email.bounced":
    case "email.failed":
    case "email.complained":
    case "report.complaint":
    case "report.bounce":
      return "bad";
    case "email.delivery_delayed":
    case "email.suppressed":
    case "report.delay":
      return "slow";
    default:
      return "plain";
  }
}

function EntryView({ entry, isOpen }: { entry: Entry; isOpen: boolean }) {
  const words = t().event;
  const why: Record<string, string> = t().why;
  const { category, reply, reason, outcome } = entry;
  const said = reply ?? reason;
  return (
    <>
      <p class="entry-head">
        <strong>{tellEvent(entry)}</strong>
        <span class="soft small">
          <Time value={entry.at} isFull />
        </span>
      </p>
      {outcome === "unknown" && <p>{words.lost}</p>}
      {category !== undefined && category !== null && (
        <p>
          {why[category] ?? category} {entry.type === "email.delivery_delayed" && words.again}
        </p>
      )}
      <Way entry={entry} />
      {said !== undefined && said !== null && (
        <figure class="reply">
          <figcaption class="small soft">{words.reply}</figcaption>
          <blockquote>
            <bdi>
              {codes(entry)}
              {said}
            </bdi>
          </blockquote>
        </figure>
      )}
      {entry.dialogue !== undefined && entry.dialogue !== null && (
        <KeptDialogue lines={entry.dialogue} isOpen={isOpen} />
      )}
    </>
  );
}

function tellEvent(entry: Entry): string {
  const words = t().event;
  const { host: server } = entry;
  const host = isolate(server ?? "");
  const isNamed = typeof server === "string";
  const attempt = formatNumber(entry.attempt ?? 1);
  switch (entry.type) {
    case "email.scheduled":
      return words.scheduled;
    case "email.queued":
      return words.queued;
    case "email.sending":
      return words.sending(attempt);
    case "email.delivery_delayed":
      return words.delayed(attempt);
    case "email.sent":
      return isNamed ? words.sent(host) : t().status.sent;
    case "email.delivered":
      return isNamed ? words.delivered(host) : t().status.delivered;
    case "email.bounced":
      return isNamed ? words.bounced(host) : t().status.bounced;
    case "email.failed":
      return words.failed;
    case "email.complained":
      return words.complained;
    case "email.suppressed":
      return words.suppressed;
    case "email.canceled":
      return words.canceled;
    case "report.bounce":
      return words.reportBounce;
    case "report.complaint":
      return words.reportComplaint;
    case "report.delay":
      return words.reportDelay;
  }
}

/** Where it went, by which egress where there are some, how long it took, and whether it was encrypted. */
function Way({ entry }: { entry: Entry }) {
  const words = t().event;
  const { address, egress, tls, startedAt, endedAt } = entry;
  if (address === undefined || address === null) return null;
  const seconds =
    startedAt === undefined || endedAt === undefined || endedAt === null
      ? []
      : [words.took(formatNumber((Date.parse(endedAt) - Date.parse(startedAt)) / 1_000, { maximumFractionDigits: 1 }))];
  const left = egress === undefined || egress === null ? [] : [words.leftBy(egress)];
  const parts = [address, ...left, tls === undefined || tls === null ? words.clear : words.tls(tls), ...seconds];
  return <p class="small soft">{parts.join(" · ")}</p>;
}

/** The numbers of a reply, without those that its words begin with. */
function codes({ code, enhancedCode, reply }: Entry): string {
  const numbers = [code, enhancedCode].filter((each) => each !== undefined && each !== null).join(" ");
  if (numbers === "" || reply?.startsWith(String(code)) === true) return "";
  return typeof enhancedCode === "string" && reply?.startsWith(enhancedCode) === true ? `${code} ` : `${numbers} `;
}
