// O diálogo com um servidor de correio, e o teste que o mostra.

export const dialogue = {
  title: "Diálogo SMTP",
  label: "Diálogo SMTP, linha a linha",
  legend:
    "Milissegundos desde o início da tentativa; → pombo, ← o servidor de correio. A mensagem em si não é mostrada.",
  earlier: "Abaixo de zero: a ligação já tinha sido aberta por um email anterior.",
  by: { connect: "Ligação a", client: "pombo:", server: "Servidor:", note: "Nota:" },
  attempt: (attempt: string) => `Tentativa ${attempt}, em direto`,
  waiting: "Aguarda a primeira tentativa.",
  looking: "A procurar o servidor de correio do destinatário…",
  connecting: (host: string) => `A ligar a ${host}…`,
  talking: (host: string) => `Em diálogo com ${host}…`,
  sent: (host: string) => `A mensagem foi enviada. A aguardar a resposta de ${host}…`,
  cut: "A ligação ao pombo foi cortada e está a ser refeita. Entretanto o email segue o seu caminho: nada se perde.",
  full: "Está a acompanhar demasiados emails ao mesmo tempo, noutros separadores. Feche um para ver aqui as linhas em direto.",
};

export const testSend = {
  title: "Enviar um teste",
  text: "Um pequeno email com texto já pronto. Vê cada linha que o pombo e o servidor de correio trocam.",
  from: "De",
  to: "Para",
  send: "Enviar o teste",
  noDomain: "Ainda nenhum domínio pode enviar: adicione um e verifique-o primeiro.",
  subject: "Um teste do pombo",
  body: "Isto é um teste. Se está a lê-lo, o email deste domínio chega ao destino.\n",
  show: "Ver o email",
  again: "Enviar outro",
};
