import { describe, expect, test } from "bun:test";
import { textFromHtml } from "../../../../../src/modules/emails/content/text-from-html.ts";
import { seeded } from "../../../../support/db/temporary.ts";
import { cpuTime } from "../../../../support/cpu-time.ts";

/** Padding: long html is read as short html is. */
const LONG = " ".repeat(200_001);

describe("the text of an email that came with html alone", () => {
  test.each([
    ["a paragraph", "<p>Olá, Maria</p>", "Olá, Maria"],
    ["paragraphs stand apart", "<p>one</p><p>two</p>", "one\n\ntwo"],
    ["a line break", "one<br>two", "one\ntwo"],
    ["entities are decoded", "a &lt; b &amp;&nbsp;c &#233; &#x20AC; &quot;", 'a < b &\u00a0c é € "'],
    ["a link keeps its address", '<a href="https://loja.test/x">Pay</a>', "Pay [https://loja.test/x]"],
    [
      "a link that is its own text is not told twice",
      '<a href="https://loja.test">https://loja.test</a>',
      "https://loja.test",
    ],
    ["an image leaves what it says", 'a<img src="https://loja.test/x.png" alt="logo">b', "a logo b"],
    ["an image that says nothing leaves nothing", 'a<img src="https://loja.test/x.png" alt="">b', "ab"],
    ["a list has its marks", "<ul><li>one</li><li>two</li></ul>", " * one\n * two"],
    ["a quote is marked", "<blockquote>said</blockquote>", "> said"],
    ["script and style are left out", "<style>p{}</style><script>alert(1)</script>text", "text"],
    ["a comment is left out", "a<!-- <p>no</p> -->b", "ab"],
    ["white space folds", "<p>  a \n\t b  </p>", "a b"],
    ["nothing", "", ""],
    ["markup alone", '<div><img src="x"></div>', ""],
  ])("%s", (_, html, text) => {
    expect(textFromHtml(html)).toBe(text);
  });

  test("lines are folded at 78 characters, words are not cut", () => {
    const text = textFromHtml(`<p>${"palavra ".repeat(50)}${"x".repeat(200)}</p>`);
    const lines = text.split("\n");
    expect(lines.filter((line) => line.length > 78)).toEqual(["x".repeat(200)]);
  });
});

describe("of long html", () => {
  test.each([
    ["tags go, block ends become line ends", "<p>one</p><div>two</div>three<br>four", "one\n\ntwo\nthree\nfour"],
    ["the common entities are decoded", "a &lt; b &amp; c &#233; &#x20ac; &quot;&apos;", "a < b & c é € \"'"],
    [
      "unknown entities stay, impossible ones are replaced (HTML §13.2.5.80)",
      "&nosuch; &#xD800; &#99999999; &#0; &",
      "&nosuch; \ufffd \ufffd \ufffd &",
    ],
    [
      "script, style, title and comments are left out",
      "<title>t</title><style>p{}</style>a<script>if (a<b) c()</script>b<!-- x > y -->c",
      "abc",
    ],
    ["a header is not a head", "<header>Loja</header>", "Loja"],
    ["a head without its end keeps the body", "<head><title>t</title><body>text", "text"],
    ["an unclosed comment swallows the rest", "a<!-- b <p>c</p>", "a"],
    ["an unclosed script swallows the rest", "a<script>b <p>c</p>", "a"],
    ["an unclosed tag swallows the rest", "a<p class=x b", "a"],
    ["a < that begins no tag is a character", "1 < 2 and 2 <3", "1 < 2 and 2 <3"],
  ])("%s", (_, html, text) => {
    expect(textFromHtml(html + LONG).replaceAll(/\n{2,}/g, "\n\n")).toBe(text);
  });
});

