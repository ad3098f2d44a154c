// The parts of an email as stored: html and text in one blob, so that compressing them costs one call
// (most of a call is the same for 1 KB and 10 KB) and the text, which mostly repeats the html, next to nothing.

import { textFromHtml } from "./text-from-html.ts";

/** A shorter content is stored as it is: compressing it gains nothing. */
const WORTH_COMPRESSING_CHARACTERS = 512;
const LEVEL = 1;

/** null: there is no such part. */
export interface Content {
  html: string | null;
  text: string | null;
}

/** A part as the request gave it; undefined: not given, so that a text is made from the html. */
export interface GivenContent {
  html: string | undefined;
  text: string | undefined;
}

export interface StoredBody {
  /** The html, then the text, in UTF-8. */
  content: Buffer;
  /** Before compression; null: there is no such part. */
  htmlBytes: number | null;
  textBytes: number | null;
  encoding: "plain" | "zstd";
  /** JSON: it came by SMTP, and its content is what mime-body.ts says; null: html and text. */
  mime: string | null;
}

/**
 * Makes the text part that was not given and compresses both, before anything is decided about the email. Pure, and
 * costly enough (20 µs for 5 KB, 150 µs more when a text is made) to be done beside the event loop.
 */
export function prepareContent({ html: givenHtml, text: givenText }: GivenContent): StoredBody {
  const html = givenHtml === undefined || givenHtml === "" ? null : givenHtml;
  const text = givenText ?? (html === null ? "" : textFromHtml(html));
  return packBody({ html, text: text === "" ? null : text });
}

export function packBody({ html, text }: Content): StoredBody {
  const whole = (html ?? "") + (text ?? "");
  const isShort = whole.length < WORTH_COMPRESSING_CHARACTERS;
  return {
    content: isShort ? Buffer.from(whole) : Bun.zstdCompressSync(whole, { level: LEVEL }),
    htmlBytes: html === null ? null : Buffer.byteLength(html),
    textBytes: text === null ? null : Buffer.byteLength(text),
    encoding: isShort ? "plain" : "zstd",
    mime: null,
  };
}

/** Of a row, what crosses to another thread. */
export function storedBody({ content, htmlBytes, textBytes, encoding, mime }: StoredBody): StoredBody {
  return { content, htmlBytes, textBytes, encoding, mime };
}

/** Only of an email that came by the API. */
export function unpackBody({ content, htmlBytes, textBytes, encoding }: StoredBody): Content {
  // Bytes from another thread are a Uint8Array.
  const stored = Buffer.from(content.buffer, content.byteOffset, content.byteLength);
  const whole = encoding === "zstd" ? Bun.zstdDecompressSync(stored) : stored;
  return {
    html: htmlBytes === null ? null : whole.toString("utf8", 0, htmlBytes),
    text: textBytes === null ? null : whole.toString("utf8", htmlBytes ?? 0),
  };
}
