import type { LinkHistory, OperatorLink, LinkTestRecord } from "../../../modules/sms/api/operator-schema.ts";
import { count, facts, plain, timeCell, timeText } from "../../framework/text.ts";

// What the commands about SMS say. Words of SMSCs are shown as text that no terminal obeys.

type Link = typeof OperatorLink.static;
type History = typeof LinkHistory.static;
type Line = (typeof LinkTestRecord.static)["lines"][number];

const STATES: Record<Link["state"], string> = {
  bound: "bound",
  partly: "half bound",
  connecting: "connecting",
  waiting: "not bound",
  refused: "refused",
  closed: "closed",
  not_running: "not running",
};

/** "bound since 2026-01-31 08:15:00", "refused, again at 08:16:00". */
export function stateText({ state, since, retryAt }: Link): string {
  const words = STATES[state];
  if (retryAt !== null) return `${words}, again at ${timeCell(retryAt).slice(11)}`;
  return since === null || state === "closed" ? words : `${words} since ${timeCell(since)}`;
}

export function errorText({ lastError }: Link): string | null {
  if (lastError === null) return null;
  const { at, reason, statusName } = lastError;
  return `${timeCell(at)} ${reason}${statusName === null ? "" : ` (${statusName})`}`;
}

/** What a link's operator can do; only while it is not bound. */
export function adviceText({ state, lastError }: Link): string | null {
  return state === "bound" || lastError === null ? null : lastError.advice;
}

export function linkText(link: Link, { events, pdus }: History): string {
  const { submits } = link;
  const head = facts([
    ["Link", plain(`${link.name} of route ${link.route}`)],
    ["SMSC", plain(`${link.host}:${link.port}, ${TLS[link.tls] ?? link.tls}`)],
    ["State", stateText(link)],
    ["Window", `${link.window.used} of ${link.window.size}`],
    ["Rate", `${link.rate.now} of ${link.rate.configured} segments a second`],
    ["Ids", idsText(link.ids)],
    [
      "Submits",
      `${submits.accepted} accepted, ${submits.refused} refused, ${submits.later} put off, ${submits.throttled} throttled`,
    ],
    ["In doubt", `${submits.unanswered} not answered, ${submits.lost} lost with a connection`],
    ["Received", `${count(link.receipts, "receipt")}, ${count(link.inbound, "text")}`],
    ["Reconnects", String(link.reconnects)],
    ["Last error", plain(errorText(link) ?? "none")],
    ...(adviceText(link) === null ? [] : [["What to do", plain(adviceText(link) ?? "")] as const]),
  ]);
  const happened = events.map(({ at, kind, detail }) =>
    plain(`  ${timeCell(at)}  ${kind.padEnd(9)}  ${detail ?? ""}`).trimEnd(),
  );
  const seen = pdus.map(({ at, direction, command, sequence, statusName, raw }) =>
    [
      `  ${timeCell(at)}  ${direction === "out" ? "->" : "<-"} ${command}  sequence ${sequence}${statusName === null ? "" : `  ${plain(statusName)}`}`,
      `    ${plain(raw)}`,
    ].join("\n"),
  );
  return [head, section("What happened (UTC)", happened), section("Last PDUs", seen)].join("\n\n");
}

const TLS: Record<string, string> = { verified: "TLS", unverified: "TLS, not verified", none: "no TLS" };

function section(title: string, lines: string[]): string {
  return `${title}\n${lines.length === 0 ? "  none" : lines.join("\n")}`;
}

const IDS: Record<string, string> = {
  same: "the same in answers and receipts",
  hex_to_decimal: "decimal in answers, hexadecimal in receipts",
  decimal_to_hex: "hexadecimal in answers, decimal in receipts",
};

export function idsText(ids: string | null): string {
  return ids === null ? "not known yet" : (IDS[ids] ?? ids);
}

const TEXTS = { gsm: "GSM", ucs2: "UCS-2", two_parts: "two parts" } as const;

/** A step of a test: what it was, and the PDU behind it. */
export function lineText(line: Line): string {
  const text =
    line.text === null ? "" : `${TEXTS[line.text]}${line.text === "two_parts" ? `, part ${line.part ?? 1}` : ""}`;
  const head = [timeText(line.at).slice(11, 19), line.kind.padEnd(7), text.padEnd(17), ...detailsOf(line)];
  const lines = [plain(head.join("  ").trimEnd())];
  if (line.raw !== null) lines.push(`    ${line.raw}`);
  return lines.join("\n");
}

function detailsOf(line: Line): string[] {
  const { kind, sequence, dataCoding, esmClass, statusName, status, messageId, ms, receipt, words } = line;
  switch (kind) {
    case "submit":
      return [`sequence ${sequence ?? 0}`, `data_coding ${hex(dataCoding)}`, `esm_class ${hex(esmClass)}`];
    case "answer":
      return [
        `${statusName ?? ""} (0x${(status ?? 0).toString(16).padStart(8, "0")})`,
        `id ${messageId || "none"}`,
        `${ms ?? 0} ms`,
        words,
      ];
    case "receipt": {
      const { id = null, conversion = null, word = null, err = null } = receipt ?? {};
      const base = conversion === null || conversion === "same" ? "" : ` (${BASES[conversion] ?? conversion})`;
      return [word ?? "no stat", `err ${err ?? "none"}`, `id ${id ?? "none"}${base}`, words];
    }
    case "link":
    case "silence":
      return [words];
  }
}

const BASES: Record<string, string> = {
  hex_to_decimal: "hexadecimal of the answer's decimal",
  decimal_to_hex: "decimal of the answer's hexadecimal",
};

function hex(octet: number | null): string {
  return `0x${(octet ?? 0).toString(16).padStart(2, "0")}`;
}
