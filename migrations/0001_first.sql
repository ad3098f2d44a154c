-- Times are Unix milliseconds. Integer keys inside, UUIDv7 (uid) outside.
-- AUTOINCREMENT where rows are deleted by hand and others keep their id: an email, a stored answer or
-- a running attempt of a deleted domain must not come to belong to the next one registered, nor what the
-- worker knows of a deleted workspace's lane to another's.

-- Facts about this installation: instance_id, key_check, operator_key_hash, …
CREATE TABLE instance (
  name  TEXT PRIMARY KEY,
  value TEXT NOT NULL
) STRICT, WITHOUT ROWID;

CREATE TABLE workspace (
  id                INTEGER PRIMARY KEY AUTOINCREMENT,
  uid               TEXT NOT NULL UNIQUE,
  name              TEXT NOT NULL,
  plan              TEXT NOT NULL,
  created_at        INTEGER NOT NULL,
  sms_credits       INTEGER NOT NULL DEFAULT 0,   -- the sum of its sms_credit entries
  sms_folding       TEXT NOT NULL DEFAULT 'none' CHECK (sms_folding IN ('none', 'punctuation', 'portuguese')),
  sms_priority      TEXT NOT NULL DEFAULT 'transactional' CHECK (sms_priority IN ('otp', 'transactional', 'bulk')),
  viewers_see_content   INTEGER NOT NULL DEFAULT 0 CHECK (viewers_see_content IN (0, 1)),   -- what messages say
  operators_see_content INTEGER NOT NULL DEFAULT 0 CHECK (operators_see_content IN (0, 1)), -- operators who are no members
  blocked_at        INTEGER,                      -- by the operator; null: not
  block_reason      TEXT,
  is_held           INTEGER NOT NULL DEFAULT 0 CHECK (is_held IN (0, 1)),  -- the operator's block holds its queue too
  rate_blocked_at   INTEGER,                      -- for its bounces or complaints; null: not
  rate_block_reason TEXT,
  rate_warned_at    INTEGER,                      -- half of such a rate was reached
  reports_warned_at INTEGER,                      -- with all that was reported by mail it would be blocked
  reports_warning   TEXT,                         -- that, with its figures
  deleted_at        INTEGER                       -- gone for everybody; what belonged to it is being removed
) STRICT;
CREATE INDEX workspace_newest ON workspace (created_at, id);

-- What changed a workspace's balance of SMS credits.
CREATE TABLE sms_credit (
  id           INTEGER PRIMARY KEY AUTOINCREMENT,
  workspace_id INTEGER NOT NULL,
  kind         TEXT NOT NULL CHECK (kind IN ('grant', 'reservation', 'refund', 'writeoff')),
  amount       INTEGER NOT NULL,              -- added to the balance; a reservation is negative, a write-off 0
  balance      INTEGER NOT NULL,              -- then
  message_id   INTEGER,                       -- sms_message.id; null: a grant
  segments     INTEGER,                       -- of that message, that it is about; null: a grant
  note         TEXT,
  created_at   INTEGER NOT NULL
) STRICT;
CREATE INDEX sms_credit_of ON sms_credit (workspace_id, id);

-- The names and numbers that a workspace's SMS may come from.
CREATE TABLE sender_id (
  workspace_id INTEGER NOT NULL,
  name         TEXT NOT NULL,
  is_default   INTEGER NOT NULL CHECK (is_default IN (0, 1)),
  created_at   INTEGER NOT NULL,
  priority     TEXT CHECK (priority IN ('otp', 'transactional', 'bulk')),  -- null: the workspace's
  PRIMARY KEY (workspace_id, name)
) STRICT, WITHOUT ROWID;
CREATE UNIQUE INDEX sender_id_default ON sender_id (workspace_id) WHERE is_default = 1;
CREATE INDEX sender_id_name ON sender_id (name);   -- whose number a text came to

CREATE TABLE domain (
  id               INTEGER PRIMARY KEY AUTOINCREMENT,
  uid              TEXT NOT NULL UNIQUE,
  workspace_id     INTEGER NOT NULL REFERENCES workspace (id),
  name             TEXT NOT NULL,             -- lower-case A-label
  status           TEXT NOT NULL CHECK (status IN ('pending', 'verified', 'warning', 'failed', 'suspended')),
  created_at       INTEGER NOT NULL,
  verified_at      INTEGER,                   -- the first verification
  checked_at       INTEGER,
  next_check_at    INTEGER,                   -- in the background; null: none is due
  warning_at       INTEGER,                   -- since when its DKIM record is missing; null: it is not
  last_check       TEXT,                      -- JSON of src/modules/domains/schema.ts Dns, as the last check found it
  signs_ed25519    INTEGER NOT NULL DEFAULT 0 CHECK (signs_ed25519 IN (0, 1)),    -- its record resolves
  has_return_path  INTEGER NOT NULL DEFAULT 0 CHECK (has_return_path IN (0, 1)),  -- its bounce CNAME resolves
  UNIQUE (workspace_id, name)
) STRICT;
-- Of several workspaces that registered a domain, one has it verified.
CREATE UNIQUE INDEX domain_verified ON domain (name) WHERE status IN ('verified', 'warning', 'suspended');
CREATE INDEX domain_newest ON domain (workspace_id, created_at, id);
CREATE INDEX domain_check ON domain (next_check_at) WHERE next_check_at IS NOT NULL;

CREATE TABLE dkim_key (
  domain_id   INTEGER NOT NULL REFERENCES domain (id),
  selector    TEXT NOT NULL,
  algorithm   TEXT NOT NULL CHECK (algorithm IN ('rsa-sha256', 'ed25519-sha256')),
  public_key  TEXT NOT NULL,                  -- base64, the p= of the DNS record
  private_key BLOB NOT NULL,                  -- PKCS #8 PEM, sealed under the instance key
  PRIMARY KEY (domain_id, selector)
) STRICT, WITHOUT ROWID;

