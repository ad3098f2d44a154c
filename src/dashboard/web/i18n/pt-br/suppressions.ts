import { suppressions as ptPt } from "../pt-pt/suppressions.ts";
import type { Messages } from "../translation.ts";

export const suppressions: Messages["suppressions"] = {
  ...ptPt,
  search: "O endereço começa com",
  searchGo: "Buscar",
  addressHint: "Um endereço de e-mail ou um número de telefone como +258841234567.",
  noneText: "Um endereço que devolve, reclama ou cancela a inscrição aparece aqui. Você pode adicionar outros.",
  erased: "Destinatário excluído",
  channels: { email: "E-mail", sms: "SMS" },
  reasons: { ...ptPt.reasons, manual: "Adicionado manualmente", unsubscribe: "Cancelou a inscrição" },
  listHint: "Suprimir só os e-mails desta lista. Deixe em branco para todas as mensagens.",
  addedOfList: (address, list) => `${address} deixa de receber e-mails da lista ${list}.`,
  lift: "Remover",
  liftNamed: (address) => `Remover a supressão de ${address}`,
  liftTitle: (address) => `Remover a supressão de ${address}?`,
  liftOfList: (list) => `Volta a receber e-mails da lista ${list}. As outras supressões do endereço continuam.`,
  liftWhy: {
    hard_bounce: "O e-mail para este endereço foi devolvido. Se for devolvido de novo, ele volta a ser suprimido.",
    complaint:
      "Esta pessoa marcou seu e-mail como spam. Remova só se ela pedir: outra reclamação prejudica os seus envios.",
    manual: "Alguém o adicionou manualmente ou por uma importação.",
    opt_out: "Esta pessoa respondeu que não quer mais SMS. Remova só se ela pedir.",
    invalid_number: "A rede não conhece este número. Se continuar assim, ele volta a ser suprimido.",
    unsubscribe: "Esta pessoa cancelou a inscrição. Remova só se ela se inscreveu de novo.",
  },
  lifted: (address) => `A supressão de ${address} foi removida.`,
  importFile: "Arquivo",
  importNothing: "Primeiro escolha um arquivo ou cole endereços.",
  importLarge: "Este arquivo tem mais de 20 MB. Divida-o ou use pombo suppression import no servidor.",
  reportAgain: "Você pode importar o mesmo arquivo de novo: o que já está lá não muda.",
  faultQuote: "Uma aspa é aberta e não é fechada.",
};
