// The output of `pombo sms`. Text from SMSCs is shown without control characters.

import type { LinkHistory, OperatorLink, LinkTestRecord } from "../../../modules/sms/api/operator-schema.ts";
import { paintStatus } from "../../framework/screen.ts";
import { count, labelledLines, plain, timeCell, timeText } from "../../framework/text.ts";

type Link = typeof OperatorLink.static;
type History = typeof LinkHistory.static;
type Line = (typeof LinkTestRecord.static)["lines"][number];

export const STATES: Record<Link["state"], string> = {
  bound: "bound",
  partly: "half bound",
  connecting: "connecting",
  waiting: "not bound",
  refused: "refused",
  closed: "closed",
  not_running: "not running",
};

/** "bound since 2026-01-31 08:15:00", "refused, again at 08:16:00". */
function formatLinkState({ state, since, retryAt }: Link): string {
  const words = STATES[state];
  if (retryAt !== null) return `${words}, again at ${timeCell(retryAt).slice(11)}`;
  return since === null || state === "closed" ? words : `${words} since ${timeCell(since)}`;
}

export function formatLastError({ lastError }: Link): string | null {
  if (lastError === null) return null;
  const { at, reason, statusName } = lastError;
  return `${timeCell(at)} ${reason}${statusName === null ? "" : ` (${statusName})`}`;
}

/** Advice for the operator, while the link is not bound. */
export function getAdvice({ state, lastError }: Link): string | null {
  return state === "bound" || lastError === null ? null : lastError.advice;
}

export function formatLink(link: Link, { events, pdus }: History): string {
  const { submits } = link;
  const head = labelledLines([
    ["Link", plain(`${link.name} of route ${link.route}`)],
    ["SMSC", plain(`${link.host}:${link.port}, ${TLS[link.tls] ?? link.tls}`)],
    ["State", paintStatus(formatLinkState(link))],
    ["Window", `${link.window.used} of ${link.window.size}`],
    ["Rate", `${link.rate.now} of ${link.rate.configured} segments a second`],
    ["Message ids", formatIdFormat(link.ids)],
    [
      "Submits",
      `${submits.accepted} accepted, ${submits.refused} refused, ${submits.later} deferred, ${submits.throttled} throttled`,
    ],
    ["Uncertain", `${submits.unanswered} not answered, ${submits.lost} lost with a connection`],
    ["Received", `${count(link.receipts, "receipt")}, ${count(link.inbound, "message")}`],
    ["Reconnects", String(link.reconnects)],
    ["Last error", plain(formatLastError(link) ?? "none")],
    ...(getAdvice(link) === null ? [] : [["Advice", plain(getAdvice(link) ?? "")] as const]),
  ]);
  const history = events.map(({ at, kind, detail }) =>
    plain(`  ${timeCell(at)}  ${kind.padEnd(9)}  ${detail ?? ""}`).trimEnd(),
  );
  const traffic = pdus.map(({ at, direction, command, sequence, statusName, raw }) =>
    [
      `  ${timeCell(at)}  ${direction === "out" ? "->" : "<-"} ${command}  sequence ${sequence}${statusName === null ? "" : `  ${plain(statusName)}`}`,
      `    ${plain(raw)}`,
    ].join("\n"),
  );
  return [head, section("History (UTC)", history), section("Last PDUs", traffic)].join("\n\n");
}

const TLS: Record<string, string> = { verified: "TLS", unverified: "TLS, not verified", none: "no TLS" };

function section(title: string, lines: string[]): string {
  return `${title}\n${lines.length === 0 ? "  none" : lines.join("\n")}`;
}

const IDS: Record<string, string> = {
  same: "the same in responses and receipts",
  hex_to_decimal: "decimal in responses, hexadecimal in receipts",
  decimal_to_hex: "hexadecimal in responses, decimal in receipts",
};

export function formatIdFormat(ids: string | null): string {
  return ids === null ? "unknown yet" : (IDS[ids] ?? ids);
}

const MESSAGES = { gsm: "GSM", ucs2: "UCS-2", two_parts: "two parts" } as const;

/** A step of a link test, with its PDU. */
export function formatTestLine(line: Line): string {
  const text =
    line.text === null ? "" : `${MESSAGES[line.text]}${line.text === "two_parts" ? `, part ${line.part ?? 1}` : ""}`;
  const head = [timeText(line.at).slice(11, 19), line.kind.padEnd(7), text.padEnd(17), ...formatDetails(line)];
  const lines = [plain(head.join("  ").trimEnd())];
  if (line.raw !== null) lines.push(`    ${line.raw}`);
  return lines.join("\n");
}

function formatDetails(line: Line): string[] {
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
  hex_to_decimal: "hexadecimal of the response's decimal",
  decimal_to_hex: "decimal of the response's hexadecimal",
};

function hex(octet: number | null): string {
  return `0x${(octet ?? 0).toString(16).padStart(2, "0")}`;
}
