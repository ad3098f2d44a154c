import { expect, test } from "bun:test";
import { type Keyword, readKeyword } from "../../../../../src/modules/sms/inbound/keywords.ts";

const OUT = "STOP STOPALL UNSUBSCRIBE CANCEL END QUIT REMOVE OPTOUT OPT-OUT PARAR CANCELAR SAIR REMOVER";
const WORDS: [keyword: Keyword, words: string][] = [
  ["opt_out", OUT],
  ["opt_in", "START YES UNSTOP SIM VOLTAR"],
  ["help", "HELP AJUDA"],
];

for (const [keyword, words] of WORDS) {
  test(`${words} alone mean ${keyword}, in any case and with space around them`, () => {
    for (const word of words.split(" "))
      for (const written of [word, word.toLowerCase(), ` ${word}\r\n`, `\u00a0${word}`])
        expect([written, readKeyword(written)]).toEqual([written, keyword]);
  });
}

const ACCENTED: [text: string, keyword: Keyword | null][] = [
  ["Saír", "opt_out"],
  ["SAI\u0301R", "opt_out"],
  ["párar", "opt_out"],
  ["Sím", "opt_in"],
];

const SENTENCES = [
  "STOP PLEASE",
  "Não PARAR",
  "STOP.",
  "nonstop",
  "STOPP",
  "",
  "  ",
  "sim!",
  "opt out",
  `STOP${" x".repeat(500)}`,
];

test("accents do not count", () => {
  for (const [text, keyword] of ACCENTED) expect([text, readKeyword(text)]).toEqual([text, keyword]);
});

test("a keyword with anything beside it is a message for a person", () => {
  for (const text of SENTENCES) expect([text, readKeyword(text)]).toEqual([text, null]);
});
