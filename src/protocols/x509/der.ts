// DER (X.690): what a certificate or a request for one is written in. The runtime reads certificates and writes none.

export const INTEGER = 0x02;
export const BIT_STRING = 0x03;
export const OCTET_STRING = 0x04;
const OBJECT_IDENTIFIER = 0x06;
export const UTF8_STRING = 0x0c;
export const SEQUENCE = 0x30;
export const SET = 0x31;

/** Identifiers, as they are encoded. */
export const ECDSA_WITH_SHA256 = "2a8648ce3d040302";
const SUBJECT_ALT_NAME = "551d11";
export const AUTHORITY_KEY_IDENTIFIER = "551d23";

/** A DNS name among the alternative names (RFC 5280 §4.2.1.6). */
const DNS_NAME = 0x82;

/** Tag, length, content. */
export function der(tag: number, ...parts: Uint8Array[]): Buffer {
  const content = Buffer.concat(parts);
  if (content.length < 0x80) return Buffer.concat([Buffer.of(tag, content.length), content]);
  const length = Buffer.alloc(4);
  length.writeUInt32BE(content.length);
  const digits = length.subarray(length.findIndex((byte) => byte !== 0));
  return Buffer.concat([Buffer.of(tag, 0x80 | digits.length), digits, content]);
}

/** `hex`: one of the identifiers above. */
export function oid(hex: string): Buffer {
  return der(OBJECT_IDENTIFIER, Buffer.from(hex, "hex"));
}

/** The extension subjectAltName; `isCritical` where the subject is empty (RFC 5280 §4.2.1.6). */
export function alternativeNames(names: readonly string[], { isCritical }: { isCritical: boolean }): Buffer {
  const list = der(SEQUENCE, ...names.map((name) => der(DNS_NAME, Buffer.from(name))));
  const critical = isCritical ? [Buffer.of(0x01, 0x01, 0xff)] : [];
  return der(SEQUENCE, oid(SUBJECT_ALT_NAME), ...critical, der(OCTET_STRING, list));
}

/** One value of an encoding, its content, and what follows it. */
interface DerValue {
  tag: number;
  content: Buffer;
  rest: Buffer;
}

/** Throws a RangeError when the bytes end within the value. */
export function readDer(bytes: Buffer): DerValue {
  const tag = bytes.readUInt8(0);
  const first = bytes.readUInt8(1);
  const digits = first < 0x80 ? 0 : first & 0x7f;
  const length = digits === 0 ? first : bytes.readUIntBE(2, digits);
  const start = 2 + digits;
  if (start + length > bytes.length) throw new RangeError("the encoding ends within a value");
  return { tag, content: bytes.subarray(start, start + length), rest: bytes.subarray(start + length) };
}

/** The values of a SEQUENCE or SET, or of an encoding without its own tag. */
export function readAll(bytes: Buffer): DerValue[] {
  const values: DerValue[] = [];
  for (let left = bytes; left.length > 0;) {
    const value = readDer(left);
    values.push(value);
    left = value.rest;
  }
  return values;
}
