// What the interoperability run sends: texts that mail software gets wrong. Bodies use LF; a mail has
// CRLF, so line ends are compared after making them alike.

export interface Sample {
  /** Also the user that the sample is sent to. */
  name: string;
  fromName: string;
  subject: string;
  html: string | null;
  text: string | null;
  replyTo: string | null;
}

const OLA =
  "Olá Conceição,\n\na sua encomenda nº 1234 foi confirmada às 9h30. Atenção: não é necessária nenhuma acção.\n\nObrigado,\nA Loja do João\n";
const BIG_HTML_BYTES = 100_000;
const LARGEST_HTML_BYTES = 900_000;
const RANDOM_SAMPLES = 40;

const PLAIN: Sample = { name: "plain", fromName: "Loja", subject: "Hello", html: null, text: "Hello\n", replyTo: null };

export const SAMPLES: Sample[] = [
  {
    ...PLAIN,
    name: "portuguese",
    fromName: "José da Conceição",
    subject: "Confirmação da encomenda nº 1234: não é necessária nenhuma acção, obrigado",
    text: OLA,
    html: `<p>${OLA.replaceAll("\n", "<br>\n")}</p>\n`,
    replyTo: `apoio@loja.test`,
  },
  {
    ...PLAIN,
    name: "emoji",
    fromName: "Loja 🛍️ do João",
    subject: "🎉 Parabéns 👩‍👩‍👧‍👦! O seu pedido 📦 está a caminho 🚚",
    text: "👍🏽 Tudo certo\n🇲🇿🇵🇹\n",
    html: "<p>👍🏽 Tudo certo 🇲🇿🇵🇹 ＣＪＫ 漢字 العربية</p>\n",
  },
  { ...PLAIN, name: "html-only", html: "<h1>Título</h1>\n<p>Só HTML, sem <b>texto</b>.</p>\n", text: null },
  { ...PLAIN, name: "text-only", text: OLA, html: null },
  {
    ...PLAIN,
    name: "long-lines",
    text: `${"uma linha muito comprida ".repeat(200)}\n${"x".repeat(5000)}\nfim\n`,
    html: `<p>${"a".repeat(997)}</p>\n<div>${"é".repeat(3000)}</div>\n<p>${"b".repeat(12_000)}</p>\n`,
  },
  {
    ...PLAIN,
    name: "dots",
    text: ".\n..\n...\n.início\n\n.\n\n.\nQUIT\n.\n",
    html: "<pre>\n.\n..\n.x\n\n.\n</pre>\n.\n",
  },
  {
    ...PLAIN,
    name: "whitespace",
    text: "From aqui\n>From ali\ntrailing \t \n   \n\tindented\n=3D =\n=20\nends in spaces   \n\n\n\nlast\n",
    html: "<p>trailing \t \n   \n=3D=\n\n\n\n</p> \t\n",
  },
  {
    ...PLAIN,
    name: "headers",
    fromName: 'Silva, João "Zé" (vendas) \\ Lda.',
    subject: "ção ".repeat(63).trim(),
    text: "Subject: not a header\nBcc: nobody@example.test\n\n--=_boundary\nContent-Type: text/plain\n",
    html: "<p>--boundary--</p>\n",
  },
  { ...PLAIN, name: "big", text: null, html: bigHtml(BIG_HTML_BYTES) },
];

/** Beyond the smoke run: the largest html that the interface allows, nearly, and texts from a fixed generator. */
export function moreSamples(): Sample[] {
  const random = Array.from({ length: RANDOM_SAMPLES }, (_, index) => randomSample(index));
  return [{ ...PLAIN, name: "largest", text: null, html: bigHtml(LARGEST_HTML_BYTES) }, ...random];
}

function bigHtml(bytes: number): string {
  const row = '<tr><td style="padding:4px">Artigo nº 42 – caixa de maçãs</td><td>1.234,50 MT</td></tr>\n';
  const rows = Math.floor((bytes - 100) / Buffer.byteLength(row));
  return `<table>\n${row.repeat(rows)}</table>\n`;
}

const ALPHABET = [..."abc ABC  \t.=-_?<>\"'()[],:;@\\/&%~^`|{}çãéõ ü漢😀\u00a0\u200b\u0301.\n\n.\n"];

function randomSample(index: number): Sample {
  const next = generator(index + 1);
  const text = (length: number): string => Array.from({ length }, () => ALPHABET[next() % ALPHABET.length]).join("");
  return {
    ...PLAIN,
    name: `random-${index}`,
    subject: `Aleatório ${text(80).replaceAll(/[\n\t]/g, "é")}`,
    text: `${text(next() % 3000)}.\n`,
    html: index % 2 === 0 ? `<p>${text(next() % 3000)}</p>\n` : null,
  };
}

function generator(seed: number): () => number {
  let state = seed >>> 0;
  return () => {
    state = (Math.imul(state, 1664525) + 1013904223) >>> 0;
    return state >>> 8;
  };
}
