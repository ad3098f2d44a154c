import type { Messages } from "../translation.ts";

export const settings: Messages["settings"] = {
  title: "Definições",
  text: "Como se chama este espaço de trabalho, o que pode fazer e quem vê o conteúdo das suas mensagens.",
  name: "Nome",
  nameTitle: "Espaço de trabalho",
  nameHint: "Os membros veem-no, e os convites dizem-no.",
  id: "Id",
  created: "Criado",
  plan: "Plano",
  limits: "O que o plano permite",
  limitsText: "Só o operador deste servidor muda o plano.",
  emailsPerDay: "Emails por dia",
  emailsPerMonth: "Emails por mês",
  domains: "Domínios",
  apiKeys: "Chaves de API",
  webhooks: "Webhooks",
  members: "Membros",
  storage: "Conteúdos guardados",
  unlimited: (used) => `${used}, sem limite`,
  used: (used, limit) => `${used} de ${limit}`,
  senders: "Remetentes de SMS",
  sendersText: "Nomes e números de que os SMS podem vir. O operador deste servidor regista-os junto das redes.",
  sendersNone: "Ainda não há nenhum: peça um ao operador deste servidor.",
  senderDefault: "Predefinido",
  remove: "Eliminar o espaço de trabalho",
  removeText:
    "Só o operador deste servidor pode eliminar um espaço de trabalho, com todas as mensagens, chaves e membros. Peça-lho, e indique este id:",
  yes: "sim",
  no: "não",
};

export const content: Messages["content"] = {
  title: "Quem vê o conteúdo das mensagens",
  text: "Proprietários, administradores e membros veem-no sempre. Os assuntos e os endereços são visíveis para todos aqui.",
  viewers: "Os leitores também",
  operators: "Os operadores deste servidor também",
  operatorsHint: "O registo de auditoria diz o que eles leram.",
};
