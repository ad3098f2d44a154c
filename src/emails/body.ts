// The parts of an email as stored: html and text in one blob, so that compressing them costs one call
// (most of a call is the same for 1 KB and 10 KB) and the text, which mostly repeats the html, next to nothing.

/** A shorter content is stored as it is: compressing it gains nothing. */
const WORTH_COMPRESSING_CHARACTERS = 512;
/** From here on a compression takes longer than waking another thread for it. */
const WORTH_HANDING_OVER_CHARACTERS = 64 * 1024;
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

/** Compresses large content on the thread pool, so that other requests go on meanwhile. */
export async function packBody({ html, text }: Content): Promise<StoredBody> {
  const whole = (html ?? "") + (text ?? "");
  return {
    ...(await pack(whole)),
    htmlBytes: html === null ? null : Buffer.byteLength(html),
    textBytes: text === null ? null : Buffer.byteLength(text),
  };
}

async function pack(whole: string): Promise<Pick<StoredBody, "content" | "encoding">> {
  if (whole.length < WORTH_COMPRESSING_CHARACTERS) return { content: Buffer.from(whole), encoding: "plain" };
  // Handing 5 KB to the pool and being woken by it costs more of this thread than compressing it.
  if (whole.length < WORTH_HANDING_OVER_CHARACTERS) {
    return { content: Bun.zstdCompressSync(whole, { level: LEVEL }), encoding: "zstd" };
  }
  return { content: await Bun.zstdCompress(whole, { level: LEVEL }), encoding: "zstd" };
}

export function unpackBody({ content, htmlBytes, textBytes, encoding }: StoredBody): Content {
  const whole = encoding === "zstd" ? Bun.zstdDecompressSync(content) : content;
  return {
    html: htmlBytes === null ? null : whole.toString("utf8", 0, htmlBytes),
    text: textBytes === null ? null : whole.toString("utf8", htmlBytes ?? 0),
  };
}