-- The link to a domain's records that was last shared.
CREATE TABLE domain_share (
  domain_id  INTEGER PRIMARY KEY REFERENCES domain (id),
  hash       TEXT NOT NULL UNIQUE,                 -- SHA-256 of its token, hex
  expires_at INTEGER NOT NULL
) STRICT;

CREATE TABLE api_key (
  id           INTEGER PRIMARY KEY AUTOINCREMENT,
  uid          TEXT NOT NULL UNIQUE,
  workspace_id INTEGER NOT NULL REFERENCES workspace (id),
  domain_id    INTEGER REFERENCES domain (id),  -- null: the whole workspace
  name         TEXT NOT NULL,
  prefix       TEXT NOT NULL,                   -- the first 8 characters after svc_
  hash         TEXT NOT NULL UNIQUE,            -- SHA-256 of the key, hex
  created_at   INTEGER NOT NULL,
  last_used_at INTEGER
) STRICT;
CREATE INDEX api_key_newest ON api_key (workspace_id, created_at, id);
CREATE INDEX api_key_domain ON api_key (domain_id) WHERE domain_id IS NOT NULL;

CREATE TABLE email (
  id                 INTEGER PRIMARY KEY,
  uid                TEXT NOT NULL UNIQUE,
  workspace_id       INTEGER NOT NULL,          -- 0, and domain_id too: pombo's own mail
  domain_id          INTEGER NOT NULL,          -- of the From domain; outlives the domain
  sender             TEXT NOT NULL,             -- as given
  sender_address     TEXT NOT NULL,             -- in the form compared: lower case, domain as A-label
  sender_domain      TEXT NOT NULL,             -- lower-case A-label
  recipient          TEXT NOT NULL,             -- as given
  recipient_address  TEXT NOT NULL,             -- in the form compared
  recipient_name     TEXT,                      -- of `Name <address>`
  kind               TEXT NOT NULL DEFAULT 'to' CHECK (kind IN ('to', 'cc', 'bcc')),
  group_id           INTEGER,                   -- the first email of its request, which has body and extras for all; null: it is alone
  subject            TEXT NOT NULL,
  reply_to           TEXT,
  return_path        TEXT NOT NULL,             -- envelope sender, the same for every attempt
  tag                TEXT,
  created_at         INTEGER NOT NULL,
  send_at            INTEGER,                   -- not before; null: at once
  status             TEXT NOT NULL CHECK (status IN ('queued', 'sent', 'delivered', 'bounced', 'failed',
                       'complained', 'suppressed', 'canceled')),  -- scheduled, sending, delivery_delayed: read from email_queue
  sent_at            INTEGER,
  delivered_at       INTEGER,
  ended_at           INTEGER,                   -- when it came to its status; null: queued
  failed_reason      TEXT,
  bounce             TEXT,                      -- JSON, see src/modules/emails/api/schema.ts
  attempts           INTEGER NOT NULL DEFAULT 0, -- once final; before that see email_queue
  possible_duplicate INTEGER NOT NULL DEFAULT 0 CHECK (possible_duplicate IN (0, 1)),
  is_erased          INTEGER NOT NULL DEFAULT 0 CHECK (is_erased IN (0, 1)), -- its recipient was: see src/modules/recipients/erase.ts
  key_id             INTEGER,                   -- api_key.id or user.id of who sent it, which may be gone; both null: pombo itself
  user_id            INTEGER,
  message_id         TEXT                       -- without brackets, of an email that came by SMTP; null: it came by the API, and its id makes it
) STRICT;
CREATE INDEX email_newest ON email (workspace_id, created_at, id);
CREATE INDEX email_newest_of_domain ON email (domain_id, created_at, id, status);
CREATE INDEX email_by_status ON email (workspace_id, status, created_at, id, domain_id);
CREATE INDEX email_to ON email (workspace_id, recipient_address, created_at, id);
CREATE INDEX email_from ON email (workspace_id, sender_address, created_at, id);
CREATE INDEX email_tagged ON email (workspace_id, tag, created_at, id) WHERE tag IS NOT NULL;
CREATE INDEX email_of_group ON email (group_id, id) WHERE group_id IS NOT NULL;

-- Apart from email, so that the pages of the queue and the lists stay small.
CREATE TABLE email_body (
  email_id   INTEGER PRIMARY KEY,
  content    BLOB NOT NULL,                   -- the html, then the text, UTF-8, in `encoding`; with `mime` the header, then the body in `encoding`
  html_bytes INTEGER,                         -- before compression; null: no such part
  text_bytes INTEGER,
  encoding   TEXT NOT NULL CHECK (encoding IN ('plain', 'zstd')),
  mime       TEXT                             -- JSON, see src/modules/emails/content/mime-body.ts: it came by SMTP; null: html and text
) STRICT;

-- What few emails have, apart from email so that the others pay nothing for it. Of a group the first has it for all.
CREATE TABLE email_extra (
  email_id    INTEGER PRIMARY KEY,
  recipients  TEXT,                             -- JSON: [kind, address, name or null] in the order to, cc, bcc; null: one, in the email's row
  reply_to    TEXT,                             -- JSON: [address, name or null]; null: none, or one bare address in the email's row
  headers     TEXT,                             -- JSON: [name, value] as they were given
  metadata    TEXT,                             -- JSON object of strings
  unsubscribe TEXT,                             -- JSON: {"list"} or {"url", "mailto"}
  attachment_bytes INTEGER,                     -- of its attachments' contents together; null: it has none
  keeps_dialogue INTEGER                        -- 1: the dialogue of its attempts is kept although one delivers; null: as most
) STRICT;

-- Files of a workspace, each once.
CREATE TABLE attachment (
  id           INTEGER PRIMARY KEY AUTOINCREMENT,
  workspace_id INTEGER NOT NULL,
  sha256       BLOB,                            -- of the content; null: it is not whole yet, or not any more, and nothing may refer to it
  bytes        INTEGER NOT NULL,                -- of the content
  stored_bytes INTEGER NOT NULL,                -- of its pieces
  encoding     TEXT NOT NULL CHECK (encoding IN ('plain', 'zstd')),
  staged_at    INTEGER NOT NULL,                -- when it last came; for an hour from then it is kept without an email
  UNIQUE (workspace_id, sha256)
) STRICT;

