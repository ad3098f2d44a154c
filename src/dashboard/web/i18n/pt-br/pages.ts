// The words of a workspace's pages, in Portuguese of Brazil, where they differ from Portugal's.

import * as ptPt from "../pt-pt/pages.ts";

export const home = {
  ...ptPt.home,
  flowOn: "Os emails estão saindo",
  flowReady: "Pronto para enviar",
  flowSetup: "Ainda não está pronto para enviar",
  flowSlow: "Há emails atrasados",
  needs: "Precisa de você",
  blockText: "Mensagens novas são recusadas. O que foi aceito antes ainda sai.",
  blockHeld: "Nada da fila sai até que o operador a libere.",
  blockAsk: "Só o operador deste servidor pode remover o bloqueio.",
  rateBounces: (percent: string, limit: string) =>
    `${percent} dos seus emails foram devolvidos em 7 dias; a partir de ${limit}, emails novos são recusados.`,
  rateComplaints: (percent: string, limit: string) =>
    `${percent} dos seus emails tiveram reclamações em 7 dias; a partir de ${limit}, emails novos são recusados.`,
  rateHelp: "Tire das listas os endereços devolvidos e escreva só para quem pediu.",
  domainPending: (of: string) => `${of} espera pelos registros DNS`,
  domainWarning: (of: string) => `O registro DNS de ${of} sumiu: o envio vai parar`,
  domainShow: "Ver os registros",
  quotaMonth: (used: string, limit: string) => `${used} de ${limit} emails neste mês`,
  quotaHelpDay: "Acima disso, emails novos são recusados até a meia-noite UTC.",
  quotaHelpMonth: "Acima disso, emails novos são recusados até o próximo mês.",
  delayed: (count: string) => `Atrasados: ${count}. Os servidores pediram para tentar mais tarde.`,
  stepDomain: "Adicione o domínio do qual você envia",
  stepDomainText: "Os emails são assinados em nome dele. Você publica alguns registros DNS, e o pombo fica de olho.",
  stepDomainDone: (of: string) => `Você envia de ${of}`,
  stepKeyText: "Seu aplicativo a mostra em cada requisição.",
  stepKeyDone: "Você tem uma chave de API",
  stepEmailText: (address: string) => `Vai para ${address}. Clique no botão ou execute isto em um terminal:`,
  stepEmailWithKey: "A nova chave já está no comando. Ela só é mostrada agora.",
  stepEmailMakeKey: "Colocar uma chave nova",
  stepEmailDone: "O primeiro email foi aceito",
  firstSubject: "Meu primeiro email com o pombo",
  usage: "Uso",
  usageMonth: "Emails neste mês",
};

export const domain = {
  ...ptPt.domain,
  nameHint: "Como em eu@exemplo.com.br: exemplo.com.br",
  records: (of: string) => `Registros DNS de ${of}`,
  recordsText: "Publique-os no seu provedor de DNS. O primeiro é o que decide; os outros ajudam os emails a chegar.",
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
  madeText: "Copie-a agora: ela não será mostrada de novo.",
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
  resend: "Novo link",
  madeMailed: "Foi enviado por email. Você também pode entregar este link:",
  madeCopy: "Entregue este link. Ele funciona uma vez, por 7 dias, e não será mostrado de novo:",
  madeLabel: "Link do convite",
  revokeText: "O link deixa de funcionar na hora.",
};

export const audit = {
  ...ptPt.audit,
  text: "Quem mudou o que neste espaço.",
  what: "O que",
};

export const emails = {
  ...ptPt.emails,
  status: "Status",
  statusAny: "Todos os status",
  created: "Aceito",
  searchGo: "Buscar",
  noneText: "Envie um pela API, e ele aparece aqui sozinho.",
  newer: "Mais recentes",
};

export const status = {
  ...ptPt.status,
  sending: "Enviando",
  complained: "Reclamação",
};

export const email = {
  ...ptPt.email,
  created: "Aceito",
  gone: "Esse email não existe neste espaço.",
  cancelText: "Ele deixa de ser enviado. Seu lugar na cota não é devolvido.",
  retried: "A próxima tentativa é agora.",
  curlCopied: "Copiado. Coloque sua chave de API.",
  contentsHidden: "Sua função não mostra o conteúdo das mensagens.",
  contentsNone: "O conteúdo não está mais guardado.",
};

export const now = {
  ...ptPt.now,
  sending: "Uma tentativa está em andamento.",
  sent: "O relay está com ele.",
  delivered: "O servidor de email do destinatário o aceitou.",
  bounced: "O servidor de email do destinatário o recusou de vez. Não se tenta de novo.",
  failed: "Não pôde ser entregue e não será tentado de novo.",
};

export const event = {
  ...ptPt.event,
  queued: "Aceito",
  sending: (attempt: string) => `A tentativa ${attempt} está em andamento`,
  delivered: (host: string) => `${host} o aceitou`,
  sent: (host: string) => `${host} o aceitou para passar adiante`,
  reportBounce: "Chegou uma devolução por email",
  reportComplaint: "Chegou uma reclamação por email",
  reportDelay: "Chegou um aviso de atraso por email",
  tls: (tls: string) => `criptografado, ${tls}`,
  clear: "não criptografado",
};

export const why = {
  ...ptPt.why,
  inactive_mailbox: "A caixa de entrada está desativada ou abandonada. Fica suprimida a partir de agora.",
  mailbox_full: "A caixa do destinatário está cheia.",
  bad_domain: "O domínio do destinatário não existe ou não recebe email.",
  auth_failed: "O servidor não aceitou o SPF, DKIM ou DMARC do remetente. Veja os registros do domínio.",
  rate_limited: "O servidor só aceita certa quantidade de emails por tempo, e pede para ir mais devagar.",
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
