/**
 * The inbox page of the sandbox: one document with its style and script inside, so that it works
 * offline and asks nobody but this server. This file holds the markup and the policy;
 * page-style.ts, page-list.ts and page-reader.ts hold the rest. Nothing of a message is ever put into the
 * markup here or by the script: message parts go in as text, its html into a sandboxed frame.
 */
import { createHash } from "node:crypto";
import { LIST_SCRIPT } from "./page-list.ts";
import { PHONE_SCRIPT } from "./page-phone.ts";
import { PHONE_STYLE } from "./page-phone-style.ts";
import { PHONES } from "./page-phone-markup.ts";
import { READER_SCRIPT } from "./page-reader.ts";
import { PAGE_STYLE as MAIL_STYLE } from "./page-style.ts";

const PAGE_SCRIPT = `"use strict";\n(function () {${LIST_SCRIPT}${PHONE_SCRIPT}${READER_SCRIPT}})();\n`;
const PAGE_STYLE = MAIL_STYLE + PHONE_STYLE;

/** The page and the Content-Security-Policy that it must be served with. */
interface Page {
  html: string;
  policy: string;
}

/** What the page's sample requests are about: the sender's domain, and the number that phones can write to. */
interface PageFacts {
  domain: string;
  /** Null: there are no phones. */
  ownNumber: string | null;
}

export function buildPage(facts: PageFacts): Page {
  // Hashes, not a nonce: the page is the same for everyone, so it is built once.
  const policy = [
    "default-src 'none'",
    `script-src ${hashOf(PAGE_SCRIPT)}`,
    `style-src ${hashOf(PAGE_STYLE)}`,
    "connect-src 'self'",
    // Also holds for a link clicked inside the frame: the message cannot lead it elsewhere.
    "frame-src 'self'",
    "img-src data:",
    "base-uri 'none'",
    "form-action 'none'",
    "frame-ancestors 'none'",
  ].join("; ");
  return { html: markup(facts), policy };
}

function hashOf(source: string): string {
  return `'sha256-${createHash("sha256").update(source).digest("base64")}'`;
}

function markup({ domain, ownNumber }: PageFacts): string {
  return `<!doctype html>
<html lang="en" data-domain="${Bun.escapeHTML(domain)}" data-number="${Bun.escapeHTML(ownNumber ?? "")}">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="color-scheme" content="light dark">
<title>pombo sandbox</title>
<link rel="icon" href="${ICON}">
<style>${PAGE_STYLE}</style>
</head>
<body data-view="list" data-world="mail" data-phone="list">
<header class="bar">
  <h1>${BIRD}<span>pombo <em>sandbox</em></span></h1>
  <div class="worlds" role="group" aria-label="What is shown"${ownNumber === null ? " hidden" : ""}>
    <button id="world-mail" type="button" aria-pressed="true">Mail</button>
    <button id="world-phones" type="button" aria-pressed="false">Phones</button>
  </div>
  <p id="status" class="status" role="status"></p>
  <button id="empty" class="quiet" type="button" hidden>Delete all</button>
</header>
<main id="mail">
  <nav class="column" aria-label="Messages">
    <div class="filter">
      <input id="filter" type="search" placeholder="Filter by recipient or subject" aria-label="Filter by recipient or subject" autocomplete="off" spellcheck="false">
    </div>
    <p id="nothing" class="nothing" hidden></p>
    <ul id="messages"></ul>
    <details class="try">
      <summary>What can I try?</summary>
      ${TRIALS}
      <p class="keys"><kbd>j</kbd> <kbd>k</kbd> next and previous message, <kbd>/</kbd> filter</p>
    </details>
  </nav>
  <section id="welcome" class="welcome" hidden>${WELCOME}</section>
  <article id="reader" class="reader" hidden>${READER}</article>
</main>
<main id="phones" hidden>${PHONES}</main>
<script>${PAGE_SCRIPT}</script>
</body>
</html>
`;
}

