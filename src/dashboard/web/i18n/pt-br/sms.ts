import { sms as ptPt } from "../pt-pt/sms.ts";
import type { Messages } from "../translation.ts";

export const sms: Messages["sms"] = {
  ...ptPt,
  text: "O que foi enviado e o que a rede diz que aconteceu.",
  status: "Status",
  statusAny: "Todos os status",
  created: "Aceito",
  search: "Buscar",
  hidden: "Sua função não permite ver",
  bodyHidden:
    "Sua função não permite ver o que as mensagens dizem. Um proprietário do espaço de trabalho pode mudar isso.",
  duplicate:
    "Pode ter chegado duas vezes: a resposta da rede se perdeu, ou ele esperava em um banco de dados que foi restaurado, e foi enviado de novo.",
  encodings: {
    gsm7: ptPt.encodings.gsm7,
    ucs2: (parts) => `${parts}, de até 70 caracteres, por causa de um caractere que o alfabeto curto não tem`,
  },
  statuses: { ...ptPt.statuses, sending: "Enviando" },
  now: {
    ...ptPt.now,
    queued: "Espera a sua vez.",
    sent: "A rede aceitou. A confirmação do celular ainda não chegou.",
    delivered: "Está no celular.",
    undelivered: "A rede aceitou e não conseguiu entregar.",
    failed: "A rede recusou. Não será tentado de novo.",
    expired: "Esperou demais e foi abandonado.",
  },
  why: {
    ...ptPt.why,
    absent_subscriber: "O celular estava desligado ou sem sinal.",
    handset_error: "O celular não pôde receber: a memória pode estar cheia.",
    opted_out: "O destinatário pediu para não receber mais mensagens.",
    outcome_unknown: "A resposta da rede se perdeu: pode ter sido entregue.",
    internal_error: "Este servidor teve uma falha. O log diz mais ao operador.",
  },
  again: "Será tentado de novo:",
  entries: {
    ...ptPt.entries,
    "sms.queued": "Aceito",
    "sms.sent": "A rede tem tudo",
    "segment.submitted": (attempt) =>
      attempt === "1" ? "Enviado para a rede" : `Enviado para a rede, tentativa ${attempt}`,
    "segment.accepted": "Aceito pela rede",
    "segment.receipt": (state) => `Confirmação: ${state}`,
    "segment.uncertain": "A resposta se perdeu",
  },
  states: { ...ptPt.states, accepted: "lido manualmente pelo assinante", delivered: "no celular" },
};
