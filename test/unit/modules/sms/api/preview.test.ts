import { expect, test } from "bun:test";
import { type Coding, normalForm } from "../../../../../src/modules/sms/encoding/encoding.ts";
import { fold, type Folding } from "../../../../../src/modules/sms/encoding/transliterate.ts";
import { prepareText, preview } from "../../../../../src/modules/sms/api/prepare.ts";
import { seeded } from "../../../../support/db/temporary.ts";
import { joinParts, PLAIN, randomLength, randomText } from "../../../../support/sms/texts.ts";

const rules = (folding: Folding, coding: Partial<Coding> = {}) => ({ folding, coding: { ...PLAIN, ...coding } });

/** Texts of Mozambican senders: length, segments as written, folded, and septets in the single shift table. */
const PORTUGUESE = [
  ["O seu código de verificação é 482913. Não partilhe este código com ninguém.", 75, 2, 1, 80],
  ["Código: 482913. Válido por 5 minutos.", 37, 1, 1, 39],
  ["Olá Ana, a sua encomenda já está pronta para levantamento. Traga o seu documento de identificação.", 98, 2, 1, 103],
  [
    "Prezado cliente, a sua factura de Março no valor de 1250,00 MT vence no dia 15. Pague por M-Pesa ou na agência mais próxima. Depois há multa. Obrigado.",
    151,
    3,
    1,
    155,
  ],
] as const;

for (const [text, length, asWritten, folded, septets] of PORTUGUESE) {
  test(`"${text.slice(0, 20)}…" takes ${asWritten} as written, ${folded} folded, 1 with the single shift table`, () => {
    expect([...text].length).toBe(length);
    expect(preview(text, rules("none"))).toMatchObject({ encoding: "ucs2", segments: asWritten, credits: asWritten });
    const asFolded = preview(text, rules("portuguese"));
    expect(asFolded).toMatchObject({ encoding: asWritten === folded ? "ucs2" : "gsm7", segments: folded });
    const shifted = preview(text, rules("portuguese", { shiftTables: "pt-single" }));
    expect(shifted).toMatchObject({
      ...{ encoding: "gsm7", segments: 1, credits: 1, offending: [], folded: null },
      ...{ sentText: text, unitsUsed: septets, unitsLeft: 155 - septets },
    });
  });
}

test("a preview shows everything that a send would do, and what folding would save", () => {
  const [text] = PORTUGUESE[0];
  const body = "O seu codigo de verificacao é 482913. Nao partilhe este codigo com ninguém.";
  const folded = { body, encoding: "gsm7", segments: 1, credits: 1 } as const;
  const offending = ["ó", "ç", "ã"];
  expect(preview(text, rules("none"))).toEqual({
    ...{ encoding: "ucs2", segments: 2, credits: 2, offending, folded, unitsUsed: 75, unitsLeft: 59 },
    ...{ doubled: [], without: { encoding: "gsm7", segments: 1, credits: 1 } },
    sentText: text,
  });
  expect(preview(text, rules("portuguese"))).toEqual({
    ...{ encoding: "gsm7", segments: 1, credits: 1, offending, folded, unitsUsed: 75, unitsLeft: 85 },
    ...{ doubled: [], without: null },
    sentText: body,
  });
  // Of this text punctuation alone saves nothing; the other folding would.
  expect(preview(text, rules("punctuation"))).toEqual(preview(text, rules("none")));
});

test("a text is folded only where that saves a segment", () => {
  expect(prepareText("Não", rules("portuguese"))).toMatchObject({ sentText: "Não", isFolded: false });
  // One emoji keeps all of it in UCS-2.
  const long = `Não 😀 ${"a".repeat(100)}`;
  expect(prepareText(long, rules("portuguese"))).toMatchObject({ sentText: long, segments: 2 });
  expect(preview(long, rules("none")).folded).toBe(null);
  // From two parts of UCS-2 to two of GSM-7: nothing gained.
  const two = `${"a".repeat(130)}ã`;
  expect(prepareText(`${two}${"[]".repeat(16)}`, rules("portuguese")).isFolded).toBe(true);
  expect(prepareText(`${"[]".repeat(66)}ã`, rules("portuguese")).isFolded).toBe(false);
});

