/**
 * The marks of a bounce without a delivery-status: its sender, its subject, the
 * words of its text. One of these is not enough, since people answer from every address and about
 * everything. On plain text (charset.ts). Pure.
 */
import { answersBySubject, isAutoReply } from "./auto-reply.ts";
import { plain } from "./charset.ts";
import { decodeWords, findValue } from "./fields.ts";
import type { Message } from "./message.ts";
import type { Notice } from "./bounce-text.ts";

/** One pattern of several, so that each language has its line. */
function joinPatterns(...patterns: RegExp[]): RegExp {
  return new RegExp(patterns.map(({ source }) => source).join("|"));
}

/** Nobody's answering machine has such a name. */
const DAEMON = /mailer[-_. ]?daemon|mail ?deliver|delivery (?:sub)?system|<>/;
const SENDER = joinPatterns(
  DAEMON,
  /post[-_. ]?master|mdaemon|bounces?[@+-]|mail[-_. ]?(?:system|admin|service|server|gateway|router)|system administrator|microsoft outlook|\bndr@|\bmta@/,
  /interscan|\bimss\b|messaging security|virus ?wall|mail ?(?:marshal|sweeper)|mimesweeper|antivirus|smtp[-_. ]?gateway/,
);

const SUBJECT = joinPatterns(
  /undeliver|not deliver|non[- ]?deliver|returned (?:mail|message|to sender)|return(?:ing|ed) message/,
  /(?:mail|message|delivery) (?:delivery )?(?:status|failure|failed|has failed|problem|error|report|notification|system error)/,
  /failure notice|delivery (?:status )?notification|mail system error|error (?:sending|delivering) your|(?:rejected|delayed) (?:mail|message)|user unknown/,
  /(?:could not|couldn't|cannot|can't|unable to) (?:be )?(?:deliver|send)/,
  // Portuguese, Spanish
  /nao (?:foi |pode |pude )?(?:possivel )?(?:ser )?entreg|falha (?:na|de|ao) (?:entrega|envio|entregar)|mensagem (?:devolvida|nao)|devolvid[ao]|erro (?:na|de) entrega/,
  /no (?:se |pudo |puede )?(?:ha )?(?:podido |pudo )?(?:ser )?entreg|devuelt[ao]|(?:error|fallo) (?:en|de) (?:la )?entrega/,
  // French, German, Italian, Dutch
  /non (?:remis|distribu)|echec de (?:la )?(?:remise|distribution|livraison)/,
  /unzustellbar|nicht zugestellt|zustellung (?:fehl|nicht)|fehler bei der zustellung/,
  /mancata consegna|non recapitat|impossibile (?:consegnare|recapitare)|onbestelbaar/,
  // Russian, Chinese, Japanese
  /не доставлен|недостав|退信|无法投递|無法傳遞|配信(?:でき|不能)|送信できません/,
);

const WORDS = joinPatterns(
  /(?:could|can|was|were|has|have|is|are|did)(?: ?not|n't)(?: been| be)? (?:deliver|sent)|unable to deliver|undeliverable|not (?:be )?delivered/,
  /delivery (?:to|of|has|failed|attempt)|(?:permanent|fatal|delivery) (?:error|problem|failure)|rejected by|returned to (?:the )?sender/,
  /failure reasons|transcript of (?:the )?session|requested action not taken|error message below|generated response|did not reach the following/,
  /qmail-send|mail delivery (?:software|agent|system)|mailbox is full|\(expanded from/,
  /nao (?:pode|foi|pude)[a-z]{0,4} (?:ser )?(?:possivel )?(?:entreg|enviad)|nao entregue/,
  /no (?:se )?(?:ha )?(?:pudo|podido|fue|puede) (?:ser )?entreg/,
  /n'a pas (?:pu|ete) |impossible de (?:remettre|distribuer)/,
  /konnten? nicht (?:zugestellt|ubermittelt)|nicht zugestellt|non e stato possibile|impossibile (?:consegnare|recapitare)/,
  /не может быть доставлен|не удалось доставить|无法|配信できません/,
);

/** Words that only a mail system writes, KDDI's under a sender and a subject that say nothing. */
const SYSTEM_WORDS =
  /this is the (?:qmail-send program|mail (?:delivery agent|system) at)|could not be delivered to: <[^<>\s]{1,320}>/;

/** Whether the message reports that a message was not delivered, or not yet. */
export function looksLikeBounce(message: Message, notice: Notice): boolean {
  const { fields } = message;
  if (message.reportType === "delivery-status" || findValue(fields, "x-failed-recipients") !== null) return true;
  if (answersBySubject(fields)) return false;
  if (SYSTEM_WORDS.test(notice.whole)) return true;
  const hasSubject = SUBJECT.test(plain(decodeWords(findValue(fields, "subject") ?? "")));
  const hasWords = WORDS.test(notice.whole);
  const from = getSender(message);
  if (DAEMON.test(from)) return hasSubject || hasWords;
  // An answering machine quotes: our own subject may speak of a delivery that failed.
  const isAnswer = isAutoReply(fields);
  if (SENDER.test(from)) return hasSubject || (hasWords && !isAnswer);
  return hasSubject && hasWords && !isAnswer;
}

/** Whether a mail system signs for it: by its name, or by the empty return path that only notices have (RFC 5321 §4.5.5). */
export function isFromMailSystem(message: Message): boolean {
  const { fields, reportType } = message;
  return (
    SENDER.test(getSender(message)) ||
    reportType === "delivery-status" ||
    findValue(fields, "x-failed-recipients") !== null ||
    findValue(fields, "return-path") === "<>"
  );
}

function getSender({ fields }: Message): string {
  return plain(decodeWords(findValue(fields, "from") ?? ""));
}

const DELAY_SUBJECT =
  /\bdelay|still being retried|warning(?:: |--| ).{0,40}(?:could not send|not yet|still|retr)|^warning$|delivery warning|atrasad|atraso|adiad|demorad|retrasad|retraso|\bretard|verzoger|ritard|vertraag/;

const DELAY_WORDS = joinPatterns(
  /warning (?:message )?only|temporary failure report|has been delayed|is (?:being )?delayed|not need to re-?send|no action is required/,
  /(?:will|shall) (?:be retried|keep (?:on )?trying|retry|continue (?:to try|trying)|try again|attempt)|(?:not yet|still) (?:been )?(?:deliver|undeliver|being)|has been postponed|delivery attempts will continue/,
  /tentara(?:o)? novamente|sera reenviada|nova tentativa|se volvera a intentar|intentara de nuevo/,
  /nouvelle tentative|erneut versuch|weitere zustellversuche|verra ritentat/,
);

/** Whether the reporter goes on trying. `message` null: only the text decides. */
export function looksLikeDelay(notice: Notice, message: Message | null): boolean {
  const isToldSo = DELAY_WORDS.test(notice.whole);
  if (message === null) return isToldSo;
  return DELAY_SUBJECT.test(plain(decodeWords(findValue(message.fields, "subject") ?? ""))) || isToldSo;
}