const BIRD = `<svg viewBox="0 0 24 24" width="22" height="22" aria-hidden="true"><path fill="currentColor" d="M21.6 6.3 19 5.4a3.6 3.6 0 0 0-6.9.7L11.6 9 3 3.6c-.5 4.4 1 7.7 4.3 9.6L2 17.4c4.7 2.7 12.6 3 15.7-2.7.9-1.7 1.3-3.6 1.3-5.7z"/><circle cx="16" cy="6.6" r=".9" fill="Canvas"/></svg>`;

const ICON =
  "data:image/svg+xml,%3Csvg xmlns='http://www.w3.org/2000/svg' viewBox='0 0 24 24'%3E%3Cpath fill='%23186a6b' d='M21.6 6.3 19 5.4a3.6 3.6 0 0 0-6.9.7L11.6 9 3 3.6c-.5 4.4 1 7.7 4.3 9.6L2 17.4c4.7 2.7 12.6 3 15.7-2.7.9-1.7 1.3-3.6 1.3-5.7z'/%3E%3C/svg%3E";

const TRIALS = `<dl>
        <dt>anyone@any.domain</dt><dd>Delivered: the message lands here.</dd>
        <dt>bounce@any.domain</dt><dd>Refused with 550 5.1.1: a hard bounce. The address is suppressed from then on; <code>bounce+2@</code> is a fresh one.</dd>
        <dt>bounce-later@any.domain</dt><dd>Delivered; a second later a bounce comes back by mail: <code>bounced</code>, and the address is suppressed.</dd>
        <dt>complaint@any.domain</dt><dd>Delivered; a second later a complaint comes back: <code>complained</code>, and the address is suppressed.</dd>
        <dt>defer@any.domain</dt><dd>Greylisted with 451 4.7.1 twice, delivered at the third try.</dd>
        <dt>slow@any.domain</dt><dd>Delivered, but the answer takes 5 seconds.</dd>
        <dt>anyone@anything.invalid</dt><dd>The domain does not exist: <code>delivery_delayed</code> at first, <code>bounced</code> once DNS has said so twice, ten minutes apart.</dd>
      </dl>`;

const WELCOME = `
    <h2>Send your first message</h2>
    <p>This inbox is empty. Every message that is taken ends up here; refused ones are told in the terminal and by <code>GET /api/v1/emails/{id}</code>. Nothing leaves this machine.</p>
    <p>Put the key printed in the terminal into <code>POMBO_KEY</code>, then:</p>
    <div class="sample"><pre id="sample"></pre><button id="copy" type="button">Copy</button></div>
    <h3>What can I try?</h3>
    ${TRIALS}`;

const READER = `
    <button id="back" class="quiet back" type="button">← All messages</button>
    <header>
      <h2 id="subject"></h2>
      <p class="route"><span id="author"></span><span class="arrow" aria-label="to"> → </span><span id="recipient"></span></p>
      <p class="marks"><time id="received"></time><span id="marks"></span></p>
    </header>
    <p id="fault" class="fault" hidden></p>
    <div class="tabs" role="tablist">
      <button role="tab" type="button" id="tab-html" aria-controls="panel-html">HTML</button>
      <button role="tab" type="button" id="tab-text" aria-controls="panel-text">Text</button>
      <button role="tab" type="button" id="tab-source" aria-controls="panel-source">Source</button>
      <button role="tab" type="button" id="tab-details" aria-controls="panel-details">Details</button>
    </div>
    <div class="panel" role="tabpanel" id="panel-html" aria-labelledby="tab-html">
      <p id="no-html" class="nothing" hidden>This message has no html part.</p>
      <iframe id="frame" sandbox="" referrerpolicy="no-referrer" title="The message's html"></iframe>
      <p id="images" class="note" hidden></p>
      <details id="links" class="links" hidden><summary></summary><ul></ul></details>
    </div>
    <div class="panel" role="tabpanel" id="panel-text" aria-labelledby="tab-text"><pre id="text"></pre></div>
    <div class="panel" role="tabpanel" id="panel-source" aria-labelledby="tab-source">
      <p class="note"><span id="source-note"></span> <a id="source-link" target="_blank" rel="noopener">Open the whole source</a></p>
      <pre id="source"></pre>
    </div>
    <div class="panel" role="tabpanel" id="panel-details" aria-labelledby="tab-details"><div id="details"></div></div>`;
