import webhookWords from "./webhooks.md" with { type: "text" };

// The introduction of the API docs, for a developer who has never seen the product.

export const DESCRIPTION = `\
pombo takes your emails over HTTP, keeps them safe, signs them with DKIM and delivers them to the
recipients' mail servers. It hands your SMS to the mobile networks. The outcome of each can be read afterwards.

**Three steps to the first email.** Get an API key from the operator of this server. Register the domain
you send from with \`POST /api/v1/domains\`, publish the DNS records that it answers, and call its
verification check. Then \`POST /api/v1/emails\`.

**The first SMS** needs nothing of yours but a sender id and credits, which the operator assigns, and a number in
E.164: \`POST /api/v1/sms\` with \`{"to": "+258841234567", "body": "Olá"}\`. \`POST /api/v1/sms/preview\` shows
what an SMS costs: one letter outside the GSM alphabet, such as \`ã\`, more than halves a segment.

### The sandbox

\`pombo dev\` runs all of this on your own machine, and nothing leaves it: mail ends in an inbox, SMS on phones, both at
\`/sandbox\`, as JSON at \`/sandbox/messages\` and \`/sandbox/texts\`. Recipients such as \`bounce@example.com\` and numbers
such as \`+258840000001\` behave on purpose, so that you can watch every outcome; the page lists them all.

### Authentication

Every request carries an API key in the header \`X-API-Key\`, or as \`Authorization: Bearer <key>\`; \`X-API-Key\`
counts where both are there. The key names the workspace, and a request
sees and changes only what belongs to that workspace: for anything of another the answer is 404. A key with a \`domainId\` sends and reads that domain's emails and nothing else (403). The
operator of the server has a key of another kind, for the routes under Operator. \`/health\`, \`/ready\`,
\`/docs\` and \`/api/v1/openapi.json\` need no key.

### Requests and answers

Bodies are JSON, with the header \`Content-Type: application/json\`. The result of a request is in the
member \`data\` of the answer; lists have a \`meta\` beside it. Ids are UUIDs, times are ISO 8601 in UTC, and
a member whose moment has not come yet is \`null\`. Members of a body and parameters of a list that are not
known are refused, so that a typing error is noticed. Every answer has an \`X-Request-Id\`, by which
the operator finds the request in the log.

### Errors

An answer that is not 2xx holds \`errors\`, a list with one item for each error: a \`code\` for programs, a
\`message\` for people, and, where they apply, the \`field\`, its \`path\` in a batch
(\`emails[3].from\`) and a \`hint\` with what to do. All errors of a body's form come in one answer; checks that need
more than the request (verified domains, sender ids, credits) come after that. 4xx means that
the request has to change, or that something has to happen first; 429 and 503 that the same request can be
sent again, after the seconds that \`Retry-After\` says. Nothing is ever half done. When the disk fails in the middle
of a request, a 503 says that nobody knows whether it was accepted: this is what the next header is for.

### Sending once

A connection can break after the email was accepted and before you heard of it. Send a key of your own in
the header \`Idempotency-Key\` (up to 255 characters, such as the number of the order), and repeat the
request with the same key: the first answer comes again, with \`Idempotent-Replayed: true\`, and nothing is
sent twice. Keys are kept for 24 hours. With another body the first answer comes all the same, with
\`Idempotency-Mismatch: true\`; with \`Idempotency-Strict: true\` on the request it is refused with 409.

### Lists

All lists are newest first and take a \`limit\` (1 to 100, by default 20). Most are read with a cursor: while
\`meta.has_more\` is true, ask again with \`cursor\` set to \`meta.next_cursor\`. Some have pages: \`page\` counts
from 1, and \`meta\` tells \`total\` and \`lastPage\`.

${webhookWords}
### Rate limits

The operator sets how many requests a workspace may make in a second, separately for sends, other writes and
reads. Where there is a limit (not in the sandbox), \`RateLimit\` on each answer tells what is left; more are answered
with 429 and \`Retry-After\`. A batch counts as one request. Its plan sets how many emails it may
send in a day and a month (402).
`;

/** Beside the title and the version. */
export const INFO = {
  contact: { name: "The operator of this server" },
  license: { name: "Apache-2.0", identifier: "Apache-2.0" },
};

/** Where the keys go; both in the same header, so that a page that tries requests can hold one of each. */
export const KEYS = {
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
    description: "The operator's key, for the routes under Operator and for making workspaces.",
  },
};

/** Headers of the answer to what takes an Idempotency-Key. */
export const REPLAY_HEADERS = {
  "Idempotent-Replayed": {
    description: "`true`: this is the first answer to the Idempotency-Key; nothing was done this time.",
    schema: { type: "string", enum: ["true"] },
  },
  "Idempotency-Mismatch": {
    description: "`true`: the first request with this Idempotency-Key had another body.",
    schema: { type: "string", enum: ["true"] },
  },
};

/** Of each tag, in the order of the page; those without an operation are left out. */
export const TAGS: { name: string; description: string }[] = [
  { name: "Emails", description: "Send emails, one or many at once, and see what became of them." },
  {
    name: "SMS",
    description: "Send text messages, see what they cost and what became of them, and read what came in.",
  },
  {
    name: "Domains",
    description: "The domains that you send from: the DNS records to publish, and whether they are there.",
  },
  {
    name: "Suppressions",
    description: "Addresses that get nothing more from you, because they bounced, complained or were put here by hand.",
  },
  {
    name: "Webhooks",
    description: "Addresses of yours that are called when something happens, and what was delivered to them.",
  },
  {
    name: "Webhook calls",
    description: "What pombo sends to your webhooks: one call for each event, here by its type. You answer these.",
  },
  { name: "Events", description: "What happens, as it happens, for those whom a webhook cannot reach." },
  { name: "API keys", description: "The keys of this workspace. A key itself is shown once, when it is made." },
  { name: "Workspace", description: "The workspace that a key belongs to: its plan, its limits and what it has used." },
  { name: "Operator", description: "For the operator of this server, with the operator key: every workspace." },
  { name: "Instance", description: "Whether the server lives and works, and this description. No key is needed." },
];
