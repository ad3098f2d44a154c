import { calls as ptPtCalls, webhooks as ptPt } from "../pt-pt/webhooks.ts";
import type { Messages } from "../translation.ts";

export const webhooks: Messages["webhooks"] = {
  ...ptPt,
  noneText: "Crie um, e o pombo avisa seu servidor de entregas, devoluções e SMS recebidos.",
  urlHint: "Começa com https:// e é acessível pela internet.",
  state: "Situação",
  disabledReason: "O pombo o desativou:",
  failing: "Falhando",
  lastDelivery: "Último sucesso",
  disableText: "Ele não é mais chamado. Os eventos que esperam por ele não são entregues.",
  tested: "Uma chamada de teste está a caminho. Ela aparece abaixo.",
  rotateText: "Por algum tempo as chamadas também são assinadas com o segredo antigo.",
  graceNone: "nunca mais, como depois de um vazamento",
  secretText: "Com ele seu servidor verifica que uma chamada vem do pombo.",
  delete: "Excluir",
  deleteTitle: "Excluir este webhook?",
  deleteText: "Ele não é mais chamado, e as chamadas dele são removidas. Isso não pode ser desfeito.",
  deleted: "O webhook foi excluído.",
};

export const calls: Messages["calls"] = {
  ...ptPtCalls,
  none: "Nada foi chamado ainda.",
  noneFilter: "Nenhuma chamada tem este status.",
  status: "Status",
  answered: (status) => `O receptor respondeu ${status}.`,
  gone: "Esta chamada não está mais guardada.",
  replayed: "O evento está a caminho mais uma vez.",
  sentNone: "O evento não está mais guardado.",
  hidden:
    "Com a sua função você não vê o que foi enviado e respondido. Um proprietário do espaço de trabalho pode mudar isso.",
};
