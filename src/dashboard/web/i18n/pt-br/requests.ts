import { requests as ptPt } from "../pt-pt/requests.ts";
import type { Messages } from "../translation.ts";

export const requests: Messages["requests"] = {
  ...ptPt,
  title: "Requisições",
  text: "O que os programas pediram à API com as chaves deste espaço de trabalho nos últimos 30 dias. Os corpos e os endereços não são guardados.",
  none: "Nenhum programa fez requisições ainda",
  noneText: "Uma requisição com uma chave de API aparece aqui cerca de um segundo depois.",
  noneFilter: "Nenhuma requisição corresponde a este filtro.",
  keyGone: "Chave excluída",
  request: "Requisição",
  duration: "Levou",
  fresh: (count) => `Mostrar as novas: ${count}`,
  one: "Requisição",
  id: "Id da requisição",
  email: "Ver o e-mail",
};
