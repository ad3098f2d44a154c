/** Shorter parts are stored as they are: compressing them gains nothing. */
const WORTH_COMPRESSING_BYTES = 512;
const LEVEL = 1;

/** The parts of an email as stored: compressed when worth it, both in the same way. */
export interface StoredBody {
  html: Buffer | null;
  text: Buffer | null;
  encoding: "plain" | "zstd";
}

export function packBody(parts: { html: string | null; text: string | null }): StoredBody {
  const html = parts.html === null ? null : Buffer.from(parts.html);
  const text = parts.text === null ? null : Buffer.from(parts.text);
  if ((html?.length ?? 0) + (text?.length ?? 0) < WORTH_COMPRESSING_BYTES) return { html, text, encoding: "plain" };
  const pack = (bytes: Buffer | null) => (bytes === null ? null : Bun.zstdCompressSync(bytes, { level: LEVEL }));
  return { html: pack(html), text: pack(text), encoding: "zstd" };
}

export function unpackBody(stored: StoredBody): { html: string | null; text: string | null } {
  const unpack = (bytes: Buffer | null) =>
    bytes === null ? null : (stored.encoding === "zstd" ? Bun.zstdDecompressSync(bytes) : bytes).toString();
  return { html: unpack(stored.html), text: unpack(stored.text) };
}
