// The introduction of the API docs, for a developer who is new to the product.

import webhookWords from "./webhooks.md" with { type: "text" };

export const DESCRIPTION = `\
pombo accepts your emails over HTTP, stores them durably, signs them with DKIM and delivers them to the recipients' mail
servers. It sends your SMS to the mobile networks. You can read the outcome of each message at any time.

**The first email** takes three steps. Get an API key from the operator of this server. Register the domain you send from
with \`POST /api/v1/domains\`, publish the DNS records in its answer, and request its verification check. Then send with
\`POST /api/v1/emails\`.

**The first SMS** needs a sender id and credits, which the operator assigns, and a number in E.164:
\`POST /api/v1/sms\` with \`{"to": "+258841234567", "body": "Olá"}\`. \`POST /api/v1/sms/preview\` shows what an SMS
costs: one character outside the GSM alphabet, such as \`ã\`, reduces a segment to less than half its length.

### The sandbox

\`pombo dev\` runs all of this on your own machine, and nothing leaves it. Emails end in an inbox and SMS on simulated
phones, both at \`/sandbox\`, and as JSON at \`/sandbox/messages\` and \`/sandbox/texts\`. Some recipients, such as
\`bounce@example.com\`, and some numbers, such as \`+258840000001\`, always have a certain outcome, so that you can test
it. The page lists them all.

### Authentication

Every request carries an API key in the header \`X-API-Key\`, or as \`Authorization: Bearer <key>\`; where both are there,
\`X-API-Key\` counts. The key names the workspace, and a request
sees and changes only what belongs to that workspace: the resources of others answer 404. A key with a \`domainId\` can
only send and read the emails of that domain; everything else answers 403. The operator of the server has a different key,
for the routes under Operator. \`/health\`, \`/ready\`, \`/docs\` and \`/api/v1/openapi.json\` need no key.

People sign in to the dashboard at \`/dashboard\`, whose pages use these same routes: in place of a key they send the
session's cookie, and the id of the workspace in the header \`Pombo-Workspace\`; an operator of the server sends
\`Pombo-Operator: 1\` for the routes under Operator. What a person may do depends on their role: viewers read, members
also send, admins also manage keys, domains, webhooks and members, owners everything. For the rest the answer is 403
\`ROLE_REQUIRED\`; what makes or deletes a secret also needs a proof of who they are that is at most 10 minutes old
(\`PROOF_REQUIRED\`).

### Requests and answers

Bodies are JSON, with the header \`Content-Type: application/json\`. The result of a request is the member \`data\` of
the answer; lists also have \`meta\`. Ids are UUIDs. Times are ISO 8601 in UTC; the time of something that has not
happened yet is \`null\`. Unknown members of a body and unknown query parameters are refused, so that you notice typing
errors. Every answer has an \`X-Request-Id\`, by which the operator finds the request in the log.

### Errors

An answer that is not 2xx holds \`errors\`, a list with one item for each error: a \`code\` for programs, a \`message\`
for people, and, where they apply, the \`field\`, its \`path\` in a batch (\`emails[3].from\`) and a \`hint\` that says
what to do. All errors in the form of a body come in one answer. Checks that need more than the request (verified domains,
sender ids, credits) follow when the form is valid. After a 4xx, change the request or do what the hint says; after 429
and 503, send the same request again when the seconds in \`Retry-After\` have passed. A request is never carried out in
part. If the disk fails during a request, a 503 says that it is uncertain whether the request was accepted: use an
Idempotency-Key to repeat it safely.

### Sending once

A connection can break after an email was accepted and before the answer reached you. Send a key of your own in the header
\`Idempotency-Key\` (up to 255 characters, such as an order number), and repeat the request with the same key: you get
the first answer again, with \`Idempotent-Replayed: true\`, and nothing is sent twice. Keys are stored for 24 hours. A
request with the same key and another body also gets the first answer, with \`Idempotency-Mismatch: true\`; if it has
the header \`Idempotency-Strict: true\`, it is refused with 409.

### SMTP

WordPress, Laravel, Django and whatever else speaks SMTP can send without this API, where the operator has opened the ports.
The email gets the same checks, record and webhooks; its \`source\` is \`smtp\`.

| Setting | Value |
|---|---|
| Host | the name of this server; in the sandbox \`127.0.0.1\` |
| Port | 587 with STARTTLS or 465 with TLS, or 2587 and 2465; in the sandbox what \`pombo dev\` shows, without TLS |
| User | \`pombo\`, or anything else |
| Password | an API key; one of a domain sends from that domain only |
| From | an address of a verified domain, in the header; the envelope's sender is not used |

The message leaves as it came: its parts stay, and so do \`Message-ID\` and \`Date\` where it has them. Each recipient of the
envelope is an email of its own; one that stands in no \`To\` or \`Cc\` gets a blind copy. The answer is
\`250 2.0.0 Accepted:\` with the id of the email or of the group. Header fields say what SMTP has no place for, and are removed:

| Field | Member of the email |
|---|---|
| \`X-Pombo-Tag\`, \`X-PM-Tag\` | \`tag\` |
| \`X-Pombo-Metadata-NAME\`, \`X-PM-Metadata-NAME\` | \`metadata.NAME\` |
| \`X-Pombo-Send-At\` | \`sendAt\` |
| \`X-Pombo-Unsubscribe-List\` | \`unsubscribe.list\` |
| \`X-Pombo-Idempotency-Key\`, \`Resend-Idempotency-Key\` | the Idempotency-Key of the request |

Without such a key a message that comes again is recognised by its octets and sent once, if the program gave it a
\`Message-ID\` and a \`Date\`; without them each submission is sent. A reply that begins with 4 means that the same message can
be sent again later; one with 5 says what to change: \`535 5.7.8\` the API key, \`550 5.7.1\` the domain of \`From\`,
\`550 5.1.1\` a suppressed recipient, \`552 5.3.4\` the size, \`554 5.6.0\` the line that it names. \`GET /api/v1/emails/{id}/raw\`
is the whole message.

### Lists

All lists are newest first and take a \`limit\` (1 to 100, by default 20). Most lists use a cursor: while
\`meta.has_more\` is true, repeat the request with \`cursor\` set to \`meta.next_cursor\`. Some have pages: \`page\`
counts from 1, and \`meta\` has \`total\` and \`lastPage\`.

${webhookWords}
### Rate limits

The operator limits the requests of a workspace per second, separately for sends, other writes and reads. If there is a
limit (the sandbox has none), the header \`RateLimit\` of each answer says what is left. Requests above it answer 429 with
\`Retry-After\`. A batch counts as one request. The plan of the workspace limits the emails of a day and of a month (402).
`;

