/** The markup of the page's phones; what is told of magic numbers comes from their one table. */
import { endOf, MAGIC_NUMBERS, type MagicNumber, numberOf } from "../smsc/magic-numbers.ts";

const ENDINGS = `<dl class="endings">${MAGIC_NUMBERS.map(ending).join("")}</dl>`;

function ending(row: MagicNumber): string {
  return `<dt>${numberOf(row)}</dt><dd>${Bun.escapeHTML(row.told)} <span class="end">→ ${Bun.escapeHTML(endOf(row))}</span></dd>`;
}

const RULE = `Seven digits that begin with five zeros choose what happens, after any operator's prefix (82 to 87). Every other number gets its text.`;

export const PHONES = `
  <nav class="column" aria-label="Phones">
    <div class="filter">
      <input id="phone-filter" type="search" placeholder="Filter by number" aria-label="Filter by number" autocomplete="off" spellcheck="false">
    </div>
    <p id="no-phones" class="nothing" hidden></p>
    <ul id="phone-list"></ul>
    <details class="try">
      <summary>Numbers that behave on purpose</summary>
      ${ENDINGS}
    </details>
  </nav>
  <section id="phone" class="stage" hidden>
    <article class="phone" aria-labelledby="phone-number">
      <header>
        <button id="phone-back" class="quiet phone-back" type="button">← Phones</button>
        <h2 id="phone-number"></h2>
      </header>
      <ul id="bubbles" aria-live="polite"></ul>
      <div class="answer">
        <p id="no-answer" hidden></p>
        <div class="line"><label for="answer-to">Write back to</label><select id="answer-to"></select></div>
        <div class="line">
          <textarea id="answer" aria-label="What this phone writes back" placeholder="STOP, or anything else"></textarea>
          <button id="send" class="send" type="button">Send</button>
        </div>
        <p id="said" role="status"></p>
      </div>
    </article>
  </section>
  <section id="phone-welcome" class="welcome" hidden>
    <h2>Send a text</h2>
    <p>Put the key printed in the terminal into <code>POMBO_KEY</code>, then:</p>
    <div class="sample"><pre id="phone-sample"></pre><button id="phone-copy" type="button">Copy</button></div>
    <h3>Numbers that behave on purpose</h3>
    <p>${RULE}</p>
    ${ENDINGS}
  </section>
`;
