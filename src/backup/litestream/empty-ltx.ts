// A step of the replica in which no page changes: a file of the daemon's format (LTX, version 3, of
// github.com/superfly/ltx), which is a header, pages, an index of the pages, and a checksum. Pure.

const HEADER_BYTES = 100;
const PAGE_HEADER_BYTES = 6;
const INDEX_END_BYTES = 9;
const TRAILER_BYTES = 16;
const MAGIC = "LTX1";
/** The pages are not summed up one by one; the daemon's own files say so too. */
const NO_CHECKSUM = 1 << 1;
/** The first frame of a write-ahead log begins here: nothing of the log is in it. */
const WAL_HEADER_BYTES = 32;
/** Set in each checksum that is there. */
const CHECKSUM_FLAG = 1n << 63n;
/** CRC-64 of ISO 3309, its bits turned round. */
const POLYNOMIAL = 0xd800000000000000n;
const ALL_BITS = 0xffffffffffffffffn;

export interface StepOf {
  /** The daemon's number of it. */
  transaction: number;
  pageBytes: number;
  /** How many pages the database has. */
  pages: number;
  /** Unix ms. */
  at: number;
}

/** The file's content. */
export function emptyStep({ transaction, pageBytes, pages, at }: StepOf): Buffer {
  const header = Buffer.alloc(HEADER_BYTES);
  header.write(MAGIC, 0, "latin1");
  header.writeUInt32BE(NO_CHECKSUM, 4);
  header.writeUInt32BE(pageBytes, 8);
  header.writeUInt32BE(pages, 12);
  header.writeBigUInt64BE(BigInt(transaction), 16);
  header.writeBigUInt64BE(BigInt(transaction), 24);
  header.writeBigUInt64BE(BigInt(at), 32);
  header.writeBigUInt64BE(BigInt(WAL_HEADER_BYTES), 48);
  // The end of the pages, the end of their index, and that index's length: one byte.
  const noPages = Buffer.alloc(PAGE_HEADER_BYTES);
  const noIndex = Buffer.from([0, 0, 0, 0, 0, 0, 0, 0, 1]);
  const afterwards = Buffer.alloc(8);
  const summed = Buffer.concat([header, noPages, noIndex, afterwards]);
  const checksum = Buffer.alloc(8);
  checksum.writeBigUInt64BE(CHECKSUM_FLAG | crc64(summed));
  return Buffer.concat([summed, checksum]);
}

/** The name under which the daemon looks for it. */
export function stepName(transaction: number): string {
  const number = transaction.toString(16).padStart(16, "0");
  return `${number}-${number}.ltx`;
}

/** What is looked at of a file: its size, its first and its last bytes. */
export interface Ends {
  size: number;
  head: Buffer;
  tail: Buffer;
}

export const HEAD_BYTES = 32;
export const TAIL_BYTES = 8;

/**
 * Whether a file may be the step of a number, as far as can be seen without unpacking its pages: one that was cut off,
 * or is of zeros, is not.
 */
export function isWholeStep({ size, head, tail }: Ends, transaction: number): boolean {
  const shortest = HEADER_BYTES + PAGE_HEADER_BYTES + INDEX_END_BYTES + TRAILER_BYTES;
  return (
    size >= shortest &&
    head.toString("latin1", 0, MAGIC.length) === MAGIC &&
    head.readBigUInt64BE(24) === BigInt(transaction) &&
    (tail.readBigUInt64BE(0) & CHECKSUM_FLAG) !== 0n
  );
}

function crc64(bytes: Uint8Array): bigint {
  let sum = ALL_BITS;
  for (const byte of bytes) {
    sum ^= BigInt(byte);
    for (let bit = 0; bit < 8; bit += 1) sum = (sum & 1n) === 1n ? (sum >> 1n) ^ POLYNOMIAL : sum >> 1n;
  }
  return sum ^ ALL_BITS;
}
