// O diálogo com um servidor de e-mail, e o teste que o mostra.

export const dialogue = {
  title: "Diálogo SMTP",
  label: "Diálogo SMTP, linha a linha",
  legend: "Milissegundos desde o início da tentativa; → pombo, ← o servidor de e-mail. A mensagem em si não é exibida.",
  earlier: "Abaixo de zero: a conexão já tinha sido aberta por um e-mail anterior.",
  by: { connect: "Conexão com", client: "pombo:", server: "Servidor:", note: "Nota:" },
  attempt: (attempt: string) => `Tentativa ${attempt}, ao vivo`,
  waiting: "Aguarda a primeira tentativa.",
  looking: "Procurando o servidor de e-mail do destinatário…",
  connecting: (host: string) => `Conectando a ${host}…`,
  talking: (host: string) => `Conversando com ${host}…`,
  sent: (host: string) => `A mensagem foi enviada. Aguardando a resposta de ${host}…`,
  cut: "A conexão com o pombo caiu e está sendo refeita. Enquanto isso o e-mail segue seu caminho: nada se perde.",
  full: "Você está acompanhando e-mails demais ao mesmo tempo, em outras abas. Feche uma para ver aqui as linhas ao vivo.",
};

export const testSend = {
  title: "Enviar um teste",
  text: "Um pequeno e-mail com texto pronto. Você vê cada linha que o pombo e o servidor de e-mail trocam.",
  from: "De",
  to: "Para",
  send: "Enviar o teste",
  noDomain: "Nenhum domínio pode enviar ainda: adicione um e verifique-o primeiro.",
  subject: "Um teste do pombo",
  body: "Isto é um teste. Se você está lendo, o e-mail deste domínio chega ao destino.\n",
  show: "Ver o e-mail",
  again: "Enviar outro",
};
