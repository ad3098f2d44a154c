// Just enough HTTP/1.1 for the load generators: answers with Content-Length, one after the other on
// a connection that stays open.

const HEAD_END = Buffer.from("\r\n\r\n");

export interface HttpAnswer {
  status: number;
  /** Empty for success: nobody reads it, and decoding it would be counted. */
  body: string;
}

/** Null while the answer is not complete. */
export function readAnswer(bytes: Buffer): HttpAnswer | null {
  const headEnd = bytes.indexOf(HEAD_END);
  if (headEnd === -1) return null;
  const head = bytes.toString("latin1", 0, headEnd);
  const length = /\r\ncontent-length: *(\d+)/i.exec(head)?.[1];
  if (length === undefined) throw new Error(`an answer without Content-Length:\n${head}`);
  const bodyStart = headEnd + HEAD_END.length;
  if (bytes.length < bodyStart + Number(length)) return null;
  const status = Number(head.slice(9, 12));
  return { status, body: status < 300 ? "" : bytes.toString("utf8", bodyStart) };
}
