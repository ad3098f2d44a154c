// The dialogue with a mail server, and the test that shows it.

export const dialogue = {
  title: "SMTP dialogue",
  label: "SMTP dialogue, line by line",
  legend: "Milliseconds since the attempt began; → pombo, ← the mail server. The message itself is not shown.",
  earlier: "Below zero: an earlier email had opened the connection.",
  by: { connect: "Connection to", client: "pombo:", server: "Server:", note: "Note:" },
  attempt: (attempt: string) => `Attempt ${attempt}, as it happens`,
  waiting: "It waits for its first attempt.",
  looking: "Looking for the recipient’s mail server…",
  connecting: (host: string) => `Connecting to ${host}…`,
  talking: (host: string) => `Talking with ${host}…`,
  sent: (host: string) => `The message is sent. Waiting for the answer of ${host}…`,
  cut: "The connection to pombo was cut, and is made again. The email goes its way meanwhile: nothing is lost.",
  full: "You watch too many emails at once, in other tabs. Close one to see this one’s lines as they are said.",
};

export const testSend = {
  title: "Send a test",
  text: "A small email with ready words. You see each line that pombo and the mail server say to each other.",
  from: "From",
  to: "To",
  send: "Send the test",
  noDomain: "No domain can send yet: add one and verify it first.",
  subject: "A test from pombo",
  body: "This is a test. If you read it, email from this domain arrives.\n",
  show: "Show the email",
  again: "Send another",
};
