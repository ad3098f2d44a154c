/** The beginning of an answer from outside, which may be endless: what follows `maxBytes` is not waited for. */
export async function readStart({ body }: Response, maxBytes: number): Promise<string> {
  const chunks: Uint8Array[] = [];
  let bytes = 0;
  for await (const chunk of (body ?? []) as AsyncIterable<Uint8Array>) {
    chunks.push(chunk);
    bytes += chunk.byteLength;
    if (bytes > maxBytes) break;
  }
  return Buffer.concat(chunks).toString();
}
