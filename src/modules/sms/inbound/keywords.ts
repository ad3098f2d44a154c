// Messages by which a subscriber wants no more messages, or wants them again. Pure.
// The whole message is one of the words ("STOP PLEASE" is for a person to read), without regard to case, accents and space
// around it.

export type Keyword = "opt_out" | "opt_in" | "help";

const KEYWORDS = new Map<string, Keyword>([
  ...words("opt_out", "STOP STOPALL UNSUBSCRIBE CANCEL END QUIT REMOVE OPTOUT OPT-OUT"),
  ...words("opt_out", "PARAR CANCELAR SAIR REMOVER"),
  ...words("opt_in", "START YES UNSTOP"),
  ...words("opt_in", "SIM VOLTAR"),
  ...words("help", "HELP AJUDA"),
]);

function words(keyword: Keyword, list: string): [string, Keyword][] {
  return list.split(" ").map((word) => [word, keyword]);
}

/** Longer than any word with accents written apart; what is longer is not looked at. */
const MAX_LENGTH = 100;

/** What a received message asks for; null: nothing of the kind. */
export function readKeyword(text: string): Keyword | null {
  const trimmed = text.trim();
  if (trimmed.length > MAX_LENGTH) return null;
  const plain = trimmed.normalize("NFD").replace(/\p{M}/gu, "").toUpperCase();
  return KEYWORDS.get(plain) ?? null;
}
