// openapi-typescript and openapi-fetch. `api.d.ts` beside it is generated.
import createClient from "openapi-fetch";
import type { components, paths } from "./api.d.ts";
declare const process: { env: Record<string, string | undefined> };

const { POMBO_URL: baseUrl = "", POMBO_KEY: key = "", POMBO_FROM: from = "", POMBO_TO: to = "" } = process.env;
const pombo = createClient<paths>({ baseUrl, headers: { "X-API-Key": key } });

function check(holds: boolean, step: string, seen: unknown): void {
  if (!holds) throw new Error(`${step}: ${JSON.stringify(seen)}`);
  console.log(`step: ${step}`);
}

const sent = await pombo.POST("/api/v1/emails", { body: { from, to, subject: "One", html: "<p>Olá" } });
check(sent.data?.data.status === "queued", "send", sent.error);
const id = sent.data?.data.id ?? "";

const emails: components["schemas"]["EmailSend"][] = ["Two", "Three"].map((subject) => ({
  from,
  to,
  subject,
  text: "x",
}));
const batch = await pombo.POST("/api/v1/emails/batch", { body: { emails } });
check(batch.data?.data.length === 2, "batch", batch.error);

const email = await pombo.GET("/api/v1/emails/{id}", { params: { path: { id } } });
check(email.data?.data.subject === "One" && email.data.data.bounce === null, "read", email);

const page = (number: number) =>
  pombo.GET("/api/v1/emails", { params: { query: { to, page: number, limit: 2, include: "status" } } });
const [first, second] = [await page(1), await page(2)];
check(first.data?.meta.total === 3 && first.data.data.length === 2 && second.data?.data[0]?.id === id, "pages", [
  first,
  second,
]);

const host = to.split("@")[1];
const inDays = (days: number) => new Date(Date.now() + days * 86_400_000).toISOString();
const whole = await pombo.POST("/api/v1/emails", {
  body: {
    from,
    to: [`Ana <ana@${host}>`, `rui@${host}`],
    cc: `contas@${host}`,
    bcc: [`arquivo@${host}`],
    replyTo: [`Ajuda <ajuda@${host}>`, `outra@${host}`],
    subject: "Whole",
    text: "{{unsubscribe_url}}",
    headers: { "X-Order": "4711" },
    attachments: [{ filename: "recibo.txt", content: btoa("Recibo") }],
    tag: "receipt",
    metadata: { order: "4711" },
    unsubscribe: { list: "news" },
    sendAt: inDays(1),
  },
});
const kinds = whole.data?.data.recipients?.map(({ kind }) => kind).join();
check(whole.data?.data.status === "scheduled" && kinds === "to,to,cc,bcc", "group", whole);
const one = { path: { id: whole.data?.data.id ?? "" } };

const later = inDays(2);
const moved = await pombo.PATCH("/api/v1/emails/{id}", { params: one, body: { sendAt: later } });
check(moved.data?.data.sendAt === later, "change", moved);

const { data: record } = (await pombo.GET("/api/v1/emails/{id}", { params: one })).data ?? {};
check(
  record?.groupId === one.path.id &&
    record.toName === "Ana" &&
    record.recipients?.length === 4 &&
    record.replyToAll?.length === 2 &&
    record.headers?.["X-Order"] === "4711" &&
    record.metadata?.["order"] === "4711" &&
    record.tag === "receipt" &&
    record.unsubscribe?.list === "news" &&
    record.attachments[0]?.bytes === 6,
  "record",
  record,
);
const file = await pombo.GET("/api/v1/emails/{id}/attachments/{n}", {
  params: { path: { ...one.path, n: "0" } },
  parseAs: "text",
});
check(file.data === "Recibo", "file", file);
const ofGroup = { tag: "receipt", groupId: one.path.id };
const grouped = await pombo.GET("/api/v1/emails", { params: { query: ofGroup } });
check(grouped.data?.meta.total === 4, "filters", grouped);
await pombo.POST("/api/v1/suppressions", { body: { address: `ana@${host}`, list: "news" } });
const suppressed = await pombo.GET("/api/v1/suppressions");
check(
  suppressed.data?.data.some(({ address, list }) => address === `ana@${host}` && list === "news") === true,
  "list",
  suppressed,
);
const canceled = await pombo.POST("/api/v1/emails/{id}/cancel", { params: { ...one, query: { group: "true" } } });
check(canceled.data?.data.recipients?.every(({ status }) => status === "canceled") === true, "cancel", canceled);

const urls = ["a", "b"].map((name) => `https://${name}.${to.split("@")[1]}/hook`);
const made: string[] = [];
for (const url of urls) {
  const hook = await pombo.POST("/api/v1/webhooks", { body: { url, events: ["email.delivered"] } });
  if (hook.data?.data.secret.startsWith("whsec_") !== true) throw new Error(JSON.stringify(hook.error));
  made.push(hook.data.data.id);
}
const found: string[] = [];
for (let cursor: string | null | undefined; cursor !== null;) {
  const hooks = await pombo.GET("/api/v1/webhooks", {
    params: { query: { limit: 1, ...(cursor === undefined ? {} : { cursor }) } },
  });
  found.push(...(hooks.data?.data ?? []).map(({ url }) => url));
  cursor = hooks.data?.meta.next_cursor ?? null;
}
check(
  urls.every((url) => found.includes(url)),
  "cursor",
  found,
);
const gone = await pombo.DELETE("/api/v1/webhooks/{id}", { params: { path: { id: made[0] ?? "" } } });
check(gone.data?.data.deleted === true, "webhook", gone.error);

const text = await pombo.POST("/api/v1/sms", { body: { to: "+258841234567", body: to } });
const sms = await pombo.GET("/api/v1/sms/{id}", { params: { path: { id: text.data?.data.id ?? "" } } });
check(sms.data?.data.body === to && sms.data.data.segments === 1, "sms", [text, sms]);

const refused = await pombo.POST("/api/v1/emails", {
  body: { from: "a@unverified.example", to, subject: "x", text: "x" },
});
const [fault] = refused.error?.errors ?? [];
check(fault?.code === "VALIDATION_ERROR" && fault.field === "from", "error", refused);