-- Its content in pieces of 1 MiB, each encoded for itself and written by a transaction of its own.
CREATE TABLE attachment_piece (
  attachment_id INTEGER NOT NULL,
  number        INTEGER NOT NULL,               -- from 0
  content       BLOB NOT NULL,
  PRIMARY KEY (attachment_id, number)
) STRICT;

-- An email's attachments; of a group the first email's, for all.
CREATE TABLE email_attachment (
  email_id      INTEGER NOT NULL,
  number        INTEGER NOT NULL,               -- from 0, as in the request
  attachment_id INTEGER,                        -- null: its content is kept no longer
  filename      TEXT NOT NULL,
  content_type  TEXT NOT NULL,
  content_id    TEXT,                           -- null: it is not inline
  bytes         INTEGER NOT NULL,               -- of the file itself
  transfer_encoding TEXT CHECK (transfer_encoding IN ('base64', 'quoted-printable', 'identity')), -- the content is in it, as it came by SMTP; null: it is the file
  PRIMARY KEY (email_id, number)
) STRICT;
CREATE INDEX email_attachment_content ON email_attachment (attachment_id) WHERE attachment_id IS NOT NULL;
CREATE INDEX email_attachment_kept ON email_attachment (email_id) WHERE attachment_id IS NOT NULL;

-- The unit of scheduling: one workspace's mail to one recipient domain.
CREATE TABLE lane (
  id           INTEGER PRIMARY KEY AUTOINCREMENT,
  workspace_id INTEGER NOT NULL,
  destination  TEXT NOT NULL,                   -- recipient domain, lower-case A-label
  UNIQUE (workspace_id, destination)
) STRICT;
CREATE INDEX lane_destination ON lane (destination);

-- What is still to be done. A row leaves when its email is final; claiming a row postpones it.
CREATE TABLE email_queue (
  id            INTEGER PRIMARY KEY,            -- email.id
  lane_id       INTEGER NOT NULL,
  workspace_id  INTEGER NOT NULL,               -- this and the next two as in email
  domain_id     INTEGER NOT NULL,
  created_at    INTEGER NOT NULL,
  next_at       INTEGER NOT NULL,
  send_at       INTEGER CHECK (next_at >= send_at), -- as in email: no attempt before it, whatever the clock does; null: at once
  expires_at    INTEGER NOT NULL,
  attempts      INTEGER NOT NULL DEFAULT 0,     -- begun, the running one included
  in_flight     INTEGER NOT NULL DEFAULT 0 CHECK (in_flight IN (0, 1)),
  started_at    INTEGER,                        -- of the running attempt
  dot_at        INTEGER,                        -- the final dot of the running attempt may have been written
  last_reply    TEXT,
  bad_domain_at INTEGER,                        -- DNS first said that the recipient's domain does not exist
  state         TEXT NOT NULL GENERATED ALWAYS AS   -- what the email's status is meanwhile
    (CASE WHEN in_flight = 1 THEN 'sending' WHEN attempts > 0 THEN 'delivery_delayed'
          WHEN send_at IS NOT NULL THEN 'scheduled' ELSE 'queued' END) VIRTUAL
) STRICT;
CREATE INDEX email_queue_state ON email_queue (workspace_id, state, created_at, id, domain_id);
CREATE INDEX email_queue_due ON email_queue (lane_id, next_at, id, send_at); -- the last for counts
CREATE INDEX email_queue_send_at ON email_queue (workspace_id, expires_at, id) WHERE send_at IS NOT NULL;
CREATE INDEX email_queue_in_flight ON email_queue (id) WHERE in_flight = 1;

CREATE TABLE attempt (
  email_id      INTEGER NOT NULL,
  number        INTEGER NOT NULL,               -- 1, 2, …
  started_at    INTEGER NOT NULL,
  ended_at      INTEGER NOT NULL,
  host          TEXT,
  address       TEXT,
  tls           TEXT,                           -- protocol and cipher; null: clear text or no connection
  stage         TEXT,                           -- where it ended
  code          INTEGER,                        -- SMTP reply code
  enhanced_code TEXT,
  reply         TEXT,                           -- cleaned, or the reason there is none
  outcome       TEXT NOT NULL,                  -- delivered, sent, deferred, bounced, failed, unknown
  category      TEXT,
  tries         TEXT,                           -- JSON, see src/modules/emails/delivery/connection-attempts.ts; null: one connection at the most
  dialogue      TEXT,                           -- what was said, see src/protocols/smtp/session/transcript.ts; null: the first connection delivered
  egress        TEXT,                           -- the name of the [[egress]] that it left by; null: by a relay or from this machine's own addresses
  PRIMARY KEY (email_id, number)
) STRICT, WITHOUT ROWID;

-- What came back by mail about an email and was believed: bounces, delays, complaints. Goes with its email.
CREATE TABLE email_report (
  email_id      INTEGER NOT NULL,
  number        INTEGER NOT NULL,               -- 1, 2, …
  at            INTEGER NOT NULL,
  kind          TEXT NOT NULL CHECK (kind IN ('bounce', 'delay', 'complaint')),
  is_permanent  INTEGER CHECK (is_permanent IN (0, 1)),  -- of a bounce
  category      TEXT,                           -- of a bounce
  code          INTEGER,
  enhanced_code TEXT,
  diagnostic    TEXT,                           -- cleaned
  remote_mta    TEXT,                           -- who refused, as the report names it
  reporter      TEXT,                           -- who brought it
  feedback_type TEXT,                           -- of a complaint
  PRIMARY KEY (email_id, number)
) STRICT, WITHOUT ROWID;

