// What the texting half of the interoperability run sends: texts that software gets wrong.

export interface TextSample {
  name: string;
  body: string;
  parts: number;
}

/** All that GSM 03.38 has, in its order; its extension's form feed is no text. */
const GSM =
  "@£$¥èéùìòÇ\nØø\rÅåΔ_ΦΓΛΩΠΨΣΘΞÆæßÉ !\"#¤%&'()*+,-./0123456789:;<=>?" +
  "¡ABCDEFGHIJKLMNOPQRSTUVWXYZÄÖÑÜ§¿abcdefghijklmnopqrstuvwxyzäöñüà";
const EXTENSION = "^{}\\[~]|€";

export const TEXTS: TextSample[] = [
  { name: "GSM", body: "Olé à Loja: 10 £ @ 5 % _fim_ ÇÑü", parts: 1 },
  { name: "the extension of GSM", body: `Custa 25 €. ${EXTENSION}`, parts: 1 },
  { name: "UCS-2", body: "Não há maçãs à mão, amanhã há. “Até já” – João…", parts: 1 },
  { name: "two parts of GSM", body: `${"Texto comprido de duas partes, ".repeat(6)}fim €.`, parts: 2 },
  { name: "three parts of UCS-2", body: `${"Não vá já, João; há pão à mão. ".repeat(6)}fim.`, parts: 3 },
  // 33 code units before it, so that an emoji would lie across the edge of every part.
  { name: "emoji", body: `${"x".repeat(34)}${"🎉👩‍👩‍👧🇲🇿".repeat(5)}`, parts: 2 },
];

/** Besides, when there is time. */
export const MORE_TEXTS: TextSample[] = [
  { name: "all of GSM", body: GSM, parts: 1 },
  { name: "160 characters", body: `${"a".repeat(159)}@`, parts: 1 },
  { name: "161 characters", body: `${"a".repeat(160)}@`, parts: 2 },
  { name: "an extension across the edge", body: `${"a".repeat(152)}€${"b".repeat(20)}`, parts: 2 },
  { name: "1600 of GSM", body: "Dez letras".repeat(160), parts: 11 },
  { name: "1600 of UCS-2", body: "Dez maçãs!".repeat(160), parts: 24 },
];
