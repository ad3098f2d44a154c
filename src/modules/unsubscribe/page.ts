// The page behind the link to unsubscribe: one button, no script, nothing from elsewhere.

import { createHash } from "node:crypto";
import { domainToUnicode } from "node:url";
import type { Language } from "./language.ts";

export type PageKind =
  /** Asks with a button. */
  | "question"
  | "done"
  /** The link was not made here, or leads to nothing any more. */
  | "unknown"
  | "too_many";

const STATUS: Record<PageKind, number> = { question: 200, done: 200, unknown: 404, too_many: 429 };

interface Words {
  title: string;
  /** `{list}` and `{domain}` are replaced. */
  paragraphs: string[];
  button?: string;
}

const OTHERS = {
  en: "Other emails, such as receipts or a new password, still arrive.",
  pt: "Outros emails, como recibos ou uma nova palavra-passe, continuam a chegar.",
};

const BACK = {
  en: "Was that a mistake? Answer the email, or write to its sender, and ask to be put back on the list.",
  pt: "Foi engano? Responda ao email, ou escreva a quem o enviou, e peça para voltar à lista.",
};

const WORDS: Record<Language, Record<PageKind, Words>> = {
  en: {
    question: {
      title: "Unsubscribe",
      paragraphs: ["Do you want no more emails of the list “{list}” from {domain}?", OTHERS.en],
      button: "Unsubscribe",
    },
    done: {
      title: "You are unsubscribed",
      paragraphs: ["You get no more emails of the list “{list}” from {domain}.", OTHERS.en, BACK.en],
    },
    unknown: {
      title: "This link is not valid",
      paragraphs: [
        "It is incomplete or damaged, or the email is no longer known here. Nothing was changed.",
        "Open the link in the email itself, or use the button of your email program to unsubscribe. If that does not help, write to the sender.",
      ],
    },
    too_many: {
      title: "Too many attempts",
      paragraphs: ["Links that are not valid were opened too often from your address. Wait a minute and try again."],
    },
  },
  pt: {
    question: {
      title: "Cancelar a subscrição",
      paragraphs: ["Quer deixar de receber os emails da lista “{list}” de {domain}?", OTHERS.pt],
      button: "Cancelar a subscrição",
    },
    done: {
      title: "A subscrição foi cancelada",
      paragraphs: ["Já não vai receber os emails da lista “{list}” de {domain}.", OTHERS.pt, BACK.pt],
    },
    unknown: {
      title: "Esta ligação não é válida",
      paragraphs: [
        "Está incompleta ou danificada, ou o email já não é conhecido aqui. Nada foi alterado.",
        "Abra a ligação no próprio email, ou use o botão do seu programa de email para cancelar a subscrição. Se isso não ajudar, escreva a quem o enviou.",
      ],
    },
    too_many: {
      title: "Demasiadas tentativas",
      paragraphs: [
        "Do seu endereço foram abertas demasiadas ligações que não são válidas. Espere um minuto e tente de novo.",
      ],
    },
  },
};

const STYLE = `
:root { color-scheme: light dark; }
body { margin: 0; font: 1rem/1.5 system-ui, sans-serif; color: #1c2426; background: #f4f6f6; }
main { box-sizing: border-box; max-width: 32rem; margin: 12vh auto 0; padding: 1.5rem; }
h1 { margin: 0 0 1rem; font-size: 1.5rem; line-height: 1.25; }
p { margin: 0 0 1rem; overflow-wrap: anywhere; }
button { font: inherit; font-weight: 600; padding: 0.75rem 1.25rem; border: 0; border-radius: 0.5rem; color: #fff; background: #186a6b; cursor: pointer; }
button:focus-visible { outline: 3px solid #1c2426; outline-offset: 2px; }
@media (prefers-color-scheme: dark) {
  body { color: #e6ecec; background: #12191a; }
  button { color: #0d1414; background: #7fd0d0; }
  button:focus-visible { outline-color: #e6ecec; }
}
`;

const POLICY = [
  "default-src 'none'",
  `style-src 'sha256-${createHash("sha256").update(STYLE).digest("base64")}'`,
  "form-action 'self'",
  "base-uri 'none'",
  "frame-ancestors 'none'",
].join("; ");

const HEADERS = {
  "content-type": "text/html; charset=utf-8",
  "cache-control": "no-store",
  "content-security-policy": POLICY,
  "cross-origin-opener-policy": "same-origin",
  "cross-origin-resource-policy": "same-origin",
  "referrer-policy": "no-referrer",
  "x-content-type-options": "nosniff",
  "x-robots-tag": "noindex",
  vary: "accept-language",
};

export interface Page {
  kind: PageKind;
  language: Language;
  /** Null where nothing is known of it. */
  about: { list: string; domain: string } | null;
  retryAfterS?: number;
}

export function buildPage({ kind, language, about, retryAfterS }: Page): Response {
  const { title, paragraphs, button } = WORDS[language][kind];
  const names = { list: about?.list ?? "", domain: domainToUnicode(about?.domain ?? "") };
  const fill = (words: string) => words.replace(/\{(list|domain)\}/g, (_, name: "list" | "domain") => names[name]);
  const main = [
    `<h1>${Bun.escapeHTML(title)}</h1>`,
    ...paragraphs.map((words) => `<p>${Bun.escapeHTML(fill(words))}</p>`),
    // The members of the one-click POST (RFC 8058 §3.1), and to the address of this page.
    ...(button === undefined
      ? []
      : [
          `<form method="post"><input type="hidden" name="List-Unsubscribe" value="One-Click">`,
          `<button type="submit">${Bun.escapeHTML(button)}</button></form>`,
        ]),
  ];
  const text = `<!doctype html>
<html lang="${language}">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>${Bun.escapeHTML(title)}</title>
<style>${STYLE}</style>
</head>
<body>
<main>
${main.join("\n")}
</main>
</body>
</html>
`;
  const headers = { ...HEADERS, ...(retryAfterS === undefined ? {} : { "retry-after": String(retryAfterS) }) };
  return new Response(text, { status: STATUS[kind], headers });
}