-- Mail for the operator: to postmaster and abuse, and reports that nobody could be found for.
CREATE TABLE inbound_mail (
  id             INTEGER PRIMARY KEY AUTOINCREMENT,
  uid            TEXT NOT NULL UNIQUE,
  mailbox        TEXT NOT NULL CHECK (mailbox IN ('postmaster', 'abuse', 'fbl', 'bounce')),
  envelope_from  TEXT NOT NULL,                 -- empty: the null sender
  sender         TEXT,                          -- the field From, decoded
  subject        TEXT,
  received_at    INTEGER NOT NULL,
  helo           TEXT NOT NULL,
  client_address TEXT NOT NULL,
  is_tls         INTEGER NOT NULL CHECK (is_tls IN (0, 1)),
  size           INTEGER NOT NULL,              -- bytes before compression
  content        BLOB NOT NULL                  -- zstd; last, so that a list reads nothing of it
) STRICT;
CREATE INDEX inbound_mail_age ON inbound_mail (received_at);

CREATE TABLE idempotency (
  workspace_id INTEGER NOT NULL,
  domain_id    INTEGER NOT NULL,                -- of the API key; 0: the whole workspace
  operation    TEXT NOT NULL,
  key          TEXT NOT NULL,
  request_hash BLOB NOT NULL,                   -- SHA-256 of the body
  response     TEXT NOT NULL,                   -- the body of the 202
  created_at   INTEGER NOT NULL,
  PRIMARY KEY (workspace_id, domain_id, operation, key)
) STRICT, WITHOUT ROWID;
CREATE INDEX idempotency_age ON idempotency (created_at);

-- What was accepted, by UTC day. A month is the sum of its days. Of contents (stored_bytes) what is there, on the day ''.
CREATE TABLE usage (
  workspace_id INTEGER NOT NULL,
  name         TEXT NOT NULL,                   -- see src/modules/plans/store.ts
  day          TEXT NOT NULL,                   -- 2026-11-21
  count        INTEGER NOT NULL,
  PRIMARY KEY (workspace_id, name, day)
) STRICT, WITHOUT ROWID;

-- Complaints and hard bounces that came by mail, by the UTC day of the email and the recipient's domain.
CREATE TABLE usage_reported (
  workspace_id INTEGER NOT NULL,
  day          TEXT NOT NULL,
  name         TEXT NOT NULL,                   -- as in usage
  domain       TEXT NOT NULL,                   -- the organizational one
  count        INTEGER NOT NULL,
  counted      INTEGER NOT NULL,                -- of them, towards the sending block: see src/modules/plans/sending-block.ts
  PRIMARY KEY (workspace_id, day, name, domain)
) STRICT, WITHOUT ROWID;

-- The lists' totals, kept in the transactions that change them.
CREATE TABLE email_total (
  workspace_id INTEGER NOT NULL,
  domain_id    INTEGER NOT NULL,
  status       TEXT NOT NULL,                   -- as in email.status; scheduled and delivery_delayed apart from queued
  count        INTEGER NOT NULL,
  PRIMARY KEY (workspace_id, domain_id, status)
) STRICT, WITHOUT ROWID;

CREATE TABLE suppression (
  id           INTEGER PRIMARY KEY AUTOINCREMENT,
  workspace_id INTEGER NOT NULL,
  channel      TEXT NOT NULL CHECK (channel IN ('email', 'sms')),
  address      TEXT NOT NULL,                   -- in the form compared: lower case, domain as A-label
  reason       TEXT NOT NULL CHECK (reason IN ('hard_bounce', 'complaint', 'manual', 'opt_out', 'invalid_number', 'unsubscribe')),
  list         TEXT NOT NULL DEFAULT '',        -- mail of this list only; '': all mail
  created_at   INTEGER NOT NULL,
  is_erased    INTEGER NOT NULL DEFAULT 0 CHECK (is_erased IN (0, 1)),  -- address is a keyed hash of it
  UNIQUE (workspace_id, address, channel, list)
) STRICT;
CREATE INDEX suppression_erased ON suppression (workspace_id) WHERE is_erased = 1;   -- who has any
CREATE INDEX suppression_newest ON suppression (workspace_id, created_at, id);
-- A channel's page is merged from those of its reasons.
CREATE INDEX suppression_newest_of_kind ON suppression (workspace_id, channel, reason, created_at, id);

-- Hard bounces that do not suppress before the operator has looked: their site refused in masses.
CREATE TABLE suppression_held (
  id           INTEGER PRIMARY KEY AUTOINCREMENT,
  workspace_id INTEGER NOT NULL,
  channel      TEXT NOT NULL CHECK (channel IN ('email', 'sms')),
  address      TEXT NOT NULL,
  reason       TEXT NOT NULL CHECK (reason IN ('hard_bounce', 'complaint', 'manual', 'opt_out', 'invalid_number', 'unsubscribe')),
  site         TEXT NOT NULL,                   -- who refused
  created_at   INTEGER NOT NULL,
  UNIQUE (workspace_id, channel, address)
) STRICT;

-- Facts, written in the transactions that make them true; of emails only while somebody of the workspace
-- subscribes to them. Webhooks and listeners are fed from them.
CREATE TABLE event (
  id           INTEGER PRIMARY KEY AUTOINCREMENT,
  uid          TEXT NOT NULL,                   -- the webhook-id of its deliveries; its time is created_at
  workspace_id INTEGER NOT NULL,
  type         TEXT NOT NULL,                   -- email.delivered, …: see src/modules/events/schema.ts
  resource     TEXT NOT NULL,                   -- the uid (of a suppression the address) of what it is about
  body         TEXT NOT NULL,                   -- JSON as it is sent: type, timestamp, workspaceId, data
  created_at   INTEGER NOT NULL
) STRICT;
CREATE INDEX event_of_workspace ON event (workspace_id, id);
CREATE INDEX event_since ON event (workspace_id, created_at, id);
CREATE INDEX event_resource ON event (resource, id);