/** Beside the title and the version. */
export const INFO = {
  contact: { name: "The operator of this server" },
  license: { name: "Apache-2.0", identifier: "Apache-2.0" },
};

/** Both keys use the same header; as two schemes, so that a page that tries requests can hold one of each. */
export const buildSecuritySchemes = (sessionCookie: string) => ({
  apiKey: {
    type: "apiKey",
    in: "header",
    name: "X-API-Key",
    description: "A workspace's key: `svc_` and 43 characters.",
  },
  operatorKey: {
    type: "apiKey",
    in: "header",
    name: "X-API-Key",
    description: "The operator's key, for the routes under Operator and for creating workspaces.",
  },
  sessionCookie: {
    type: "apiKey",
    in: "cookie",
    name: sessionCookie,
    description: "The session of a person who signed in, in their browser.",
  },
});

/** Headers of the answer to what takes an Idempotency-Key. */
export const REPLAY_HEADERS = {
  "Idempotent-Replayed": {
    description: "`true`: this is the first answer to the Idempotency-Key; this request did nothing.",
    schema: { type: "string", enum: ["true"] },
  },
  "Idempotency-Mismatch": {
    description: "`true`: the first request with this Idempotency-Key had another body.",
    schema: { type: "string", enum: ["true"] },
  },
};

/** In the order of the page; tags without an operation are left out. */
export const TAGS: { name: string; description: string }[] = [
  { name: "Emails", description: "Send emails, one or many at once, and read their status." },
  { name: "SMS", description: "Send SMS, see their cost and status, and read the SMS that you received." },
  {
    name: "Domains",
    description: "The domains that you send from: the DNS records to publish, and whether they are published.",
  },
  {
    name: "Suppressions",
    description:
      "Addresses that get no more messages from you, because they bounced, complained or unsubscribed, or because you added them.",
  },
  {
    name: "Recipients",
    description: "All records about one address or number: export or erase them.",
  },
  {
    name: "Webhooks",
    description: "URLs of yours that pombo calls when something happens, and their deliveries.",
  },
  {
    name: "Webhook calls",
    description: "The requests that pombo sends to your webhooks, by type of event. Your server answers them.",
  },
  { name: "Events", description: "Events as they happen, for clients that a webhook cannot reach." },
  {
    name: "Sign-in",
    description: "For people in a browser: they sign in, and their session's cookie is then a proof beside API keys.",
  },
  { name: "API keys", description: "The keys of this workspace. A key is shown only once, when it is created." },
  { name: "Workspace", description: "The workspace that a key belongs to: its plan, its limits and its usage." },
  { name: "Members", description: "The people who belong to the workspace, with their roles, and invitations." },

  {
    name: "Operator",
    description: "For the operator of this server, with the operator key: all workspaces, queues and links.",
  },
  { name: "Instance", description: "The health of the server, and this description. No key is needed." },
];
