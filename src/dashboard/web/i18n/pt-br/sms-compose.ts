import { smsCompose as ptPt } from "../pt-pt/sms-compose.ts";
import type { Messages } from "../translation.ts";

export const smsCompose: Messages["smsCompose"] = {
  ...ptPt,
  notYours: "Sua função não permite enviar. Um proprietário do espaço de trabalho pode mudar isso.",
  notConnected: "Este servidor não está conectado a nenhuma rede móvel.",
  toHint: (example) => `Com o código do país, como ${example}`,
  lessRoom: (signs) => `Com ${signs}, cabem em uma parte 70 caracteres em vez de 160.`,
  oneCosts: (sign, parts, without) => `Com ${sign} são ${parts}; sem esse caractere, ${without}.`,
  someCost: (signs, parts, without) => `Com ${signs} são ${parts}; sem esses caracteres, ${without}.`,
  isFolding: "O operador faz substituir acentos e aspas, porque assim são menos partes.",
  putBack: "Desfazer a substituição",
  short: "Os créditos não são suficientes para este texto.",
  refused: "Não foi enviado: os créditos não são suficientes. O texto fica aqui até haver mais.",
  accepted: "Foi aceito.",
};
