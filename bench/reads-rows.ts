// The emails of `script/bench reads`, made from one that was really delivered: the older half came to
// ends of every kind, with the attempts that led there, over many recipient domains; the newer half
// waits for its second attempt at one address. One of the sending domains has a thousandth of all.

import { Database } from "bun:sqlite";
import { RECIPIENT_DOMAIN } from "./message.ts";
import { databaseFile, fill, idOf, insertForEach, type Filled, type Multiplied } from "./rows.ts";

const DAY_MS = 86_400_000;
const SPAN_MS = 30 * DAY_MS;
const RECIPIENT_DOMAINS = 2000;
/** One in so many is of the last, small domain, and one in so many that came to an end was complained about. */
const SMALL_SHARE = 1000;
const COMPLAINED_SHARE = 166_667;
const DAY_LATER = "CAST(unixepoch() * 1000 + 86400000 AS INTEGER)";
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

/** Of a hundred emails 92 were delivered, 4 bounced, 2 failed, one was suppressed, one canceled; very few were complained about. */
const STATUS = `CASE WHEN n.i % ${COMPLAINED_SHARE} = 1 THEN 'complained' WHEN n.i % 100 < 92 THEN 'delivered' WHEN n.i % 100 < 96 THEN 'bounced'
  WHEN n.i % 100 < 98 THEN 'failed' WHEN n.i % 100 = 98 THEN 'suppressed' ELSE 'canceled' END`;
const ENDED = {
  sentAt: "CASE WHEN status IN ('delivered', 'bounced', 'complained', 'failed') THEN created_at + 300 END",
  deliveredAt: "CASE WHEN status IN ('delivered', 'complained') THEN created_at + 900 END",
  endedAt: "created_at + 900",
  failedReason: `CASE status WHEN 'bounced' THEN '550 5.1.1 No such user (mx.example.test)'
    WHEN 'failed' THEN '4.4.7 Not delivered within 72 h; last answer: 451 4.3.2 Try again later'
    WHEN 'suppressed' THEN 'The recipient became suppressed (hard_bounce) after the email was accepted' END`,
  bounce: `CASE status WHEN 'bounced' THEN '${BOUNCE}' WHEN 'failed' THEN '${EXPIRED}' END`,
  // Every tenth of the delivered ones needed a second attempt.
  attempts: `CASE status WHEN 'delivered' THEN 1 + (i % 10 = 0) WHEN 'bounced' THEN 1 WHEN 'complained' THEN 1 WHEN 'failed' THEN ${FAILED_ATTEMPTS} ELSE 0 END`,
};

/** To whom the waiting ones are. */
export const WAITING_ADDRESS = `all@${RECIPIENT_DOMAIN}`;
/** To whom one of the others is. */
export const SINGLE_ADDRESS = "c000000001@d0001.example.test";

interface Wanted {
  /** The email that is multiplied, by its id in the API. */
  uid: string;
  rows: number;
  /** Their ids begin with the first email's. */
  domains: number;
}

/** Writes `rows` emails into a stopped instance. */
export async function writeEmails(dataFolder: string, wanted: Wanted): Promise<Filled> {
  const now = Date.now() - 60_000;
  const middle = now - SPAN_MS / 2;
  const waiting = Math.floor(wanted.rows / 2);
  const older = { uid: wanted.uid, rows: wanted.rows - waiting, createdFrom: now - SPAN_MS, createdTo: middle };
  const ended = await fill(dataFolder, { ...copiesOf(wanted), ...older, status: STATUS, ended: ENDED }, (made) =>
    writeAttempts(made, wanted.uid),
  );
  if (waiting === 0) return ended;
  const newer = { uid: wanted.uid, rows: waiting, createdFrom: middle, createdTo: now };
  const filled = await fill(dataFolder, { ...copiesOf(wanted), ...newer, recipient: `'${WAITING_ADDRESS}'` }, (made) =>
    writeQueue(made, wanted.uid),
  );
  return { ...filled, rows: wanted.rows, seconds: ended.seconds + filled.seconds };
}

function copiesOf({ domains }: Wanted) {
  const domainId = `t.domain_id + iif(n.i % ${SMALL_SHARE} = 7, ${domains - 1}, (n.i / 3) % ${Math.max(1, domains - 1)})`;
  return {
    recipient: `printf('c%09d@d%04d.example.test', n.i, n.i % ${RECIPIENT_DOMAINS})`,
    domainId,
    senderDomain: `(SELECT name FROM domain WHERE id = ${domainId})`,
  };
}

function writeAttempts(made: Multiplied, uid: string): Promise<void> {
  return insertForEach(
    made,
    idOf(made.database, uid),
    `INSERT INTO attempt (email_id, number, started_at, ended_at, host, address, tls, stage, code, enhanced_code,
       reply, outcome, category)
     SELECT email.id, k.value, email.created_at + k.value * 60, email.created_at + k.value * 60 + 30, t.host,
       t.address, t.tls, t.stage, iif(k.value < email.attempts, 451, t.code), t.enhanced_code, t.reply,
       CASE WHEN k.value < email.attempts OR email.status = 'failed' THEN 'deferred'
         WHEN email.status = 'complained' THEN 'delivered' ELSE email.status END,
       CASE WHEN email.status = 'bounced' THEN 'invalid_recipient' END
     FROM $NUMBERS AS n CROSS JOIN email ON email.id = $first + n.i
     CROSS JOIN json_each('${JSON.stringify(Array.from({ length: FAILED_ATTEMPTS }, (_, index) => index + 1))}') AS k
     CROSS JOIN attempt AS t
     WHERE k.value <= email.attempts AND t.email_id = $template AND t.number = 1`,
  );
}

/** They had one attempt, and the next is far off. */
function writeQueue(made: Multiplied, uid: string): Promise<void> {
  return insertForEach(
    made,
    idOf(made.database, uid),
    `INSERT INTO email_queue (id, lane_id, workspace_id, domain_id, created_at, next_at, expires_at, attempts,
       started_at, last_reply)
     SELECT email.id, lane.id, email.workspace_id, email.domain_id, email.created_at, ${DAY_LATER}, 2 * ${DAY_LATER}, 1,
       email.created_at + 60, '451 4.3.2 Try again later'
     FROM $NUMBERS AS n CROSS JOIN email ON email.id = $first + n.i CROSS JOIN email AS t ON t.id = $template
     CROSS JOIN lane ON lane.workspace_id = t.workspace_id AND lane.destination = '${RECIPIENT_DOMAIN}'`,
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
