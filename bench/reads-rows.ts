// The emails of `script/bench reads`: ends of every kind, with the attempts that led there, over
// thirty days and many recipient domains. Made from one email that was really delivered.

import { Database } from "bun:sqlite";
import { databaseFile, fill, idOf, insertForEach, type Filled } from "./rows.ts";

const DAY_MS = 86_400_000;
const SPAN_MS = 30 * DAY_MS;
const RECIPIENT_DOMAINS = 2000;
/** Attempts of an email that failed in the end: the default schedule within 72 hours has more. */
const FAILED_ATTEMPTS = 12;

const BOUNCE = JSON.stringify({
  type: "permanent",
  category: "invalid_recipient",
  smtpCode: 550,
  enhancedCode: "5.1.1",
  mx: "mx.example.test",
});
const EXPIRED = JSON.stringify({
  type: "transient",
  category: "expired",
  smtpCode: null,
  enhancedCode: null,
  mx: null,
});

/** Of a hundred emails 92 were delivered, 4 bounced, 2 failed, one was suppressed, one canceled. */
const STATUS = `CASE WHEN n.i % 100 < 92 THEN 'delivered' WHEN n.i % 100 < 96 THEN 'bounced'
  WHEN n.i % 100 < 98 THEN 'failed' WHEN n.i % 100 = 98 THEN 'suppressed' ELSE 'canceled' END`;
const ENDED = {
  sentAt: "CASE WHEN status IN ('delivered', 'bounced', 'failed') THEN created_at + 300 END",
  deliveredAt: "CASE WHEN status = 'delivered' THEN created_at + 900 END",
  endedAt: "created_at + 900",
  failedReason: `CASE status WHEN 'bounced' THEN '550 5.1.1 No such user (mx.example.test)'
    WHEN 'failed' THEN '4.4.7 Not delivered within 72 h; last answer: 451 4.3.2 Try again later'
    WHEN 'suppressed' THEN 'The recipient became suppressed (hard_bounce) after the email was accepted' END`,
  bounce: `CASE status WHEN 'bounced' THEN '${BOUNCE}' WHEN 'failed' THEN '${EXPIRED}' END`,
  // Every tenth of the delivered ones needed a second attempt.
  attempts: `CASE status WHEN 'delivered' THEN 1 + (i % 10 = 0) WHEN 'bounced' THEN 1 WHEN 'failed' THEN ${FAILED_ATTEMPTS} ELSE 0 END`,
};

/** Writes `rows` ended emails into a stopped instance; its domains have the ids from the first email's on. */
export function writeEnded(dataFolder: string, what: { uid: string; rows: number; domains: number }): Promise<Filled> {
  const createdTo = Date.now() - 60_000;
  const domainId = `t.domain_id + (n.i / 3) % ${what.domains}`;
  const copies = {
    uid: what.uid,
    rows: what.rows,
    createdFrom: createdTo - SPAN_MS,
    createdTo,
    recipient: `printf('c%09d@d%04d.example.test', n.i, n.i % ${RECIPIENT_DOMAINS})`,
    domainId,
    senderDomain: `(SELECT name FROM domain WHERE id = ${domainId})`,
    status: STATUS,
    ended: ENDED,
  };
  return fill(dataFolder, copies, (made) =>
    insertForEach(
      made,
      idOf(made.database, what.uid),
      `INSERT INTO attempt (email_id, number, started_at, ended_at, host, address, tls, stage, code, enhanced_code,
         reply, outcome, category)
       SELECT email.id, k.value, email.created_at + k.value * 60, email.created_at + k.value * 60 + 30, t.host,
         t.address, t.tls, t.stage, iif(k.value < email.attempts, 451, t.code), t.enhanced_code, t.reply,
         CASE WHEN k.value < email.attempts OR email.status = 'failed' THEN 'deferred' ELSE email.status END,
         CASE WHEN email.status = 'bounced' THEN 'invalid_recipient' END
       FROM $NUMBERS AS n CROSS JOIN email ON email.id = $first + n.i
       CROSS JOIN json_each('${JSON.stringify(Array.from({ length: FAILED_ATTEMPTS }, (_, index) => index + 1))}') AS k
       CROSS JOIN attempt AS t
       WHERE k.value <= email.attempts AND t.email_id = $template AND t.number = 1`,
    ),
  );
}

/** The ids, as the API has them, of `count` emails taken at random. */
export function sampleIds(dataFolder: string, count: number): string[] {
  using database = new Database(databaseFile(dataFolder), { readonly: true });
  const last = database.query<{ id: number }, []>("SELECT MAX(id) AS id FROM email").get()?.id ?? 0;
  const select = database.query<{ uid: string }, [number]>("SELECT uid FROM email WHERE id = ?");
  const ids: string[] = [];
  while (ids.length < count) {
    const found = select.get(1 + Math.floor(Math.random() * last));
    if (found !== null) ids.push(found.uid);
  }
  return ids;
}