CREATE TABLE webhook (
  id                  INTEGER PRIMARY KEY AUTOINCREMENT,
  uid                 TEXT NOT NULL UNIQUE,
  workspace_id        INTEGER NOT NULL,
  url                 TEXT NOT NULL,
  events              TEXT NOT NULL,            -- JSON: the names, email.* and * among them
  description         TEXT,
  is_enabled          INTEGER NOT NULL CHECK (is_enabled IN (0, 1)),
  disabled_reason     TEXT,                     -- by pombo; null: by its owner, or it is enabled
  secret              BLOB NOT NULL,            -- 32 bytes, sealed under the instance key
  old_secrets         TEXT NOT NULL DEFAULT '[]',  -- JSON [{sealed (base64), until}]: each signs too until its time
  created_at          INTEGER NOT NULL,
  last_delivery_at    INTEGER,                  -- the last success
  last_failure_at     INTEGER,
  last_failure_reason TEXT,
  failing_since       INTEGER,                  -- nothing but failures since; null: the last call succeeded
  delivery_count      INTEGER NOT NULL DEFAULT 0  -- rows of webhook_delivery
) STRICT;
CREATE INDEX webhook_newest ON webhook (workspace_id, created_at, id);

-- Deleted webhooks whose jobs and deliveries are still to be removed.
CREATE TABLE webhook_gone (
  id INTEGER PRIMARY KEY                        -- as in webhook
) STRICT;

-- Calls still to be made: the queue of the webhooks, one lane each. Claiming a row postpones it.
CREATE TABLE webhook_job (
  id         INTEGER PRIMARY KEY AUTOINCREMENT,
  webhook_id INTEGER NOT NULL,
  event_id   INTEGER NOT NULL,
  next_at    INTEGER NOT NULL,
  attempts   INTEGER NOT NULL DEFAULT 0,        -- begun, the running one included
  in_flight  INTEGER NOT NULL DEFAULT 0 CHECK (in_flight IN (0, 1)),
  started_at INTEGER,                           -- of the last call; null: none was begun
  again      TEXT CHECK (again IN ('always', 'on_failure')),  -- asked for once more while it was in flight
  UNIQUE (webhook_id, event_id)
) STRICT;
CREATE INDEX webhook_job_due ON webhook_job (webhook_id, next_at, id);
CREATE INDEX webhook_job_in_flight ON webhook_job (id) WHERE in_flight = 1;

-- One row an HTTP attempt.
CREATE TABLE webhook_delivery (
  id              INTEGER PRIMARY KEY AUTOINCREMENT,
  uid             TEXT NOT NULL UNIQUE,
  webhook_id      INTEGER NOT NULL,
  event_id        INTEGER NOT NULL,
  event_uid       TEXT NOT NULL,
  event_type      TEXT NOT NULL,
  attempt         INTEGER NOT NULL,             -- 1, 2, … since it was queued, or replayed
  response_status INTEGER,                      -- null: there was no answer
  error_message   TEXT,
  created_at      INTEGER NOT NULL,             -- when the call began
  delivered_at    INTEGER,                      -- one of these two is set
  failed_at       INTEGER,
  duration_ms     INTEGER NOT NULL,
  next_attempt_at INTEGER,
  response_body   TEXT                          -- the first 1 KiB of the answer's body, cleaned; null: no answer, or erased
) STRICT;
-- For lists by status too: a second index would cost every call. The list of both merges the two halves.
CREATE INDEX webhook_delivery_newest ON webhook_delivery (webhook_id, (delivered_at IS NULL), created_at, id);
CREATE INDEX webhook_delivery_of_event ON webhook_delivery (webhook_id, event_id);
CREATE INDEX webhook_delivery_age ON webhook_delivery (created_at);

-- What src/modules/sms/queue/status.ts derives from a message's segments is written here by src/modules/sms/queue/message-store.ts alone.
-- AUTOINCREMENT: an answer that is late must not come to belong to the next message.
CREATE TABLE sms_message (
  id                  INTEGER PRIMARY KEY AUTOINCREMENT,
  uid                 TEXT NOT NULL UNIQUE,
  workspace_id        INTEGER NOT NULL,
  recipient           TEXT NOT NULL,            -- +258841234567
  sender              TEXT NOT NULL,
  body                TEXT NOT NULL,            -- as given
  sent_text           TEXT,                     -- what is sent instead: composed, folded; null: the body
  encoding            TEXT NOT NULL CHECK (encoding IN ('gsm7', 'ucs2')),
  alphabet            TEXT NOT NULL CHECK (alphabet IN ('gsm', 'pt-single', 'pt-locking', 'pt-both')),
  segments            INTEGER NOT NULL,
  credits             INTEGER NOT NULL,         -- one a segment, less those given back
  expires_at          INTEGER NOT NULL,         -- what was not accepted by then is not sent
  created_at          INTEGER NOT NULL,
  status              TEXT NOT NULL CHECK (status IN ('queued', 'sending', 'sent', 'delivered', 'undelivered',
                        'failed', 'expired')),
  delivery_state      TEXT,
  failure_category    TEXT,
  provider_id         TEXT,
  provider_status     TEXT,
  provider_error_code TEXT,
  failed_reason       TEXT,
  possible_duplicate  INTEGER NOT NULL DEFAULT 0 CHECK (possible_duplicate IN (0, 1)),
  sent_at             INTEGER,
  delivered_at        INTEGER,
  last_event_at       INTEGER,
  is_final            INTEGER NOT NULL DEFAULT 0 CHECK (is_final IN (0, 1)), -- 0: to be sent, or receipts are awaited
  is_help             INTEGER NOT NULL DEFAULT 0 CHECK (is_help IN (0, 1)),  -- answers HELP: goes in spite of suppressions
  is_erased           INTEGER NOT NULL DEFAULT 0 CHECK (is_erased IN (0, 1)), -- its recipient was: see src/modules/recipients/erase.ts
  key_id              INTEGER,                  -- as in email
  user_id             INTEGER
) STRICT;
CREATE INDEX sms_message_newest ON sms_message (workspace_id, created_at, id);
CREATE INDEX sms_message_by_status ON sms_message (workspace_id, status, created_at, id);
-- Of all workspaces: who texted a subscriber last is asked for those who share a number.
CREATE INDEX sms_message_to ON sms_message (recipient, workspace_id, created_at, id);
-- What time alone will change: it expires, or its receipts are overdue.
CREATE INDEX sms_message_open ON sms_message (status, expires_at) WHERE is_final = 0;

