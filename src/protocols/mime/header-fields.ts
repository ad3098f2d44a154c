// The fields of a header that is stored as text: found, taken out, put in another's place. Pure.

/** A field as it stands, with its line ends. */
export interface RawField {
  name: string;
  /** All lines of it, each ended by CRLF. */
  raw: string;
}

/** Each line of `header` ends in CRLF, and it has no empty one. */
export function splitFields(header: string): RawField[] {
  const fields: RawField[] = [];
  for (const line of header.split(/(?<=\r\n)/)) {
    const last = fields.at(-1);
    if (last !== undefined && /^[ \t]/.test(line)) last.raw += line;
    else if (line !== "") fields.push({ name: line.slice(0, Math.max(0, line.indexOf(":"))).trimEnd(), raw: line });
  }
  return fields;
}

/** The value of a field on one line. */
export function unfold({ raw }: RawField): string {
  return raw
    .slice(raw.indexOf(":") + 1)
    .replaceAll(/\r\n(?=[ \t])|\r\n$/g, "")
    .trim();
}

export function removeFields(header: string, names: RegExp): string {
  return splitFields(header)
    .filter(({ name }) => !names.test(name))
    .map(({ raw }) => raw)
    .join("");
}