/** What a person could send to stop the loop: each takes a parser's patience in another way. */
const NASTY: [name: string, html: string][] = [
  ["20,000 nested elements", `${"<div>".repeat(20_000)}x${"</div>".repeat(20_000)}`],
  ["60,000 nested elements that never end", `${"<b>".repeat(60_000)}x`],
  ["150 nested quotes around thousands of lines", "<blockquote>".repeat(150) + "a<br>".repeat(38_000)],
  ["100 nested lists around thousands of lines", "<ul><li>".repeat(100) + "a<br>".repeat(38_000)],
  ["24,000 nested lists", "<ul><li>".repeat(24_000)],
  ["13,000 nested tables", "<table><tr><td>".repeat(13_000)],
  ["table rows that never end", `<table>${"<tr><td>a<td>b".repeat(14_000)}`],
  ["66,000 paragraphs", "<p>".repeat(66_000)],
  ["40,000 list items", `<ol>${"<li>a".repeat(39_000)}`],
  ["20,000 open links", "<a href=x>".repeat(20_000)],
  ["1 MB of <", "<".repeat(1_000_000)],
  ["1 MB of &", "&".repeat(1_000_000)],
  ["1 MB of &#", "&#".repeat(500_000)],
  ["1 MB of long entity names", "&aaaaaa".repeat(140_000)],
  ["1 MB of </", "</".repeat(500_000)],
  ["1 MB of <!", "<!".repeat(500_000)],
  ["1 MB of comment starts", "<!--".repeat(250_000)],
  ["1 MB of empty comments", "<!-->".repeat(200_000)],
  ["1 MB of <script", "<script".repeat(140_000)],
  ["1 MB of <script>", "<script>".repeat(125_000)],
  ["1 MB of <head>", "<head>".repeat(160_000)],
  ["1 MB of <title></head>", "<title></head>".repeat(70_000)],
  ["1 MB of <style></script>", "<style></script>".repeat(60_000)],
  ["1 MB of spaces", " ".repeat(1_000_000)],
  ["1 MB of line ends and spaces", "\n ".repeat(500_000)],
  ["one tag with 100,000 attributes", `<a ${"b ".repeat(99_000)}>x</a>`],
  ["one word of 200 KB", "a".repeat(200_000)],
  ["200 KB of emoji", "😀".repeat(100_000)],
  ["200 KB of rules", "<hr>".repeat(50_000)],
  [
    "10,000 tables in one another, each with a line and its end",
    `${"<table><tr><td>a<p>".repeat(10_000)}${"</td></tr></table>".repeat(10_000)}`,
  ],
  ["a row of 60,000 cells", `<table><tr>${"<td>a</td>".repeat(60_000)}`],
  ["40,000 links around one another's text", '<a href="https://x.test/">a'.repeat(35_000)],
  ["1 MB of quotes that never end", `<a ${"b='\" ".repeat(200_000)}`],
  ["1 MB of styles that almost hide", `<a style="${"display: ".repeat(110_000)}">x`],
  ["200,000 hidden elements", "<p hidden>".repeat(100_000)],
  ["1 MB of made spaces", "&nbsp;&zwnj;".repeat(85_000)],
  ["a preformatted megabyte of line ends", `<pre>${"a\n\n".repeat(330_000)}`],
];

describe("is made in a bounded time, is at most 100,000 characters and well formed, for", () => {
  test.each(NASTY)("%s", (_, html) => {
    const startedAt = cpuTime();
    const text = textFromHtml(html);
    // Seen: at most 60 ms. What is quadratic here takes from one second to many minutes.
    expect(cpuTime() - startedAt).toBeLessThan(1_500);
    expect([...text].length).toBeLessThanOrEqual(100_000);
    expect(text.isWellFormed()).toBe(true);
    expect(text.includes("\0")).toBe(false);
  });
});

test("the text is cut between two characters", () => {
  const text = textFromHtml(`${"x".repeat(99_999)}😀y`);
  expect(text).toBe("x".repeat(99_999));
});

test("NUL, which mail cannot carry, does not come out of html either", () => {
  expect(textFromHtml("a\0b&#0;c").includes("\0")).toBe(false);
  expect(textFromHtml(`a\0b&#0;c${LONG}`).includes("\0")).toBe(false);
});

test("random soup of markup is always made into well-formed text", () => {
  const random = seeded(5);
  const bits = [
    "<p>",
    "</p>",
    "<",
    ">",
    "&",
    "&#",
    ";",
    "x41",
    "<!--",
    "-->",
    "<script>",
    "</script>",
    "<table>",
    "<td>",
    "😀",
    "\ud83d\ude00",
    "é",
    "\n",
    " ",
    "a",
    '"',
    "'",
    "=",
    "<a href=",
    "</",
    "<ul>",
    "<li>",
    "]]>",
    "<![CDATA[",
  ];
  for (let round = 0; round < 400; round++) {
    const soup = Array.from(
      { length: Math.floor(random() * 80) },
      () => bits[Math.floor(random() * bits.length)] ?? "",
    ).join("");
    for (const html of [soup, soup + LONG]) {
      const text = textFromHtml(html);
      expect(text.isWellFormed()).toBe(true);
      expect(text.includes("\0")).toBe(false);
    }
  }
});
