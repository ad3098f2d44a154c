import { compose as ptPt } from "../pt-pt/compose.ts";
import type { Messages } from "../translation.ts";

export const compose: Messages["compose"] = {
  ...ptPt,
  title: "Escrever um e-mail",
  notYours: "Sua função não permite enviar. Um proprietário do espaço de trabalho pode mudar isso.",
  noDomain: "Nenhum domínio pode enviar ainda.",
  more: "Cc, Bcc, respostas, etiqueta e horário",
  sendAt: "Enviar em (opcional)",
  preview: "Visualizar",
  textHint: "Se ficar em branco, é feito a partir do HTML.",
  filesHint: "Até 50 arquivos e cerca de 14 MB no total, a menos que o operador permita outro tamanho.",
  send: "Enviar o e-mail",
  accepted: "Foi aceito.",
};
