// The words of a workspace's pages, in Portuguese of Brazil, where they differ from Portugal's.

import * as ptPt from "../pt-pt/pages.ts";

export const home = {
  ...ptPt.home,
  quotaToday: (used: string, limit: string) => `${used} de ${limit} e-mails hoje`,
  stepEmail: "Envie o primeiro e-mail",
  stepDeliveredShow: "Ver o e-mail",
  firstText: "Funciona: este e-mail passou pela fila, pela assinatura e por SMTP.",
  firstKeyName: "Primeiro e-mail",
  usageToday: "E-mails hoje",
  latest: "Últimos e-mails",
  latestAll: "Todos os e-mails",
  flowOn: "Os e-mails estão saindo",
  flowReady: "Pronto para enviar",
  flowSetup: "Ainda não está pronto para enviar",
  flowSlow: "Há e-mails atrasados",
  needs: "Precisa de você",
  blockText: "Mensagens novas são recusadas. O que foi aceito antes ainda sai.",
  blockHeld: "Nada da fila sai até que o operador a libere.",
  blockAsk: "Só o operador deste servidor pode remover o bloqueio.",
  rateBounces: (percent: string, limit: string) =>
    `${percent} dos seus e-mails foram devolvidos em 7 dias; a partir de ${limit}, e-mails novos são recusados.`,
  rateComplaints: (percent: string, limit: string) =>
    `${percent} dos seus e-mails tiveram reclamações em 7 dias; a partir de ${limit}, e-mails novos são recusados.`,
  rateHelp: "Tire das listas os endereços devolvidos e escreva só para quem pediu.",
  domainPending: (of: string) => `${of} espera pelos registros DNS`,
  domainWarning: (of: string) => `O registro DNS de ${of} sumiu: o envio vai parar`,
  domainShow: "Ver os registros",
  quotaMonth: (used: string, limit: string) => `${used} de ${limit} e-mails neste mês`,
  quotaHelpDay: "Acima disso, e-mails novos são recusados até a meia-noite UTC.",
  quotaHelpMonth: "Acima disso, e-mails novos são recusados até o próximo mês.",
  stepDomain: "Adicione o domínio do qual você envia",
  stepDomainText: "Os e-mails são assinados em nome dele. Você publica alguns registros DNS, e o pombo fica de olho.",
  stepDomainDone: (of: string) => `Você envia de ${of}`,
  stepKeyText: "Seu aplicativo a mostra em cada requisição.",
  stepKeyDone: "Você tem uma chave de API",
  stepEmailText: (address: string) => `Vai para ${address}. Clique no botão ou execute isto em um terminal:`,
  stepEmailWithKey: "A nova chave já está no comando. Ela só é mostrada agora.",
  stepEmailMakeKey: "Colocar uma chave nova",
  stepEmailDone: "O primeiro e-mail foi aceito",
  firstSubject: "Meu primeiro e-mail com o pombo",
  usage: "Uso",
  usageMonth: "E-mails neste mês",
};

export const domain = {
  ...ptPt.domain,
  nameHint: "Como em eu@exemplo.com.br: exemplo.com.br",
  records: (of: string) => `Registros DNS de ${of}`,
  recordsText: "Publique-os no seu provedor de DNS. O primeiro é o que decide; os outros ajudam os e-mails a chegar.",
  statusMissing: "Faltando",
  verified: (of: string) => `${of} está verificado: você já pode enviar.`,
  watch: "O pombo também verifica sozinho; isto muda quando os registros forem vistos.",
};

export const keys = {
  ...ptPt.keys,
  text: "Com uma chave, um aplicativo prova que pode enviar por este espaço.",
  noneText: "Crie uma por aplicativo, para poder excluir uma sem parar as outras.",
  domainAll: "Todos os domínios, e todo o resto deste espaço",
  scopeAll: "Espaço inteiro",
  prefix: "Começa com",
  delete: "Excluir",
  deleteTitle: (name: string) => `Excluir a chave ${name}?`,
  deleteText: "O que a usa passa a ser recusado. Não é possível desfazer.",
  deleted: (name: string) => `A chave ${name} foi excluída.`,
  madeTitle: "Sua nova chave",
  madeTry: "Teste em um terminal:",
};

