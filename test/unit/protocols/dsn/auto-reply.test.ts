import { expect, test } from "bun:test";
import { parseReport } from "../../../../src/protocols/dsn/parse-report.ts";
import { group, mail, report } from "../../../support/dsn/mails.ts";

// RFC 3834; R46.

const answer = (subject: string, headers: string[] = [], from = "Maria <maria@example.com>") =>
  parseReport(mail({ from, subject, headers, text: "Estou fora. A sua mensagem não foi reencaminhada." })).kind;

test("the marks of answering machines are known", () => {
  const marks = [
    "Auto-Submitted: auto-replied",
    "Auto-Submitted: auto-generated; owner-email=x@example.com",
    "X-Autoreply: yes",
    "X-Autorespond: Pedido",
    "Precedence: auto_reply",
    "Content-Type: multipart/report; report-type=disposition-notification; boundary=b",
  ];
  for (const mark of marks) expect([mark, answer("Re: Pedido", [mark])]).toEqual([mark, "auto_reply"]);
  for (const none of ["Auto-Submitted: no", "Precedence: bulk", "X-Auto-Response-Suppress: All"])
    expect([none, answer("Re: Pedido", [none])]).toEqual([none, "unknown"]);
});

test("their subjects are known in Portuguese, English, Spanish, French and German", () => {
  const subjects = [
    "Resposta automática: Pedido",
    "=?utf-8?Q?Resposta_autom=C3=A1tica:_Pedido?=",
    "=?iso-8859-1?Q?Ausência?=",
    "Ausente: Pedido",
    "Estou de férias até segunda",
    "Fora do escritório",
    "Automatic reply: Pedido",
    "Auto-Reply: Pedido",
    "Re: Out of Office: Pedido",
    "Out of the office until Monday",
    "Respuesta automática: Pedido",
    "Fuera de la oficina",
    "Réponse automatique : Pedido",
    "Absence du bureau",
    "Automatische Antwort: Pedido",
    "Abwesenheitsnotiz",
    "Risposta automatica: Pedido",
  ];
  for (const subject of subjects) expect([subject, answer(subject)]).toEqual([subject, "auto_reply"]);
  for (const subject of ["Re: Pedido", "Absolutely", "My holiday photos", "Office furniture"])
    expect([subject, answer(subject)]).toEqual([subject, "unknown"]);
});

test("an answer that quotes a bounce's words stays an answer", () => {
  const text = "I am away.\n\n> Delivery failed: 550 5.1.1 user unknown, could not be delivered";
  const marked = mail({
    from: "maria@example.com",
    subject: "Re: Delivery failed",
    headers: ["Auto-Submitted: auto-replied"],
    text,
  });
  expect(parseReport(marked).kind).toBe("auto_reply");
  const postmaster = mail({ from: "postmaster@example.com", subject: "Automatic reply: Undeliverable", text });
  expect(parseReport(postmaster).kind).toBe("auto_reply");
});

test("a bounce with the marks of an answer is a bounce", () => {
  const headers = ["Auto-Submitted: auto-replied", "Precedence: bulk"];
  expect(parseReport(report({ headers, groups: [group("5.1.1", "550 5.1.1 no")] })).kind).toBe("bounce");
  expect(
    parseReport(mail({ headers, text: "This message was created automatically by mail delivery software." })).kind,
  ).toBe("bounce");
});
