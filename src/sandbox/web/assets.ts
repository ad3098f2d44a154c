// The sandbox's page, its style and its scripts. It works offline and asks no other server.

import css from "./page.css" with { type: "text" };
import reset from "../../platform/web/reset.css" with { type: "text" };
import tokens from "../../platform/web/tokens.css" with { type: "text" };
import dom from "./dom.js" with { type: "text" };
import markup from "./page.html" with { type: "text" };
import mail from "./mail.js" with { type: "text" };
import page from "./page.js" with { type: "text" };
import phones from "./phones.js" with { type: "text" };
import reader from "./reader.js" with { type: "text" };
import { findEnd, MAGIC_NUMBERS, type MagicNumber, buildNumber } from "../smsc/magic-numbers.ts";

/** What the page loads, by name under /sandbox/. */
const FILES = new Map([
  ["page.css", tokens + reset + css],
  ["dom.js", dom],
  ["mail.js", mail],
  ["page.js", page],
  ["phones.js", phones],
  ["reader.js", reader],
]);

/** One of the page's files; null: there is none of that name. */
export function findPageFile(name: string): { body: string; type: string } | null {
  const body = FILES.get(name);
  const type = name.endsWith(".css") ? "text/css" : "text/javascript";
  return body === undefined ? null : { body, type: `${type}; charset=utf-8` };
}

/** The Content-Security-Policy of the page. */
export const PAGE_POLICY = [
  "default-src 'none'",
  "script-src 'self'",
  "style-src 'self'",
  "connect-src 'self'",
  // Also holds for a link clicked inside the frame: the message cannot lead it elsewhere.
  "frame-src 'self'",
  "img-src data:",
  "base-uri 'none'",
  // To the dashboard.
  "form-action 'self'",
  "frame-ancestors 'none'",
].join("; ");

interface PageWords {
  /** The sender of the sample request. */
  domain: string;
  /** The number that phones can write to; null: there are no phones. */
  ownNumber: string | null;
  /** A phone's number. */
  number?: string | undefined;
}

export function buildPage({ domain, ownNumber, number = "+258841234567" }: PageWords): string {
  // The types of Bun know no import of html as text.
  return (markup as unknown as string)
    .replaceAll("{{domain}}", Bun.escapeHTML(domain))
    .replaceAll("{{ownNumber}}", Bun.escapeHTML(ownNumber ?? ""))
    .replaceAll("{{number}}", Bun.escapeHTML(number))
    .replaceAll("{{phonesHidden}}", ownNumber === null ? " hidden" : "")
    .replaceAll(
      "{{magicNumbers}}",
      `<dl class="endings">${MAGIC_NUMBERS.map((row) => describeNumber(row, number)).join("")}</dl>`,
    );
}

function describeNumber(row: MagicNumber, number: string): string {
  return `<dt>${buildNumber(row, number)}</dt><dd>${Bun.escapeHTML(row.told)} <span class="end">→ ${Bun.escapeHTML(findEnd(row))}</span></dd>`;
}
