// Messages made by a rule: MIME trees of texts, files, inner messages and signed parts.

import { utf8 } from "./submitted.ts";

export interface GeneratedMessage {
  /** One character an octet. */
  text: string;
  /** So many parts are attachments. */
  attachments: number;
}

const TEXTS = [
  "Hello",
  "",
  "two\r\nlines",
  "--",
  "--b",
  "\r\n\r\n",
  "ends with a space ",
  "a=3D",
  "x".repeat(900),
  ".",
  "From x",
];
const EIGHT_BIT = [
  utf8("Olá, Rui"),
  utf8("你好"),
  "ol\u00e1",
  utf8("é "),
  "\u00ff\u00fe",
  `${utf8("ação ")}${"x ".repeat(800)}`,
];
const TYPES = ["application/pdf", "image/png", "application/octet-stream; name=a.bin", 'text/csv; name="a b.csv"'];

export function createMessageGenerator(random: () => number): (options: { isEightBit: boolean }) => GeneratedMessage {
  const below = (limit: number) => Math.floor(random() * limit);
  const pick = <T>(list: readonly T[]) => list[below(list.length)] as T;
  let boundaries = 0;
  let isEightBit = false;

  return (options) => {
    boundaries = 0;
    isEightBit = options.isEightBit;
    const name = isEightBit ? pick(["Ana", utf8("José"), "Jos\u00e9"]) : "Ana";
    const subject = isEightBit
      ? pick(["x", utf8("Olá, olá"), "ol\u00e1"])
      : pick(["x", "=?utf-8?Q?=C3=A9?=", "a\r\n b"]);
    const root = entity(0);
    const text = `From: ${name} <ana@example.com>\r\nSubject: ${subject}\r\nMIME-Version: 1.0\r\n${root.text}`;
    return { text: text.endsWith("\r\n") ? text : `${text}\r\n`, attachments: root.attachments };
  };

  function content(): string {
    return isEightBit && random() < 0.6 ? pick(EIGHT_BIT) : pick(TEXTS);
  }

  function leaf(): GeneratedMessage {
    const type = random() < 0.4 ? pick(TYPES) : null;
    const encoding = pick(["", "7bit", "8bit", "quoted-printable", "base64", "binary"]);
    const fields = [
      `Content-Type: ${type ?? pick(["text/plain; charset=utf-8", "text/html", "TEXT/plain;\r\n\tformat=flowed"])}\r\n`,
      encoding === "" ? "" : `Content-Transfer-Encoding: ${encoding}\r\n`,
      isEightBit && random() < 0.2 ? utf8("Content-Description: é é\r\n") : "",
    ];
    return { text: `${fields.join("")}\r\n${content()}`, attachments: type === null ? 0 : 1 };
  }

  function entity(depth: number): GeneratedMessage {
    const kind = depth > 4 ? 0 : random();
    if (kind < 0.4) return leaf();
    if (kind < 0.5) {
      const inner = entity(depth + 1);
      return { text: `Content-Type: message/rfc822\r\n\r\nFrom: x@y.co\r\n${inner.text}`, attachments: 1 };
    }
    const boundary = pick([`b${boundaries++}`, `b${boundaries++} x`, `=_${boundaries++}'()+,./:=?`]);
    const type = pick(["mixed", "mixed", "alternative", "related", "signed", "digestive"]);
    const children = Array.from({ length: 1 + below(3) }, () => entity(depth + 1));
    const parts = children.map((child) => `--${boundary}${pick(["", "", " \t"])}\r\n${child.text}\r\n`);
    const cte = isEightBit ? pick(["", "Content-Transfer-Encoding: 8bit\r\n"]) : "";
    return {
      text: `Content-Type: multipart/${type};\r\n boundary="${boundary}"\r\n${cte}\r\n${pick(["", `${content()}\r\n`])}${parts.join("")}--${boundary}--${pick(["", `\r\n${content()}`])}`,
      attachments: children.reduce((sum, child) => sum + child.attachments, 0),
    };
  }
}
