// The words of a workspace's pages, in Portuguese of Brazil, where they differ from Portugal's.

import * as ptPt from "../pt-pt/pages.ts";

export const home = {
  ...ptPt.home,
  quotaToday: (used: string, limit: string) => `${used} de ${limit} e-mails hoje`,
  stepEmail: "Envie o primeiro e-mail",
  stepDeliveredShow: "Ver o e-mail",
  firstText: "Funciona: este e-mail passou pela fila, foi assinado e seguiu por SMTP.",
  firstKeyName: "Primeiro e-mail",
  usageToday: "E-mails hoje",
  latest: "Últimos e-mails",
  latestAll: "Todos os e-mails",
  flowOn: "Os e-mails estão saindo",
  flowReady: "Pronto para enviar",
  flowSetup: "Ainda não está pronto para enviar",
  flowSlow: "Há e-mails atrasados",
  needs: "Precisa da sua atenção",
  blockText: "Mensagens novas são recusadas. As que já tinham sido aceitas ainda saem.",
  blockHeld: "Nada da fila sai até que o operador a libere.",
  blockAsk: "Só o operador deste servidor pode remover o bloqueio.",
  rateBounces: (percent: string, limit: string) =>
    `${percent} dos seus e-mails foram devolvidos em 7 dias; a partir de ${limit}, e-mails novos são recusados.`,
  rateComplaints: (percent: string, limit: string) =>
    `${percent} dos seus e-mails foram marcados como spam em 7 dias; a partir de ${limit}, e-mails novos são recusados.`,
  rateHelp: "Tire das suas listas os endereços que devolvem e-mails e escreva só para quem pediu.",
  domainPending: (of: string) => `${of} aguarda os registros DNS`,
  domainWarning: (of: string) => `O registro DNS de ${of} sumiu: o envio vai parar`,
  domainShow: "Ver os registros",
  quotaMonth: (used: string, limit: string) => `${used} de ${limit} e-mails neste mês`,
  quotaHelpDay: "Acima disso, e-mails novos são recusados até a meia-noite UTC.",
  quotaHelpMonth: "Acima disso, e-mails novos são recusados até o próximo mês.",
  stepDomain: "Adicione o domínio do qual você envia",
  stepDomainText:
    "Os e-mails são assinados em nome dele. Publique alguns registros DNS; o pombo percebe quando eles aparecerem.",
  stepDomainDone: (of: string) => `Você envia de ${of}`,
  stepKeyText: "Seu aplicativo a envia em cada requisição.",
  stepKeyDone: "Você já tem uma chave de API",
  stepEmailText: (address: string) => `Vai para ${address}. Clique no botão ou execute isto em um terminal:`,
  stepEmailWithKey: "A nova chave já está no comando. Ela só é mostrada agora.",
  stepEmailMakeKey: "Colocar uma chave nova no comando",
  stepEmailDone: "O primeiro e-mail foi aceito",
  firstSubject: "Meu primeiro e-mail com o pombo",
  usage: "Uso",
  usageMonth: "E-mails neste mês",
  flowNone: "Nenhum e-mail foi entregue ainda.",
  stepDeliveredInbox: "Abrir a caixa de entrada do sandbox",
};

export const domain = {
  ...ptPt.domain,
  nameHint: "Como em eu@exemplo.com.br: exemplo.com.br",
};

export const keys = {
  ...ptPt.keys,
  text: "É com uma chave que um aplicativo prova que pode enviar por este espaço de trabalho.",
  noneText: "Crie uma para cada aplicativo, para poder excluir uma sem afetar as outras.",
  scopeAll: "Espaço de trabalho inteiro",
  prefix: "Começa com",
  delete: "Excluir",
  deleteTitle: (name: string) => `Excluir a chave ${name}?`,
  deleteText: "Os programas que a usam passam a ser recusados. Não é possível desfazer.",
  deleted: (name: string) => `A chave ${name} foi excluída.`,
  madeTitle: "Sua nova chave",
  madeTry: "Teste em um terminal:",
  lastUsed: "Último uso",
};

export const smtp = {
  ...ptPt.smtp,
  user: "Usuário",
  password: "Senha",
  passwordHint: "Uma chave de API, do espaço de trabalho inteiro ou de um domínio",
  made: "Em um programa que fala SMTP, a chave é a senha.",
};

export const members = {
  ...ptPt.members,
  you: "você",
  removeText: "Perde o acesso na hora. As chaves que criou continuam funcionando.",
  leaveText: "Você perde o acesso na hora, e só um novo convite traz você de volta.",
  changed: (name: string, role: string) => `${name} agora tem a função ${role}.`,
  removed: (name: string) => `${name} não é mais membro.`,
};

export const invitations = {
  ...ptPt.invitations,
  email: "Endereço de e-mail",
  revoked: (email: string) => `O convite para ${email} foi revogado.`,
  madeTitle: (email: string) => `Convite para ${email}`,
  revokeTitle: (email: string) => `Revogar o convite para ${email}?`,
  resend: "Novo link",
  madeMailed: "Foi enviado por e-mail. Você também pode compartilhar este link:",
  madeCopy: "Entregue este link à pessoa convidada. Ele funciona uma vez, por 7 dias, e não será mostrado de novo:",
  revokeText: "O link deixa de funcionar na hora.",
  none: "Não há convites pendentes no momento.",
};

