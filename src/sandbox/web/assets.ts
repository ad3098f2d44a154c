import css from "./page.css" with { type: "text" };
import dom from "./dom.js" with { type: "text" };
import markup from "./page.html" with { type: "text" };
import mail from "./mail.js" with { type: "text" };
import page from "./page.js" with { type: "text" };
import phones from "./phones.js" with { type: "text" };
import reader from "./reader.js" with { type: "text" };
import { findEnd, MAGIC_NUMBERS, type MagicNumber, buildNumber } from "../smsc/magic-numbers.ts";

// The sandbox's page, its style and its scripts. It works offline and asks no other server.

export interface PageFile {
  body: string;
  type: string;
}

const STYLE = "text/css; charset=utf-8";
const SCRIPT = "text/javascript; charset=utf-8";

/** What the page loads, by name under /sandbox/. */
export const PAGE_FILES: Record<string, PageFile> = {
  "page.css": { body: css, type: STYLE },
  "dom.js": { body: dom, type: SCRIPT },
  "mail.js": { body: mail, type: SCRIPT },
  "page.js": { body: page, type: SCRIPT },
  "phones.js": { body: phones, type: SCRIPT },
  "reader.js": { body: reader, type: SCRIPT },
};

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
  "form-action 'none'",
  "frame-ancestors 'none'",
].join("; ");

/** `domain`: the sender of the sample request. `ownNumber`: what phones can write to; null: there are no phones. */
export function buildPage({ domain, ownNumber }: { domain: string; ownNumber: string | null }): string {
  // The types of Bun know no import of html as text.
  return (markup as unknown as string)
    .replaceAll("{{domain}}", Bun.escapeHTML(domain))
    .replaceAll("{{ownNumber}}", Bun.escapeHTML(ownNumber ?? ""))
    .replaceAll("{{phonesHidden}}", ownNumber === null ? " hidden" : "")
    .replaceAll("{{magicNumbers}}", `<dl class="endings">${MAGIC_NUMBERS.map(describeNumber).join("")}</dl>`);
}

function describeNumber(row: MagicNumber): string {
  return `<dt>${buildNumber(row)}</dt><dd>${Bun.escapeHTML(row.told)} <span class="end">→ ${Bun.escapeHTML(findEnd(row))}</span></dd>`;
}
