// The submit_sm PDUs of Kannel 1.4.5 for a few texts, recorded. Ours are compared with them in the tests
// (test/integration/sms/golden.test.ts), and they with what Kannel says today in the interoperability run.

export interface GoldenText {
  name: string;
  from: string;
  to: string;
  body: string;
  isUcs2: boolean;
  /** In hexadecimal, one for each part. */
  pdus: string[];
}

/** What every connection and every text has its own number for: nothing to compare. */
export function withoutNumbers(hex: string): string {
  const bytes = Buffer.from(hex, "hex");
  bytes.writeUInt32BE(0, SEQUENCE_AT);
  const header = bytes.indexOf(CONCATENATION);
  if (header > 0) bytes.writeUInt8(0, header + CONCATENATION.length);
  return bytes.toString("hex");
}

const SEQUENCE_AT = 12;
/** Of the user data header, up to its reference: five octets, of which the element 0 of three. */
const CONCATENATION = Buffer.from([5, 0, 3]);

export const GOLDEN: GoldenText[] = [
  {
    name: "GSM",
    from: "Loja",
    to: "+258840000000",
    body: "Olé à Loja: 10 £ @ 5 % _fim_ ÇÑü",
    isUcs2: false,
    pdus: [
      "000000510000000400000000000000030005004c6f6a6100010132353838343030303030303000030000000011000000204f6c05207f204c6f6a613a2031302001200020352025201166696d1120095d7e",
    ],
  },
  {
    name: "the extension of GSM",
    from: "Loja",
    to: "+258840000001",
    body: "Custa 25 €. ^{}\\[~]|",
    isUcs2: false,
    pdus: [
      "0000004e0000000400000000000000040005004c6f6a61000101323538383430303030303031000300000000110000001d4375737461203235201b652e201b141b281b291b2f1b3c1b3d1b3e1b40",
    ],
  },
  {
    name: "from a short code",
    from: "84000",
    to: "+258840000002",
    body: "Bom dia",
    isUcs2: false,
    pdus: [
      "0000003900000004000000000000000500020138343030300001013235383834303030303030320003000000001100000007426f6d20646961",
    ],
  },
  {
    name: "UCS-2, from a number",
    from: "+258841112223",
    to: "+258840000003",
    body: "Não há maçãs à mão",
    isUcs2: true,
    pdus: [
      "0000005d0000000400000000000000060001013235383834313131323232330001013235383834303030303030330003000000001100080024004e00e3006f0020006800e10020006d006100e700e30073002000e00020006d00e3006f",
    ],
  },
  {
    name: "two parts of GSM",
    from: "Loja",
    to: "+258840000004",
    body: "Texto comprido de duas partes, Texto comprido de duas partes, Texto comprido de duas partes, Texto comprido de duas partes, Texto comprido de duas partes, Texto comprido de duas partes, fim €.",
    isUcs2: false,
    pdus: [
      "000000d50000000400000000000000070005004c6f6a61000101323538383430303030303034004300000000110000009f050003040201546578746f20636f6d707269646f2064652064756173207061727465732c20546578746f20636f6d707269646f2064652064756173207061727465732c20546578746f20636f6d707269646f2064652064756173207061727465732c20546578746f20636f6d707269646f2064652064756173207061727465732c20546578746f20636f6d707269646f2064652064756173207061727465730426000101",
      "0000005f0000000400000000000000080005004c6f6a61000101323538383430303030303034004300000000000000002e0500030402022c20546578746f20636f6d707269646f2064652064756173207061727465732c2066696d201b652e",
    ],
  },
  {
    name: "two parts of UCS-2",
    from: "Loja",
    to: "+258840000005",
    body: "Não vá já, João; há pão à mão. Não vá já, João; há pão à mão. Não vá já, João; há pão à mão. 🎉",
    isUcs2: true,
    pdus: [
      "000000c20000000400000000000000090005004c6f6a61000101323538383430303030303035004300000000110008008c050003050201004e00e3006f0020007600e10020006a00e1002c0020004a006f00e3006f003b0020006800e10020007000e3006f002000e00020006d00e3006f002e0020004e00e3006f0020007600e10020006a00e1002c0020004a006f00e3006f003b0020006800e10020007000e3006f002000e00020006d00e3006f002e0020004e00e3006f002000760426000101",
      "0000006f00000004000000000000000a0005004c6f6a61000101323538383430303030303035004300000000000008003e05000305020200e10020006a00e1002c0020004a006f00e3006f003b0020006800e10020007000e3006f002000e00020006d00e3006f002e0020d83cdf89",
    ],
  },
];
