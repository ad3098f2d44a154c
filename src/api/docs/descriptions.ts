// Descriptions and example values of members that mean the same in every schema; a schema's own come first.

import { isExample, isMembers, type Json, mapMembers, type Members } from "./json.ts";

const DESCRIPTIONS: Record<string, [description: string, example?: Json]> = {
  accepted: ["How many were accepted."],
  alreadyThere: ["How many were suppressed already."],
  amount: ["Credits that were added; below 0: taken away.", 500],
  apiKeys: ["API keys that are valid."],
  applied: ["How many were applied.", 3],
  at: ["When."],
  attempts: ["Attempts begun."],
  blockedSites: ["Groups of mail servers that get no mail for a while."],
  blocks: ["What keeps it from sending; empty: nothing."],
  by: ["Who blocked it: the operator, or the rate of bounces and complaints."],
  calls: ["Calls that were made."],
  command: ["The PDU's command."],
  content: ["The whole content.", "RnJvbTogQW5hIDxhbmFAZXhhbXBsZS5uZXQ+DQpTdWJqZWN0OiBIZWxsbw0KDQpIZWxsbw0K"],
  createdAt: ["When it was created."],
  data: ["What was asked for."],
  deleted: ["Always true.", true],
  disk: ["Room on the disk of the data directory."],
  domains: ["Domains that are registered."],
  dropped: ["How many were dropped.", 3],
  email: ["Of emails."],
  emails: ["Of emails."],
  envelopeFrom: ["The sender of the envelope.", "ana@example.net"],
  expiresAt: ["When it is given up."],
  from: ["The sender.", "Loja <loja@example.com>"],
  helo: ["What the other server called itself.", "mx.example.net"],
  host: ["The host."],
  id: ["Its id."],
  ids: ["Which ones."],
  inbound: ["SMS that came in."],
  kind: ["Which kind."],
  lastError: ["Why the last session ended; null: none did."],
  later: ["Segments that the SMSC will take later."],
  lines: ["What happened so far, in its order."],
  link: ["The link's name.", "vodacom-a"],
  lost: ["Segments whose answer was lost."],
  name: ["Its name.", "Loja Maria"],
  nextAttemptAt: ["When it is tried next; null: no time is set."],
  no: ["Its number, from 1."],
  note: ["Its purpose."],
  oldestAt: ["When the oldest of them was accepted."],
  component: ["Which component.", "disk"],
  part: ["Which segment of the message, from 1.", 1],
  parts: ["Its segments."],
  plan: ["The plan's name.", "launch"],
  port: ["The TCP port."],
  queue: ["What waits."],
  rate: ["Segments a second."],
  raw: ["As it came.", "00000021000000050000000000000001"],
  reason: ["Why.", "our address is on a list"],
  receipt: ["What the receipt says; null: this line is none."],
  receipts: ["Receipts that came in."],
  receivedAt: ["When it was received."],
  reconnects: ["Times that it connected again."],
  refused: ["Segments that the SMSC refused."],
  result: ["What it came to."],
  returnPath: ["The sender of the envelope.", "b+aaaaaaaaaaaaaaaa@bounce.example.com"],
  route: ["The route's name.", "vodacom"],
  running: ["How many are under way."],
  senderIds: ["Names and numbers that its SMS may come from."],
  sequence: ["The PDU's sequence_number.", 17],
  since: ["When it was suppressed."],
  site: ["The mail servers.", "mx.example.com"],
  sites: ["The first of them."],
  size: ["Size."],
  sms: ["Of SMS."],
  smsThisMonth: ["SMS accepted in this UTC calendar month."],
  some: ["The first of them."],
  startedAt: ["When it began."],
  state: ["How it stands.", "queued"],
  status: ["How it stands.", "queued"],
  subject: ["As in its header."],
  suppressions: ["Suppressions."],
  text: ["Which SMS."],
  throttled: ["Segments refused for going too fast."],
  timeline: ["What happened to it, oldest first."],
  tls: ["Whether the connection was encrypted."],
  to: ["The recipient.", "maria@example.net"],
  type: ["What happened.", "email.delivered"],
  unanswered: ["Segments without an answer yet."],
  url: ["The URL that is called.", "https://example.com/hooks/pombo"],
  usage: ["What it uses."],
  used: ["How many are used."],
  waiting: ["How many wait."],
  webhook: ["Of calls to webhooks."],
  webhookId: ["The webhook."],
  webhooks: ["Of calls to webhooks."],
  window: ["Segments that may be under way at once."],
  words: ["In words.", "The restored database holds all that the replica has."],
  workspaceId: ["The workspace; null: it is gone."],
  workspaceName: ["Its name.", "Loja da Maria"],
  workspaces: ["Workspaces that may not send."],
};

/** Adds them to the members that have none. */
export function addDescriptions(value: Json): Json {
  if (Array.isArray(value)) return value.map(addDescriptions);
  if (!isMembers(value)) return value;
  return mapMembers(value, (member, name) => {
    if (isExample(name)) return member;
    if (name !== "properties" || !isMembers(member)) return addDescriptions(member);
    return mapMembers(member, (schema, own) => (isMembers(schema) ? describeMember(schema, own) : schema));
  });
}

function describeMember(schema: Members, name: string): Members {
  const [description, example] = DESCRIPTIONS[name] ?? [];
  const hasWords = schema["description"] !== undefined || schema["x-name"] !== undefined;
  const hasExample = example === undefined || schema["examples"] !== undefined || !isValueOf(schema, example);
  return {
    ...(addDescriptions(schema) as Members),
    ...(description === undefined || hasWords ? {} : { description }),
    ...(hasExample ? {} : { examples: [example] }),
  };
}

/** Whether it takes any value of that kind. */
function isValueOf({ type, enum: words, format }: Members, value: Json): boolean {
  const types = typeof value === "number" ? ["integer", "number"] : [typeof value];
  return (
    words === undefined &&
    format === undefined &&
    [type].flat().some((one) => typeof one === "string" && types.includes(one))
  );
}