export const members = {
  ...ptPt.members,
  role: "Função",
  roleOf: (name: string) => `Função de ${name}`,
  unverified: "endereço não comprovado",
  removeText: "Perde o acesso na hora. As chaves que criou continuam funcionando.",
  leaveText: "Você perde o acesso na hora, e só um convite traz você de volta.",
};

export const invitations = {
  ...ptPt.invitations,
  email: "Endereço de e-mail",
  revoked: (email: string) => `O convite de ${email} foi revogado.`,
  madeTitle: (email: string) => `Convite para ${email}`,
  revokeTitle: (email: string) => `Revogar o convite de ${email}?`,
  resend: "Novo link",
  madeMailed: "Foi enviado por e-mail. Você também pode entregar este link:",
  madeCopy: "Entregue este link. Ele funciona uma vez, por 7 dias, e não será mostrado de novo:",
  revokeText: "O link deixa de funcionar na hora.",
};

export const audit = {
  ...ptPt.audit,
  text: "Quem mudou o que neste espaço.",
  what: "O que",
};

export const emails = {
  ...ptPt.emails,
  title: "E-mails",
  none: "Ainda não há e-mails.",
  noneFilter: "Nenhum e-mail corresponde a este filtro.",
  status: "Status",
  statusAny: "Todos os status",
  created: "Aceito",
  searchGo: "Buscar",
  noneText: "Envie um pela API, e ele aparece aqui sozinho.",
};

export const status = {
  ...ptPt.status,
  sending: "Enviando",
  complained: "Reclamação",
};

export const email = {
  ...ptPt.email,
  back: "E-mails",
  cancelTitle: "Cancelar este e-mail?",
  canceled: "O e-mail foi cancelado.",
  title: "E-mail",
  created: "Aceito",
  gone: "Esse e-mail não existe neste espaço.",
  cancelText: "Ele deixa de ser enviado. Seu lugar na cota não é devolvido.",
  retried: "A próxima tentativa é agora.",
  contentsHidden: "Sua função não mostra o conteúdo das mensagens.",
  contentsNone: "O conteúdo não está mais guardado.",
};

export const now = {
  ...ptPt.now,
  sending: "Uma tentativa está em andamento.",
  sent: "O relay está com ele.",
  delivered: "O servidor de e-mail do destinatário o aceitou.",
  bounced: "O servidor de e-mail do destinatário o recusou de vez. Não se tenta de novo.",
  failed: "Não pôde ser entregue e não será tentado de novo.",
};

export const event = {
  ...ptPt.event,
  again: "Ele é tentado de novo sozinho.",
  queued: "Aceito",
  sending: (attempt: string) => `A tentativa ${attempt} está em andamento`,
  delivered: (host: string) => `${host} o aceitou`,
  sent: (host: string) => `${host} o aceitou para passar adiante`,
  reportBounce: "Chegou uma devolução por e-mail",
  reportComplaint: "Chegou uma reclamação por e-mail",
  reportDelay: "Chegou um aviso de atraso por e-mail",
  tls: (tls: string) => `criptografado, ${tls}`,
  clear: "não criptografado",
};

export const why = {
  ...ptPt.why,
  inactive_mailbox: "A caixa de entrada está desativada ou abandonada. Fica suprimida a partir de agora.",
  mailbox_full: "A caixa do destinatário está cheia.",
  bad_domain: "O domínio do destinatário não existe ou não recebe e-mail.",
  auth_failed: "O servidor não aceitou o SPF, DKIM ou DMARC do remetente. Veja os registros do domínio.",
  rate_limited: "O servidor só aceita certa quantidade de e-mails por tempo, e pede para ir mais devagar.",
  bad_connection: "Não foi possível conectar ao servidor, ou a conexão caiu.",
  expired: "Esperou demais: seu prazo acabou.",
};

export const auditAction = {
  ...ptPt.auditAction,
  "api_key.deleted": "Chave de API excluída",
  "domain.deleted": "Domínio excluído",
  "member.role_changed": "Função alterada",
  "sender_id.deleted": "Remetente de SMS excluído",
  "webhook.deleted": "Webhook excluído",
  "workspace.unblocked": "Bloqueio removido",
};