test("a text of signs that nobody sees is sent as it is", () => {
  expect(prepareText("\u200b".repeat(100), rules("punctuation"))).toMatchObject({ isFolded: false, segments: 2 });
});

test("what a route's shift tables write needs no folding", () => {
  const text = `Não ${"a".repeat(140)}`;
  expect(prepareText(text, rules("portuguese", { shiftTables: "pt-single" })).isFolded).toBe(false);
  expect(prepareText(text, rules("portuguese", { shiftTables: "pt-single", segmentation: "sar" })).isFolded).toBe(true);
});

const FOLDED: [folding: Folding, text: string, folded: string][] = [
  ["none", "“ã”", "“ã”"],
  ["punctuation", "“a” ‘b’ «c» – — …\u00a0d\u200b", '"a" \'b\' "c" - - ... d'],
  ["punctuation", "ação", "ação"],
  ["portuguese", "à é Ç É ü Ü è ñ", "à é Ç É ü Ü è ñ"],
  ["portuguese", "áâãçêíóôõú", "aaaceiooou"],
  ["portuguese", "ÀÁÂÃÊÍÓÔÕÚ", "AAAAEIOOOU"],
  ["portuguese", "1ª e 2º “dia”", '1a e 2o "dia"'],
  ["portuguese", "😀 你", "😀 你"],
];

for (const [folding, text, folded] of FOLDED) {
  test(`${JSON.stringify(text)} folded for ${folding} is ${JSON.stringify(folded)}`, () => {
    expect(fold(text, folding)).toBe(folded);
  });
}

test("what is sent is in its normal form, also where a folded letter meets a mark", () => {
  const text = `${"ã\u0323".repeat(2)}${"“x”".repeat(30)}`;
  const { sentText } = prepareText(text, rules("portuguese"));
  expect(sentText).toBe(normalForm(sentText));
  expect(prepareText("cafe\u0301", rules("none"))).toMatchObject({ sentText: "café", segments: 1 });
});

test("a preview and a send never disagree, and no folding ever costs more", () => {
  const chance = seeded(7);
  for (let round = 0; round < 500; round += 1) {
    const body = randomText(chance, randomLength(chance));
    for (const folding of ["none", "punctuation", "portuguese"] as const) {
      const sent = prepareText(body, rules(folding));
      const shown = preview(body, rules(folding));
      expect([shown.segments, shown.encoding]).toEqual([sent.split.parts.length, sent.split.encoding]);
      expect(joinParts(sent.split)).toBe(sent.sentText);
      expect(sent.segments).toBeLessThanOrEqual(prepareText(body, rules("none")).segments);
      if (!sent.isFolded) expect(sent.sentText).toBe(normalForm(body));
      expect(shown.offending.length === 0).toBe(prepareText(body, rules("none")).split.encoding === "gsm7");
    }
  }
}, 30_000);

test("a tab is sent as a space, and the preview shows it", () => {
  const seen = preview("Total:\t1110,00 MT", rules("none"));
  expect(seen).toMatchObject({ encoding: "gsm7", offending: [], sentText: "Total: 1110,00 MT", unitsUsed: 17 });
  expect(preview("Não\to", rules("none"))).toMatchObject({ encoding: "ucs2", offending: ["ã"], sentText: "Não o" });
});

test("a preview says what characters that count double cost, where a part less would do without them", () => {
  const long = `${"a".repeat(160)} € [`;
  expect(preview(long, rules("none"))).toMatchObject({
    ...{ encoding: "gsm7", segments: 2, offending: [], doubled: ["€", "["] },
    without: null,
  });
  const close = `${"a".repeat(158)}€`;
  expect(preview(`${close}b`, rules("none"))).toMatchObject({ doubled: ["€"], without: { segments: 1, credits: 1 } });
  expect(preview(close, rules("none"))).toMatchObject({ doubled: ["€"], segments: 1, without: null });
});