-- The unit of sending, of credits and of receipts, and the queue of the links. Encoded and split at acceptance.
-- ready → in_flight → accepted → delivered | failed | expired; in_flight → ready | failed | unknown;
-- unknown → accepted | ready | failed; ready → failed | expired. See src/modules/sms/queue/segment-store.ts.
CREATE TABLE sms_segment (
  message_id     INTEGER NOT NULL,
  seq            INTEGER NOT NULL,              -- 1, 2, …
  parts          INTEGER NOT NULL,              -- how many its message has
  workspace_id   INTEGER NOT NULL,
  payload        BLOB NOT NULL,                 -- without a header: GSM 03.38 one septet an octet, or UTF-16BE
  reference      INTEGER,                       -- of concatenation, the same for all parts; null: there is one part
  umr            INTEGER NOT NULL,              -- user_message_reference, the same on a re-send
  state          TEXT NOT NULL CHECK (state IN ('ready', 'in_flight', 'accepted', 'unknown', 'delivered', 'failed',
                   'expired')),
  route          TEXT NOT NULL,                 -- [[sms.routes]] name
  link           TEXT,                          -- the link that has it or, of several parts, must send it; null: any
  priority       TEXT NOT NULL CHECK (priority IN ('otp', 'transactional', 'bulk')),
  attempts       INTEGER NOT NULL DEFAULT 0,    -- submits begun that count
  resends        INTEGER NOT NULL DEFAULT 0,    -- of those, after an unknown outcome: it may arrive twice
  reroutes       INTEGER NOT NULL DEFAULT 0,    -- other routes tried for a refusal
  retries        TEXT,                          -- JSON: how often each command_status was answered and tried again
  next_at        INTEGER NOT NULL,              -- ready: when it is due; unknown: when it is given up
  lease_epoch    INTEGER NOT NULL DEFAULT 0,    -- of the connection that has it: others change nothing
  submitted_at   INTEGER,                       -- the last submit
  accepted_at    INTEGER,                       -- by the SMSC; null: it has not been
  smsc_id        TEXT,                          -- as answered
  smsc_id_key    TEXT,                          -- in the form compared
  smsc_id_key2   TEXT,                          -- of the first submit, once it was sent again
  expects_receipt INTEGER NOT NULL DEFAULT 1 CHECK (expects_receipt IN (0, 1)),
  receipt_state  TEXT,                          -- the network's last word that counts, as src/modules/sms/receipts/parse.ts has them
  receipt_at     INTEGER,
  overdue        TEXT CHECK (overdue IN ('sent', 'undelivered')),  -- waiting for its receipt is over: what that means
  category       TEXT,                          -- as failure_category in sms_message
  provider_status TEXT,
  provider_code  TEXT,
  reason         TEXT,
  changed_at     INTEGER,                       -- the last of these changes
  credit         TEXT NOT NULL DEFAULT 'reserved' CHECK (credit IN ('reserved', 'refunded', 'written_off')),
  PRIMARY KEY (message_id, seq)
) STRICT, WITHOUT ROWID;
CREATE INDEX sms_segment_ready ON sms_segment (route, priority, workspace_id, next_at, message_id, seq)
  WHERE state = 'ready';
CREATE INDEX sms_segment_open ON sms_segment (state, next_at) WHERE state IN ('in_flight', 'unknown');
CREATE INDEX sms_segment_id ON sms_segment (route, smsc_id_key) WHERE smsc_id_key IS NOT NULL;
CREATE INDEX sms_segment_id2 ON sms_segment (route, smsc_id_key2) WHERE smsc_id_key2 IS NOT NULL;

-- The last concatenation reference used to a number: two long messages must not be mixed on its phone.
CREATE TABLE sms_reference (
  recipient TEXT PRIMARY KEY,
  last      INTEGER NOT NULL
) STRICT, WITHOUT ROWID;

-- Receipts that match nothing: their answer may come yet, or the outcome of a submit is unknown.
CREATE TABLE sms_receipt_orphan (
  id            INTEGER PRIMARY KEY AUTOINCREMENT,
  route         TEXT NOT NULL,
  smsc_id       TEXT,                           -- as it came; null: none
  smsc_id_key   TEXT,                           -- in the form compared
  number_key    TEXT,                           -- the last seven digits of the subscriber's number; null: none
  umr           INTEGER,                        -- user_message_reference, where it is echoed
  receipt_state TEXT NOT NULL,
  receipt       TEXT NOT NULL,                  -- JSON of what was read from it (src/modules/sms/receipts/parse.ts)
  raw           BLOB NOT NULL,                  -- its text as it came
  received_at   INTEGER NOT NULL
) STRICT;
CREATE INDEX sms_receipt_orphan_id ON sms_receipt_orphan (route, smsc_id_key) WHERE smsc_id_key IS NOT NULL;
CREATE INDEX sms_receipt_orphan_number ON sms_receipt_orphan (route, number_key) WHERE number_key IS NOT NULL;
CREATE INDEX sms_receipt_orphan_age ON sms_receipt_orphan (received_at);

-- Parts of a text that is not whole yet.
CREATE TABLE sms_inbound_part (
  route       TEXT NOT NULL,
  source      TEXT NOT NULL,
  destination TEXT NOT NULL,
  scheme      TEXT NOT NULL CHECK (scheme IN ('udh8', 'udh16', 'sar')),
  reference   INTEGER NOT NULL,
  total       INTEGER NOT NULL,
  seq         INTEGER NOT NULL,
  data_coding INTEGER NOT NULL,
  alphabet    TEXT NOT NULL CHECK (alphabet IN ('gsm', 'pt-single', 'pt-locking', 'pt-both')),
  payload     BLOB NOT NULL,                    -- without its header
  received_at INTEGER NOT NULL,
  PRIMARY KEY (route, source, destination, scheme, reference, total, seq)
) STRICT, WITHOUT ROWID;
CREATE INDEX sms_inbound_part_age ON sms_inbound_part (received_at);

