// The messages of the benchmark: a receipt in Portuguese, 5 KB of html and text together, made by a
// fixed rule so that every run sends the same bytes. pombo gets the parts as JSON; the peer gets the
// very message that pombo's composer makes of them, ready to send, and so is spared that work.

import { createCipheriv, createHash } from "node:crypto";
import { composeMessage } from "../src/protocols/mime/compose.ts";

export const SENDER_DOMAIN = "bench.example.test";
export const RECIPIENT_DOMAIN = "rcpt.bench.example.test";
/** Its MX accepts no connections: mail for it stays in the queue. */
export const BLOCKED_DOMAIN = "blocked.bench.example.test";
/** Its MX keeps the message, to have its signatures verified. */
export const PROOF_DOMAIN = "proof.bench.example.test";
/** Its servers take what comes slowly; each name below it has one of its own. */
export const SLOW_DOMAIN = "slow.bench.example.test";
export const MESSAGE_BYTES = 5120;

const TEXT_BYTES = 1200;
const RECIPIENT_DIGITS = 9;
const WORDS =
  "pagamento encomenda factura número cliente endereço entrega confirmação obrigado prazo total valor meticais recibo conta serviço referência operação bairro avenida".split(
    " ",
  );

export interface Content {
  subject: string;
  html: string;
  /** Null: html only, pombo makes the text. */
  text: string | null;
}

/** Content number `variant`; html and text together have MESSAGE_BYTES bytes of UTF-8. */
export function makeContent(variant: number, parts: "html+text" | "html"): Content {
  const next = generator(variant + 1);
  const text = parts === "html" ? null : fill("", () => `${sentence(next)}\n`, TEXT_BYTES);
  const head = `<!doctype html>\n<html lang="pt"><body style="font-family:sans-serif">\n<h1>Recibo ${variant}</h1>\n`;
  const row = () => `<p style="margin:0 0 8px;color:#333">${sentence(next)}</p>\n`;
  const foot = "</body></html>\n";
  const htmlBytes = MESSAGE_BYTES - Buffer.byteLength(text ?? "") - foot.length;
  return { subject: `Recibo da encomenda n.º ${variant}`, html: fill(head, row, htmlBytes) + foot, text };
}

/** A file that does not get smaller: number `variant`, with so many bytes. */
export function makeFile(variant: number, bytes: number): Buffer {
  const key = createHash("sha256").update(String(variant)).digest();
  return createCipheriv("aes-256-ctr", key, Buffer.alloc(16)).update(Buffer.alloc(bytes));
}

/** A recipient of fixed length, so that a prepared request can be changed in place. */
export function recipient(number: number, domain: string): string {
  return `r${String(number).padStart(RECIPIENT_DIGITS, "0")}@${domain}`;
}

/** The whole message for smtp-source: LF line ends, which it turns into CRLF. */
export function composeForPeer(content: Content, attachmentBytes?: number): string {
  const from = {
    displayName: "Loja Bench",
    localPart: "loja",
    domain: SENDER_DOMAIN,
    address: `loja@${SENDER_DOMAIN}`,
  };
  const address = recipient(0, RECIPIENT_DOMAIN);
  const bytes = composeMessage({
    id: "01900000-0000-7000-8000-000000000000",
    messageId: `01900000-0000-7000-8000-000000000000@${SENDER_DOMAIN}`,
    createdAt: Date.UTC(2026, 0, 1),
    from,
    to: [{ displayName: null, localPart: address.split("@")[0] ?? "", domain: RECIPIENT_DOMAIN, address }],
    cc: [],
    replyTo: [],
    subject: content.subject,
    text: content.text,
    html: content.html,
    headers: [],
    attachments:
      attachmentBytes === undefined
        ? []
        : [
            {
              filename: "recibo.pdf",
              contentType: "application/pdf",
              contentId: null,
              content: makeFile(0, attachmentBytes),
            },
          ],
  });
  return Buffer.from(bytes).toString("latin1").replaceAll("\r\n", "\n");
}

/** `start` and as many whole pieces as fit, then dots up to exactly `bytes`. */
function fill(start: string, piece: () => string, bytes: number): string {
  let made = start;
  for (let next = piece(); Buffer.byteLength(made + next) < bytes; next = piece()) made += next;
  const missing = bytes - Buffer.byteLength(made) - 1;
  return `${made}${".".repeat(Math.max(0, missing))}\n`;
}

function sentence(next: () => number): string {
  const length = 6 + (next() % 8);
  const words = Array.from({ length }, () => WORDS[next() % WORDS.length]);
  return `${words.join(" ")} ${next() % 100_000},${String(next() % 100).padStart(2, "0")} MT.`;
}

/** A linear congruential generator (Numerical Recipes' constants); its high bits are good enough here. */
function generator(seed: number): () => number {
  let state = seed >>> 0;
  return () => {
    state = (Math.imul(state, 1664525) + 1013904223) >>> 0;
    return state >>> 8;
  };
}
