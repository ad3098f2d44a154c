// The parts of an email as stored: html and text in one blob, so that compressing them costs one call
// (most of a call is the same for 1 KB and 10 KB) and the text, which mostly repeats the html, next to nothing.

/** A shorter content is stored as it is: compressing it gains nothing. */
const WORTH_COMPRESSING_CHARACTERS = 512;
const LEVEL = 1;

/** null: there is no such part. */
export interface Content {
  html: string | null;
  text: string | null;
}

export interface StoredBody {
  /** The html, then the text, in UTF-8. */
  content: Buffer;
  /** Before compression; null: there is no such part. */
  htmlBytes: number | null;
  textBytes: number | null;
  encoding: "plain" | "zstd";
}

/** Compresses on the thread pool, so that other requests go on meanwhile. */
export async function packBody({ html, text }: Content): Promise<StoredBody> {
  const whole = (html ?? "") + (text ?? "");
  const isShort = whole.length < WORTH_COMPRESSING_CHARACTERS;
  return {
    content: isShort ? Buffer.from(whole) : await Bun.zstdCompress(whole, { level: LEVEL }),
    htmlBytes: html === null ? null : Buffer.byteLength(html),
    textBytes: text === null ? null : Buffer.byteLength(text),
    encoding: isShort ? "plain" : "zstd",
  };
}

export function unpackBody({ content, htmlBytes, textBytes, encoding }: StoredBody): Content {
  const whole = encoding === "zstd" ? Bun.zstdDecompressSync(content) : content;
  return {
    html: htmlBytes === null ? null : whole.toString("utf8", 0, htmlBytes),
    text: textBytes === null ? null : whole.toString("utf8", htmlBytes ?? 0),
  };
}