-- Texts received.
CREATE TABLE sms_inbound (
  id           INTEGER PRIMARY KEY AUTOINCREMENT,
  uid          TEXT NOT NULL UNIQUE,
  workspace_id INTEGER,                         -- null: nobody's
  route        TEXT NOT NULL,
  sender       TEXT NOT NULL,
  recipient    TEXT NOT NULL,
  body         TEXT NOT NULL,
  is_whole     INTEGER NOT NULL CHECK (is_whole IN (0, 1)),  -- 0: parts of it never came
  raw          BLOB,                            -- what could not be read as text; null: nothing
  received_at  INTEGER NOT NULL
) STRICT;
CREATE INDEX sms_inbound_newest ON sms_inbound (workspace_id, received_at, id);
CREATE INDEX sms_inbound_from ON sms_inbound (sender, workspace_id, received_at, id);

-- PDUs of texts received in the last minutes: an SMSC sends one again whose acknowledgement was lost.
CREATE TABLE sms_seen (
  id          INTEGER PRIMARY KEY AUTOINCREMENT,
  route       TEXT NOT NULL,
  digest      TEXT NOT NULL,                    -- SHA-256 of addresses, coding and octets
  reference   TEXT,                             -- the SMSC's own id of it; null: none
  session     TEXT NOT NULL,                    -- the connection it came over last
  sequence    INTEGER NOT NULL,
  received_at INTEGER NOT NULL
) STRICT;
CREATE INDEX sms_seen_digest ON sms_seen (route, digest, id);
CREATE INDEX sms_seen_age ON sms_seen (received_at);

-- What was learned of a route's habits, such as the base of its ids.
CREATE TABLE smpp_learned (
  route      TEXT NOT NULL,
  name       TEXT NOT NULL,
  value      TEXT NOT NULL,
  learned_at INTEGER NOT NULL,
  PRIMARY KEY (route, name)
) STRICT, WITHOUT ROWID;

-- The last things that happened on each link, for the operator.
CREATE TABLE smpp_link_event (
  id         INTEGER PRIMARY KEY AUTOINCREMENT,
  link       TEXT NOT NULL,
  kind       TEXT NOT NULL,
  detail     TEXT,
  created_at INTEGER NOT NULL
) STRICT;
CREATE INDEX smpp_link_event_of ON smpp_link_event (link, id);

-- People who sign in on the dashboard. A person may be of many workspaces.
CREATE TABLE user (
  id                INTEGER PRIMARY KEY AUTOINCREMENT,
  uid               TEXT NOT NULL UNIQUE,
  email             TEXT NOT NULL UNIQUE,          -- lower case, with an A-label; what one signs in with
  name              TEXT NOT NULL,
  is_operator       INTEGER NOT NULL DEFAULT 0 CHECK (is_operator IN (0, 1)),
  email_verified_at INTEGER,                       -- a mailed link was opened; null: the address grants nothing
  password_hash     TEXT,                          -- argon2id, as a PHC string; null: none
  totp_secret       BLOB,                          -- sealed under the instance key; null: none
  totp_confirmed_at INTEGER,                       -- null: not in use yet
  totp_last_step    INTEGER,                       -- of the last code accepted: each is accepted once
  language          TEXT,                          -- en, pt-PT, pt-BR; null: the browser's
  created_at        INTEGER NOT NULL
) STRICT;

-- Each replaces one TOTP code, once.
CREATE TABLE recovery_code (
  user_id INTEGER NOT NULL REFERENCES user (id),
  hash    TEXT NOT NULL,                           -- SHA-256, hex
  PRIMARY KEY (user_id, hash)
) STRICT, WITHOUT ROWID;

CREATE TABLE passkey (
  id            INTEGER PRIMARY KEY AUTOINCREMENT,
  uid           TEXT NOT NULL UNIQUE,
  user_id       INTEGER NOT NULL REFERENCES user (id),
  credential_id TEXT NOT NULL UNIQUE,              -- base64url
  public_key    BLOB NOT NULL,                     -- COSE
  counter       INTEGER NOT NULL,
  transports    TEXT NOT NULL,                     -- JSON: ["internal", "hybrid"]
  name          TEXT NOT NULL,
  created_at    INTEGER NOT NULL,
  last_used_at  INTEGER
) STRICT;
CREATE INDEX passkey_of ON passkey (user_id, id);

CREATE TABLE session (
  id           INTEGER PRIMARY KEY AUTOINCREMENT,
  uid          TEXT NOT NULL UNIQUE,
  hash         TEXT NOT NULL UNIQUE,               -- SHA-256 of the cookie's value, hex
  user_id      INTEGER NOT NULL REFERENCES user (id),
  method       TEXT NOT NULL CHECK (method IN ('passkey', 'password', 'password_totp', 'recovery_code', 'link', 'sandbox')),
  network      TEXT,                               -- of the sign-in
  user_agent   TEXT,
  created_at   INTEGER NOT NULL,
  proved_at    INTEGER NOT NULL,                   -- when its person last proved who they are
  last_seen_at INTEGER NOT NULL                    -- written every 10 minutes at most
) STRICT;
CREATE INDEX session_of ON session (user_id, id);
CREATE INDEX session_age ON session (last_seen_at);

-- Links that sign in or prove an address; each works once.
CREATE TABLE link (
  hash         TEXT PRIMARY KEY,                   -- SHA-256 of its token, hex
  kind         TEXT NOT NULL CHECK (kind IN ('setup', 'reset', 'magic', 'email', 'sandbox')),
  user_id      INTEGER REFERENCES user (id),       -- null: setup, which creates one
  email        TEXT,                               -- the address that it proves; null: none
  browser_hash TEXT,                               -- SHA-256 of the cookie of the browser that asked, hex; null: any browser
  created_at   INTEGER NOT NULL,
  expires_at   INTEGER NOT NULL
) STRICT, WITHOUT ROWID;
CREATE INDEX link_of ON link (user_id);
CREATE INDEX link_age ON link (expires_at);

