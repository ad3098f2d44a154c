/** The style of the inbox page. No colour is said twice: both themes fill the same names. */
export const PAGE_STYLE = `
:root {
  color-scheme: light dark;
  --ground: #f6f5f2; --surface: #ffffff; --sunken: #f0efeb; --line: #e1dfd8; --ink: #1d2321;
  --soft: #5d6662; --accent: #186a6b; --chosen: #e2eeec; --good: #1c6b3c; --good-ground: #e0f1e5;
  --bad: #a32626; --bad-ground: #fbe4e2; --plain-ground: #ebe9e3;
  --mono: ui-monospace, "SF Mono", "Cascadia Mono", Menlo, Consolas, monospace;
}
@media (prefers-color-scheme: dark) {
  :root {
    --ground: #141817; --surface: #1b201f; --sunken: #131716; --line: #2d3432; --ink: #e6eae8;
    --soft: #9aa5a1; --accent: #6cc5c1; --chosen: #213433; --good: #86d8a4; --good-ground: #1b3526;
    --bad: #f59d96; --bad-ground: #432120; --plain-ground: #2a302e;
  }
}
* { box-sizing: border-box; }
[hidden] { display: none !important; }
html, body { height: 100%; margin: 0; }
body {
  display: flex; flex-direction: column; background: var(--ground); color: var(--ink);
  font: 15px/1.5 system-ui, -apple-system, "Segoe UI", Roboto, "Helvetica Neue", sans-serif;
}
h1, h2, h3, p, ul, dl, dd, pre { margin: 0; padding: 0; }
ul { list-style: none; }
a { color: var(--accent); }
code, kbd, pre { font-family: var(--mono); font-size: 0.87em; }
button, input { font: inherit; color: inherit; }
:focus-visible { outline: 2px solid var(--accent); outline-offset: 2px; }

.bar {
  display: flex; align-items: center; gap: 16px; padding: 0 20px; height: 56px; flex: none;
  background: var(--surface); border-bottom: 1px solid var(--line);
}
.bar h1 { display: flex; align-items: center; gap: 9px; font-size: 16px; font-weight: 650; white-space: nowrap; }
.bar h1 svg { color: var(--accent); }
.bar em { font-style: normal; font-weight: 400; color: var(--soft); }
.status { flex: 1; color: var(--soft); font-size: 13px; overflow: hidden; text-overflow: ellipsis; white-space: nowrap; }
.status.lost { color: var(--bad); }
button.quiet {
  background: none; border: 1px solid var(--line); border-radius: 7px; padding: 5px 12px;
  font-size: 13px; cursor: pointer; white-space: nowrap;
}
button.quiet:hover { background: var(--sunken); }

main { flex: 1; display: flex; min-height: 0; }
.column {
  width: 372px; flex: none; display: flex; flex-direction: column; min-height: 0;
  background: var(--surface); border-right: 1px solid var(--line);
}
.filter { padding: 12px; border-bottom: 1px solid var(--line); }
.filter input {
  width: 100%; padding: 7px 11px; border: 1px solid var(--line); border-radius: 8px; background: var(--ground);
}
.filter input::placeholder { color: var(--soft); }
#messages { flex: 1; overflow-y: auto; min-height: 0; }
#messages button {
  display: block; width: 100%; padding: 11px 16px 12px; text-align: left; cursor: pointer;
  background: none; border: 0; border-bottom: 1px solid var(--line);
}
#messages button:hover { background: var(--ground); }
#messages button[aria-current="true"] { background: var(--chosen); box-shadow: inset 3px 0 var(--accent); }
#messages button:focus-visible { outline-offset: -3px; }
#messages .top { display: flex; gap: 10px; align-items: baseline; }
#messages .to { flex: 1; font-weight: 600; }
#messages .when { color: var(--soft); font-size: 12px; font-variant-numeric: tabular-nums; white-space: nowrap; }
#messages .fresh .when::before { content: ""; display: inline-block; width: 8px; height: 8px; margin-right: 6px; border-radius: 50%; background: var(--accent); }
#messages .bottom { display: flex; gap: 6px; align-items: center; margin-top: 3px; }
#messages .from { flex: 1; color: var(--soft); font-size: 13px; }
.to, .title, .from { overflow: hidden; text-overflow: ellipsis; white-space: nowrap; }
#messages .title { display: block; }
.nothing { padding: 28px 20px; color: var(--soft); text-align: center; }
.mark {
  display: inline-block; padding: 1px 7px; border-radius: 99px; font-size: 11px; font-weight: 600;
  line-height: 17px; background: var(--plain-ground); color: var(--soft); white-space: nowrap;
}
.mark.good { background: var(--good-ground); color: var(--good); }
.mark.bad { background: var(--bad-ground); color: var(--bad); }

.try { flex: none; border-top: 1px solid var(--line); max-height: 60%; overflow-y: auto; }
.try summary { padding: 12px 16px; cursor: pointer; font-weight: 600; font-size: 14px; }
.try dl, .try .keys { padding: 0 16px 12px; font-size: 13px; }
dt { font-family: var(--mono); font-size: 13px; color: var(--accent); }
dd { color: var(--soft); margin-bottom: 9px; }
.keys { color: var(--soft); }
kbd { padding: 1px 6px; border: 1px solid var(--line); border-radius: 4px; background: var(--ground); }

.welcome { flex: 1; overflow-y: auto; padding: 48px clamp(20px, 6vw, 72px); }
.welcome > * { max-width: 700px; }
.welcome h2 { font-size: 24px; line-height: 1.25; margin-bottom: 12px; }
.welcome h3 { font-size: 16px; margin: 32px 0 12px; }
.welcome p { margin-bottom: 10px; color: var(--soft); }
.sample { position: relative; margin-top: 14px; }
.sample pre { padding: 18px; background: var(--surface); border: 1px solid var(--line); border-radius: 10px; white-space: pre-wrap; overflow-wrap: anywhere; }
.sample button {
  position: absolute; top: 10px; right: 10px; padding: 3px 11px; font-size: 13px; cursor: pointer;
  background: var(--surface); border: 1px solid var(--line); border-radius: 7px;
}

.reader { flex: 1; min-width: 0; display: flex; flex-direction: column; min-height: 0; }
.reader > header { padding: 22px 28px 14px; }
.reader h2 { font-size: 21px; line-height: 1.3; overflow-wrap: anywhere; max-height: 5.3em; overflow-y: auto; }
.route { margin-top: 5px; overflow-wrap: anywhere; max-height: 4.6em; overflow-y: auto; }
.arrow { color: var(--soft); }
.marks { display: flex; gap: 10px; align-items: center; margin-top: 7px; color: var(--soft); font-size: 13px; flex-wrap: wrap; }
#marks { display: flex; gap: 6px; }
.back { display: none; align-self: flex-start; margin: 12px 0 0 16px; }
.fault { margin: 0 28px 14px; padding: 9px 13px; border-radius: 8px; background: var(--bad-ground); color: var(--bad); font-size: 14px; overflow-wrap: anywhere; }
.tabs { display: flex; gap: 4px; padding: 0 24px; border-bottom: 1px solid var(--line); flex: none; }
.tabs button { padding: 8px 12px; background: none; border: 0; border-bottom: 2px solid transparent; margin-bottom: -1px; color: var(--soft); cursor: pointer; }
.tabs button:hover { color: var(--ink); }
.tabs button[aria-selected="true"] { color: var(--ink); font-weight: 600; border-bottom-color: var(--accent); }
.panel { flex: 1; min-height: 0; overflow: auto; background: var(--surface); }
#panel-html { display: flex; flex-direction: column; }
/* White in both themes: mail is written for white paper, and says so only by leaving it out. */
/* With the 8px that a browser gives a body, the message begins below the subject. */
#frame { flex: 1; min-height: 120px; width: 100%; border: 0; padding: 14px 20px; background: #ffffff; color-scheme: light; }
.panel > pre { padding: 22px 28px; white-space: pre-wrap; overflow-wrap: anywhere; line-height: 1.6; }
.note { padding: 9px 28px; font-size: 13px; color: var(--soft); background: var(--sunken); border-bottom: 1px solid var(--line); }
#images { border-top: 1px solid var(--line); border-bottom: 0; }
.links { flex: none; max-height: 45%; overflow-y: auto; border-top: 1px solid var(--line); font-size: 13px; }
.links summary { padding: 9px 28px; cursor: pointer; }
.links li { padding: 0 28px 8px; overflow-wrap: anywhere; }
#details { padding: 22px 28px; display: grid; gap: 26px; max-width: 980px; }
#details h3 { font-size: 14px; margin-bottom: 8px; }
.pairs { display: grid; grid-template-columns: minmax(110px, max-content) 1fr; gap: 5px 20px; font-size: 14px; }
.pairs dt { font-family: inherit; font-size: inherit; color: var(--soft); max-width: 220px; overflow-wrap: anywhere; }
.pairs dd { margin: 0; color: var(--ink); overflow-wrap: anywhere; min-width: 0; }
.pairs.wire dd { font-family: var(--mono); font-size: 12.5px; }

@media (max-width: 760px) {
  .bar { padding: 0 14px; gap: 12px; }
  .column { width: 100%; border-right: 0; }
  .back { display: block; }
  body[data-view="reader"] .column, body[data-view="list"] .reader { display: none; }
  body[data-view="list"] main.vacant { flex-direction: column; overflow-y: auto; }
  main.vacant .column { display: none; }
  .welcome { padding: 28px 18px; }
  .sample pre { padding-top: 50px; }
  .reader > header { padding: 12px 18px; }
  .tabs { padding: 0 10px; }
  .panel > pre, #details { padding: 18px; }
  .note, .links summary, .links li { padding-left: 18px; padding-right: 18px; }
  #frame { padding: 10px; }
  .fault { margin: 0 18px 12px; }
  .pairs { grid-template-columns: 1fr; gap: 0; }
  .pairs dd { margin-bottom: 9px; }
  .pairs dt { max-width: none; font-size: 12px; }
}
`;
