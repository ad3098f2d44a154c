/** The style of the page's phones, after page-style.ts and in its colours. */
export const PHONE_STYLE = `
.worlds { display: flex; gap: 4px; }
.worlds button {
  background: none; border: 0; border-radius: 7px; padding: 5px 12px; font-size: 14px; color: var(--soft); cursor: pointer;
}
.worlds button:hover { color: var(--ink); }
.worlds button[aria-pressed="true"] { background: var(--chosen); color: var(--ink); font-weight: 600; }
#phone-list { flex: 1; overflow-y: auto; min-height: 0; }
#phone-list button {
  display: block; width: 100%; padding: 11px 16px 12px; text-align: left; cursor: pointer;
  background: none; border: 0; border-bottom: 1px solid var(--line);
}
#phone-list button:hover { background: var(--ground); }
#phone-list button[aria-current="true"] { background: var(--chosen); box-shadow: inset 3px 0 var(--accent); }
#phone-list button:focus-visible { outline-offset: -3px; }
#phone-list .top { display: flex; gap: 10px; align-items: baseline; }
#phone-list .to { flex: 1; font-weight: 600; font-variant-numeric: tabular-nums; }
#phone-list .when { color: var(--soft); font-size: 12px; font-variant-numeric: tabular-nums; white-space: nowrap; }
#phone-list .title { display: block; color: var(--soft); font-size: 13px; }
.stage { flex: 1; min-width: 0; display: flex; justify-content: center; padding: 22px; min-height: 0; }
.phone {
  width: 100%; max-width: 430px; display: flex; flex-direction: column; min-height: 0;
  background: var(--surface); border: 1px solid var(--line); border-radius: 26px; overflow: hidden;
}
.phone > header { display: flex; align-items: center; gap: 10px; padding: 13px 18px; border-bottom: 1px solid var(--line); }
.phone h2 { font-size: 16px; font-variant-numeric: tabular-nums; }
#bubbles { flex: 1; min-height: 0; overflow-y: auto; padding: 16px; display: flex; flex-direction: column; gap: 12px; }
.bubble { max-width: 84%; align-self: flex-start; }
.bubble.out { align-self: flex-end; text-align: right; }
.bubble p {
  display: inline-block; text-align: left; padding: 8px 13px; border-radius: 16px; border-bottom-left-radius: 5px;
  background: var(--plain-ground); white-space: pre-wrap; overflow-wrap: anywhere;
}
.bubble.out p { background: var(--chosen); border-bottom-left-radius: 16px; border-bottom-right-radius: 5px; }
.bubble .who { display: block; font-size: 12px; font-weight: 600; color: var(--accent); margin: 0 4px 2px; overflow-wrap: anywhere; }
.bubble .facts { display: block; font-size: 11.5px; color: var(--soft); margin: 2px 4px 0; font-variant-numeric: tabular-nums; }
.answer { border-top: 1px solid var(--line); padding: 11px 14px 14px; display: grid; gap: 8px; }
.answer .line { display: flex; gap: 8px; align-items: center; }
.answer label { font-size: 13px; color: var(--soft); }
.answer select, .answer textarea {
  font: inherit; color: inherit; background: var(--ground); border: 1px solid var(--line); border-radius: 8px; padding: 6px 9px;
}
.answer textarea { flex: 1; min-width: 0; resize: none; height: 38px; }
.answer .send { background: var(--accent); color: var(--surface); border: 0; border-radius: 8px; padding: 7px 14px; cursor: pointer; }
.answer .send:disabled { opacity: .6; }
.answer p { font-size: 12.5px; color: var(--soft); }
.answer #said { color: var(--bad); }
.endings { display: grid; grid-template-columns: max-content 1fr; gap: 5px 16px; font-size: 13.5px; }
.endings dd { margin: 0; }
.endings .end { color: var(--ink); }
.column .endings { grid-template-columns: 1fr; gap: 0; }
.column .endings dd { margin-bottom: 8px; }
.phone-back { display: none; }

@media (max-width: 760px) {
  .bar h1 span { display: none; }
  .status { display: none; }
  .status.lost { display: block; }
  .stage { padding: 0; }
  .phone { max-width: none; border: 0; border-radius: 0; }
  .phone-back { display: block; }
  body[data-phone="open"] #phones .column, body[data-phone="list"] #phones .phone { display: none; }
  body[data-phone="list"] #phones { flex-direction: column; overflow-y: auto; }
  body[data-phone="list"] #phones .column { flex: none; }
  .endings { grid-template-columns: 1fr; gap: 0; }
  .endings dd { margin-bottom: 9px; }
}
`;