CREATE TABLE membership (
  workspace_id INTEGER NOT NULL,
  user_id      INTEGER NOT NULL REFERENCES user (id),
  role         TEXT NOT NULL CHECK (role IN ('owner', 'admin', 'member', 'viewer')),
  created_at   INTEGER NOT NULL,
  PRIMARY KEY (workspace_id, user_id)
) STRICT, WITHOUT ROWID;
CREATE INDEX membership_of ON membership (user_id, workspace_id);

CREATE TABLE invitation (
  id           INTEGER PRIMARY KEY AUTOINCREMENT,
  uid          TEXT NOT NULL UNIQUE,
  workspace_id INTEGER NOT NULL,
  email        TEXT NOT NULL,                      -- whom it is meant for
  role         TEXT NOT NULL CHECK (role IN ('owner', 'admin', 'member', 'viewer')),
  hash         TEXT NOT NULL UNIQUE,               -- SHA-256 of its token, hex
  invited_by   INTEGER,                            -- user.id, which may be gone; null: an API key or the operator
  created_at   INTEGER NOT NULL,
  expires_at   INTEGER NOT NULL,
  accepted_at  INTEGER,
  accepted_by  INTEGER                             -- user.id of who opened it, perhaps with another address
) STRICT;
CREATE INDEX invitation_newest ON invitation (workspace_id, created_at, id);

-- Who changed what, written in the transaction of the change.
CREATE TABLE audit (
  id           INTEGER PRIMARY KEY AUTOINCREMENT,
  uid          TEXT NOT NULL UNIQUE,
  workspace_id INTEGER,                            -- null: the whole instance
  user_id      INTEGER,                            -- user.id, which may be gone; null: not a person
  actor        TEXT NOT NULL,                      -- how it was called then: an email address, a key's name and prefix, operator
  action       TEXT NOT NULL,                      -- as member.role_changed
  target       TEXT,                               -- what it was done to, in words
  detail       TEXT,                               -- JSON, before and after, without secrets; null: nothing
  network      TEXT,
  created_at   INTEGER NOT NULL
) STRICT;
CREATE INDEX audit_newest ON audit (workspace_id, created_at, id);

-- What programs asked of the API lately, without bodies and addresses: see src/modules/requests/record.ts.
CREATE TABLE api_request (
  id           INTEGER PRIMARY KEY,
  uid          TEXT NOT NULL,                      -- X-Request-Id of the answer
  workspace_id INTEGER NOT NULL,
  key_id       INTEGER NOT NULL,                   -- api_key.id, which may be gone
  method       TEXT NOT NULL,
  path         TEXT NOT NULL,                      -- addresses as *, of the query the names
  status       INTEGER NOT NULL,
  ms           INTEGER NOT NULL,
  error        TEXT,                               -- JSON: the first error of the answer; null: it succeeded
  created_at   INTEGER NOT NULL,
  is_failed    INTEGER NOT NULL GENERATED ALWAYS AS (status >= 400) VIRTUAL
) STRICT;
CREATE INDEX api_request_newest ON api_request (workspace_id, is_failed, created_at, id);

-- Accounts of pombo's at certificate authorities.
CREATE TABLE acme_account (
  directory   TEXT PRIMARY KEY,                    -- the address of the authority's
  private_key BLOB NOT NULL,                       -- sealed: PKCS#8, PEM; the authority knows the account by it
  created_at  INTEGER NOT NULL
) STRICT, WITHOUT ROWID;

-- The certificate that an authority has issued: one, the newest.
CREATE TABLE certificate (
  id          INTEGER PRIMARY KEY CHECK (id = 1),
  directory   TEXT NOT NULL,                       -- who issued it
  chain       TEXT NOT NULL,                       -- PEM, the own one first
  private_key BLOB NOT NULL,                       -- sealed: PKCS#8, PEM
  profile     TEXT,                                -- that was asked for
  issued_at   INTEGER NOT NULL
) STRICT;

-- What operators were told of, and what lasts of it; of what ended, for a day, so that it is not told again and again.
CREATE TABLE alert_trouble (
  id       TEXT PRIMARY KEY,                       -- sms.unbound.vodacom
  level    TEXT NOT NULL CHECK (level IN ('warning', 'problem')),  -- the worst that was told
  what     TEXT NOT NULL,
  step     TEXT,                                   -- what to do
  began_at INTEGER NOT NULL,
  told_at  INTEGER NOT NULL,                       -- it, or the last reminder
  ended_at INTEGER,                                -- null: it lasts
  returns  INTEGER NOT NULL,                       -- how often its end was told within a day of the one before
  unseen_since INTEGER                             -- since when processes started after it was told have not seen it
) STRICT, WITHOUT ROWID;

-- What is wrong and was not told yet: a process that is started again goes on counting the two minutes.
CREATE TABLE alert_seen (
  id         TEXT PRIMARY KEY,
  present_ms INTEGER NOT NULL,                     -- how long it was there, without gaps
  last_at    INTEGER NOT NULL,                     -- when it was seen last
  gone_at    INTEGER                               -- null: it is there
) STRICT, WITHOUT ROWID;

-- What is yet to be told to whom: their way is itself the trouble, or did not work.
CREATE TABLE alert_message (
  id         INTEGER PRIMARY KEY AUTOINCREMENT,
  target     TEXT NOT NULL,                        -- src/modules/alerts/targets.ts
  trouble_id TEXT NOT NULL,
  kind       TEXT NOT NULL CHECK (kind IN ('began', 'worsened', 'reminded', 'ended')),
  level      TEXT NOT NULL CHECK (level IN ('warning', 'problem')),
  what       TEXT NOT NULL,
  step       TEXT,
  began_at   INTEGER NOT NULL,
  at         INTEGER NOT NULL,
  call_uid   TEXT                                  -- the webhook call that was made with it, the same when it is made again
) STRICT;
CREATE INDEX alert_message_of ON alert_message (target, id);