export const audit = {
  ...ptPt.audit,
  text: "Quem mudou o que neste espaço de trabalho.",
  what: "O que",
  title: "Registro de auditoria",
  none: "Nada foi alterado ainda.",
};

export const emails = {
  ...ptPt.emails,
  title: "E-mails",
  write: "Escrever um e-mail",
  none: "Ainda não há e-mails.",
  noneFilter: "Nenhum e-mail corresponde a este filtro.",
  status: "Status",
  statusAny: "Todos os status",
  created: "Aceito",
  searchGo: "Buscar",
  noneText: "Envie um pela API, e ele aparece aqui sozinho.",
  period: "Aceitos",
  toDay: "Até o dia",
  without: (filter: string) => `Remover o filtro ${filter}`,
  categories: {
    ...ptPt.emails.categories,
    spam_content: "Conteúdo visto como spam",
    rate_limited: "Volume demais de uma vez",
    bad_connection: "Conexão falhou",
  },
  rangeOlder: (count: string) => `${count} e-mails`,
  lookedAt: "Só uma parte dos e-mails foi vista; pode haver outros, mais antigos.",
  lookOn: "Buscar mais atrás",
  showNew: (count: number, isMore: boolean) =>
    count === 1 ? "1 e-mail novo: mostrar" : `${isMore ? "Mais de " : ""}${count} e-mails novos: mostrar`,
};

export const status = {
  ...ptPt.status,
  sending: "Enviando",
  complained: "Reclamação",
};

export const email = {
  ...ptPt.email,
  sentBy: "Enviado por",
  sentByGone: { api_key: "Uma chave de API excluída", user: "Alguém que não tem mais conta" },
  back: "E-mails",
  cancel: "Cancelar o e-mail",
  cancelTitle: "Cancelar este e-mail?",
  download: "Baixar",
  downloadMessage: "Baixar a mensagem",
  reschedule: "Mudar o horário",
  rescheduled: "Tem um novo horário.",
  forGroup: "Também para os outros destinatários deste envio que ainda aguardam",
  title: "E-mail",
  created: "Aceito",
  gone: "Esse e-mail não existe neste espaço de trabalho.",
  cancelText: "Ele não será enviado. Continua contando para a cota.",
  retried: "A próxima tentativa é agora.",
  contentsHidden:
    "Sua função não permite ver o conteúdo das mensagens. Um proprietário do espaço de trabalho pode mudar isso.",
  contentsNone: "O conteúdo não está mais guardado.",
  contentsNoText: "A mensagem não tem texto, ou ele não está mais guardado.",
  duplicate: "Pode chegar duas vezes: a resposta de um servidor se perdeu depois que a mensagem inteira foi enviada.",
};

export const preview = {
  ...ptPt.preview,
  frame: "O e-mail como o destinatário o vê",
  phone: "Celular",
  remoteOf: (count: number) => (count === 1 ? "1 imagem ou arquivo de" : `${count} imagens ou arquivos de`),
  links: (count: number) => (count === 1 ? "1 link" : `${count} links`),
};

export const now = {
  ...ptPt.now,
  sending: "Uma tentativa está em andamento.",
  sent: "O servidor de retransmissão aceitou e vai encaminhar.",
  delivered: "O servidor de e-mail do destinatário o aceitou.",
  bounced: "O servidor de e-mail do destinatário o recusou definitivamente. Não haverá outra tentativa.",
  failed: "Não foi possível entregar, e não haverá outra tentativa.",
  queued: "Aguardando a primeira tentativa.",
  complained: "Foi entregue, e o destinatário o marcou como spam.",
};

export const event = {
  ...ptPt.event,
  scheduled: "Aceito, para mais tarde",
  again: "Haverá outra tentativa, sem você precisar fazer nada.",
  queued: "Aceito",
  sending: (attempt: string) => `A tentativa ${attempt} está em andamento`,
  delivered: (host: string) => `${host} o aceitou`,
  sent: (host: string) => `${host} o aceitou para encaminhar`,
  reportBounce: "Chegou uma devolução por e-mail",
  reportComplaint: "Chegou uma reclamação por e-mail",
  reportDelay: "Chegou um aviso de atraso por e-mail",
  tls: (tls: string) => `criptografado, ${tls}`,
  clear: "não criptografado",
  lost: "A mensagem inteira foi enviada, mas a resposta se perdeu.",
};

export const why = {
  ...ptPt.why,
  inactive_mailbox: "A caixa de entrada está desativada ou abandonada. Fica suprimida a partir de agora.",
  mailbox_full: "A caixa do destinatário está cheia.",
  bad_domain: "O domínio do destinatário não existe ou não recebe e-mail.",
  auth_failed: "O servidor não aceitou o SPF, DKIM ou DMARC do remetente. Veja os registros do domínio.",
  rate_limited: "O servidor só aceita um certo volume de e-mails por vez, e pede para ir mais devagar.",
  bad_connection: "Não foi possível conectar ao servidor, ou a conexão caiu.",
  expired: "Esperou demais: o prazo de envio acabou.",
};

export const auditAction = {
  ...ptPt.auditAction,
  "api_key.deleted": "Chave de API excluída",
  "domain.deleted": "Domínio excluído",
  "domain.shared": "Link para os registros DNS criado",
  "domain.share_ended": "Link para os registros DNS encerrado",
  "sender_id.deleted": "Remetente de SMS excluído",
  "webhook.deleted": "Webhook excluído",
  "workspace.unblocked": "Bloqueio removido",
};
