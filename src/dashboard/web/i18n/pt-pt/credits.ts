import type { Messages } from "../translation.ts";

export const credits: Messages["credits"] = {
  title: "Créditos de SMS",
  text: "Cada parte de um SMS gasta um crédito. Só o operador deste servidor atribui mais.",
  write: "Escrever um SMS",
  none: "Ainda não houve créditos.",
  noneText: "É o operador deste servidor que os atribui.",
  left: "Créditos disponíveis",
  entries: "Alterações do saldo",
  what: "O quê",
  change: "Alteração",
  balance: "Saldo na altura",
  when: "Quando",
  granted: "Atribuídos pelo operador",
  deducted: "Retirados pelo operador",
  kinds: {
    reservation: (parts) => (parts === 1 ? "SMS de 1 parte" : `SMS de ${parts} partes`),
    refund: (parts) =>
      parts === 1 ? "Devolvido: 1 parte não foi enviada" : `Devolvidos: ${parts} partes não foram enviadas`,
    writeoff: (parts) =>
      parts === 1
        ? "1 parte acabou por ser enviada; o crédito fica devolvido"
        : `${parts} partes acabaram por ser enviadas; os créditos ficam devolvidos`,
  },
};
