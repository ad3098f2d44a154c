import { expect, test } from "bun:test";
import { textFromHtml } from "../../../../../src/modules/emails/content/text-from-html.ts";

// What email templates are made of, each kind as small as it still shows the trouble.

const TEXTS: Record<string, [html: string, text: string]> = {
  "a code in a cell of its own, beside a greeting": [
    "<table><tr><td>Olá Maria</td></tr><tr><td>O seu código é <b>482913</b></td></tr></table>",
    "Olá Maria\n\nO seu código é 482913",
  ],
  "rows of data": [
    `<table><thead><tr><th>Produto</th><th>Preço</th></tr></thead>
     <tbody><tr><td>Produto 1</td><td align="right">110,00&nbsp;MT</td></tr>
     <tr><td>Produto 2</td><td>20,00 MT</td></tr></tbody></table><p>Obrigado</p>`,
    "Produto  Preço\nProduto 1  110,00\u00a0MT\nProduto 2  20,00 MT\n\nObrigado",
  ],
  "rows of data whose cells are paragraphs, as Postmark's": [
    `<table><tr><td><p>Descrição</p></td><td><p>Valor</p></td></tr>
     <tr><td><table><tr><td><span>Sapatos</span></td></tr></table></td><td><div>990 MT</div></td></tr></table>`,
    "Descrição  Valor\nSapatos  990 MT",
  ],
  "a price behind a long description": [
    `<table><tr><td>${"muito ".repeat(13)}bom</td><td>1.250,00 MT</td></tr></table>`,
    `${"muito ".repeat(13).trim()}\nbom  1.250,00 MT`,
  ],
  "columns of paragraphs stand below one another": [
    "<table><tr><td><h3>Um</h3><p>O primeiro.</p></td><td><h3>Dois</h3><p>O segundo.</p></td></tr></table>",
    "Um\n\nO primeiro.\n\nDois\n\nO segundo.",
  ],
  "columns of links": [
    `<table><tr>${["facebook", "instagram", "linkedin"].map((site) => `<td><a href="https://${site}.com/uma-loja-de-maputo"><img alt="${site}"></a></td>`).join("")}</tr></table>`,
    "facebook [https://facebook.com/uma-loja-de-maputo]\ninstagram [https://instagram.com/uma-loja-de-maputo]\nlinkedin [https://linkedin.com/uma-loja-de-maputo]",
  ],
  "cells that only make room": [
    `<table><tr><td width="20">&nbsp;</td><td>Olá</td><td><img src="x.gif" width="1" height="1" alt=""></td></tr>
     <tr><td colspan="3" height="20">&nbsp;</td></tr><tr><td></td><td>Adeus</td><td></td></tr></table>`,
    "Olá\n\nAdeus",
  ],
  "tables that nobody closed": [
    "<table><tr><td>um<td>dois<tr><td>três<td>quatro</table>fim",
    "um  dois\ntrês  quatro\n\nfim",
  ],
  "cells outside a table": ["<tr><td>um</td><td>dois</td></tr>", "um  dois"],
  "a title, styles and a template": [
    "<!doctype html><html><head><title>Encomenda</title><style>td > p { color: red }</style></head><body><template><p>não</p></template>sim</body></html>",
    "sim",
  ],
  choices: ["<p>Tamanho <select><option>P<option>M</select> M</p>", "Tamanho M"],
  "a preheader": [
    `<div style="display:none;max-height:0px;overflow:hidden">Já a caminho &zwnj;&nbsp;&zwnj;&nbsp;</div><p>Olá</p>`,
    "Olá",
  ],
  "other ways to hide": [
    `<span style='VISIBILITY: hidden'>um</span><p hidden>dois<p>três</p><div style="max-height:0;overflow:hidden"><div>quatro</div></div><img hidden alt="cinco"><b title="hidden">seis</b>`,
    "três\n\nseis",
  ],
  "a mobile copy beside that for the desk": [
    `<table><tr class="desk"><td>Total</td><td>10</td></tr><tr class="mobile" style="display: none"><td>Total</td><td>10</td></tr></table>`,
    "Total  10",
  ],
  "an email that hides all of itself": [`<body style="display:none"><p>Olá</p></body>`, "Olá"],
  "what is for Outlook alone": [
    `<!--[if mso]><table><tr><td>Outlook<![endif]--><a href="https://loja.test/pagar">Pagar</a><!--[if mso]></td></tr></table><![endif]--><!--[if !mso]><!--> agora<!--<![endif]-->`,
    "Pagar [https://loja.test/pagar] agora",
  ],
  "a button that is a table in a link": [
    `<a href="https://loja.test/pagar"><table><tr><td>Pagar</td></tr></table></a>`,
    "Pagar [https://loja.test/pagar]",
  ],
  "a link in a link, as some buttons are made": [
    `<a href="https://loja.test/a"><table><tr><td><a href="https://loja.test/a">Ver</a></td></tr></table></a>`,
    "Ver [https://loja.test/a]",
  ],
  "a logo that leads home": [
    `<a href="https://loja.test/"><img src="l.png" alt="Loja"></a>`,
    "Loja [https://loja.test/]",
  ],
  "a linked image without words": [`<a href="https://loja.test/x"><img src="l.png"></a>`, "[https://loja.test/x]"],
  "addresses that are their own text": [
    `<a href="mailto:ajuda@loja.test?subject=Olá">ajuda@loja.test</a>, <a href="tel:+258841234567">+258841234567</a>, <a href="https://www.loja.test/">loja.test</a>`,
    "ajuda@loja.test, +258841234567, loja.test",
  ],
  "links that lead nowhere": [
    `<a href="#">um</a> <a href="javascript:x()">dois</a> <a name="x">três</a>`,
    "um dois três",
  ],
  "a tag with > in a value": [
    `<a title="a > b" href="https://loja.test/?a=1&amp;b=2">Ver</a>`,
    "Ver [https://loja.test/?a=1&b=2]",
  ],
  "a code in a heading keeps its letters": ["<h1>aB3dE</h1><h2>Olá</h2>", "aB3dE\n\nOlá"],
  "lists in lists": [
    "<p>Passos</p><ol start=3><li>um<ul><li>a<li>b</ul><li>dois</ol>fim",
    "Passos\n\n 3. um\n    * a\n    * b\n 4. dois\n\nfim",
  ],
  "a long item goes on below its words": [
    `<ul><li>${"palavra ".repeat(12)}</li></ul>`,
    ` * ${"palavra ".repeat(9).trim()}\n   palavra palavra palavra`,
  ],
  "a quote of two paragraphs": [
    "<p>Disse:</p><blockquote><p>um</p><p>dois</p></blockquote>",
    "Disse:\n\n> um\n>\n> dois",
  ],
  "lines that stand as they are": ["<pre>a  b\n  c\n\nd</pre>", "a  b\n  c\n\nd"],
  "a rule": ["um<hr>dois", `um\n\n${"-".repeat(40)}\n\ndois`],
  "characters that only make room": ["um\u00addois\u200btrês&shy;quatro", "umdoistrêsquatro"],
  "an address of lines": ["Loja<br>Av. 1<br/><br>Maputo", "Loja\nAv. 1\n\nMaputo"],
};

for (const [name, [html, text]] of Object.entries(TEXTS))
  test(name, () => {
    expect(textFromHtml(html)).toBe(text);
  });
