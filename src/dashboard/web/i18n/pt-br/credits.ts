import { credits as ptPt } from "../pt-pt/credits.ts";
import type { Messages } from "../translation.ts";

export const credits: Messages["credits"] = {
  ...ptPt,
  text: "Cada parte de um SMS gasta um crédito. Só o operador deste servidor concede mais.",
  none: "Ainda não há créditos.",
  noneText: "Quem concede os créditos é o operador deste servidor.",
  balance: "Saldo na hora",
  granted: "Concedidos pelo operador",
};
