import { expect, test } from "bun:test";
import { type Instance, startInstance } from "../../support/fakes/instance.ts";
import { omit } from "../../support/api/kit.ts";

const EMAILS = "/api/v1/emails";
const MIB = 1024 * 1024;
/** Generous, as tests share a machine: a stop of this length is a fault anywhere. */
const WORST_PING_MS = 1_000;
const MAX_GROWTH_BYTES = 500 * MIB;

const HEAVY: [what: string, html: string][] = [
  ["20,000 nested elements", "<div>".repeat(20_000)],
  ["20,000 nested and closed elements", `${"<div>".repeat(20_000)}x${"</div>".repeat(20_000)}`],
  ["60,000 nested bold", "<b>".repeat(60_000)],
  ["13,000 nested tables", "<table><tr><td>".repeat(13_000)],
  ["20,000 nested lists", "<ul><li>a".repeat(20_000)],
  ["150 nested quotes", `${"<blockquote>".repeat(150)}${"x<br>".repeat(5_000)}`],
  ["a megabyte of <p>", "<p>".repeat(333_333)],
  ["200 KB of <p>x</p>", "<p>x</p>".repeat(24_000)],
  ["a megabyte of <", "<".repeat(1_000_000)],
  ["a megabyte of &", "&".repeat(1_000_000)],
  ["a megabyte of entities", "&amp;".repeat(200_000)],
  ["33,000 numeric entities", "&#x1f600;".repeat(22_000)],
  ["entities beyond Unicode", "&#99999999;&#xffffff;&#xd800;&#0;".repeat(5_000)],
  ["a comment never closed", `<!--${"x<!--".repeat(190_000)}`],
  ["a megabyte of open scripts", "<script ".repeat(125_000)],
  ["a megabyte of scripts", "<script></script>".repeat(58_000)],
  ["a tag of 33,000 attributes", `<a ${'b="c" '.repeat(33_000)}>`],
  ["16,000 nested links", '<a href="https://example.com/x">'.repeat(6_000)],
  ["a list that starts at 999999999999", '<ol start="999999999999" type="i"><li>a</li></ol>'.repeat(1_000)],
  ["a megabyte of line breaks", "\n ".repeat(500_000)],
  ["one word of 200 KB", "a".repeat(199_000)],
  ["a million emoji", "😀".repeat(1_000_000)],
];

/** Asks for something small again and again until told to end; the longest that it took, in ms. */
async function pingUntil(pombo: Instance, isDone: () => boolean): Promise<number> {
  let worst = 0;
  while (!isDone()) {
    const startedAt = performance.now();
    await pombo.workspace.call("GET", "/health");
    worst = Math.max(worst, performance.now() - startedAt);
  }
  return worst;
}

test("html made to overwhelm is accepted while others are served, and is delivered in bounded memory", async () => {
  await using pombo = await startInstance();
  await pombo.workspace.call("POST", EMAILS, { body: pombo.email() });
  Bun.gc(true);
  const before = process.memoryUsage.rss();
  const slow: string[] = [];
  for (const [what, html] of HEAVY) {
    let isDone = false;
    const startedAt = performance.now();
    const sending = pombo.workspace
      .call("POST", EMAILS, { body: { ...omit(pombo.email(), "text"), html } })
      .finally(() => (isDone = true));
    const worst = await pingUntil(pombo, () => isDone);
    const answer = await sending;
    const tookMs = Math.round(performance.now() - startedAt);
    expect([what, answer.status]).toEqual([what, 202]);
    expect([what, worst < WORST_PING_MS]).toEqual([what, true]);
    if (tookMs > 50) slow.push(`${what}: ${tookMs} ms, others waited ${Math.round(worst)} ms`);
    const { data } = (await pombo.workspace.call("GET", `${EMAILS}/${answer.body.data.id}`)).body;
    expect([what, data.text === null || [...data.text].length <= 100_000]).toEqual([what, true]);
  }
  await pombo.mx.until(() => pombo.mx.messages.length === HEAVY.length + 1);
  await pombo.app.worker.idle();
  // The fake server keeps every message it got.
  const kept = pombo.mx.messages.reduce((sum, { content, stuffed }) => sum + content.length + stuffed.length, 0) * 2;
  Bun.gc(true);
  const growth = process.memoryUsage.rss() - before - kept;
  console.log(`${slow.join("\n")}\nmemory grew by ${Math.round(growth / MIB)} MiB, without what the fake server keeps`);
  expect(growth).toBeLessThan(MAX_GROWTH_BYTES);
  expect(pombo.bugs).toEqual([]);
}, 60_000);

test("a full batch of html lets others through while it is converted", async () => {
  await using pombo = await startInstance();
  const item = { ...omit(pombo.email(), "text"), html: "<p>Olá <b>Maria</b></p>".repeat(400) };
  let isDone = false;
  const sending = pombo.workspace
    .call("POST", `${EMAILS}/batch`, { body: { emails: Array.from({ length: 1000 }, () => item) } })
    .finally(() => (isDone = true));
  const worst = await pingUntil(pombo, () => isDone);
  expect((await sending).status).toBe(202);
  expect(worst).toBeLessThan(WORST_PING_MS);
}, 60_000);
