/**
 * The sandbox's inbox over HTTP: the page for a person, the same as JSON for a test suite, and
 * the parts of one message; the phones' messages: phone-routes.ts. No API key: only `pombo dev` mounts these routes, on loopback, and
 * guard.ts refuses other sites' pages. A message's html is served under a policy that lets
 * nothing run and nothing be fetched; its source only ever as plain text.
 */
import { faultAnswer, guardedRoutes, GUARDING_HEADERS, readLimit } from "./guard.ts";
import { DEFAULT_LIST_LIMIT } from "../mx/inbox.ts";
import type { Inbox, StoredMessage } from "../mx/inbox.ts";
import { buildPage, findPageFile, PAGE_POLICY } from "./assets.ts";
import { phoneRoutes, type PhoneDeps } from "./phone-routes.ts";
import { readAttachment, readMessage, sourceText } from "../mx/parse.ts";
import { buildMessagePage, MESSAGE_POLICY } from "../../modules/emails/preview/page.ts";
import { formatDisposition } from "../../modules/emails/api/attachment.ts";
import { openFeed } from "./feed.ts";
import type { SentStore } from "./sent-store.ts";
import { showInbox } from "./views.ts";

/** Messages that one list can ask for. */
const MAX_LIST_LIMIT = 1_000;

/** The sandbox's instance, once it has started. */
export interface SandboxInstance {
  sent: SentStore;
  keys: { apiKey: string; operatorKey: string };
  /** The path of a new link that signs the sandbox's person in to the dashboard. */
  createLink: () => Promise<string>;
}

/** The address of the keys that requests are tried with in the API docs. */
export const KEYS_PATH = "/sandbox/keys";

/** What the page tells besides the mail. */
interface SandboxPageOptions {
  /** The ready workspace's verified domain, for the curl line to copy. */
  domain?: string;
  /** What is texted, where there is an SMSC; its routes come with it. */
  phone?: PhoneDeps;
  /** Null until it has started. */
  instance?: () => SandboxInstance | null;
}

/** The routes under /sandbox, and the way there from /, to be mounted by `pombo dev` only. */
export function sandboxRoutes(inbox: Inbox, options: SandboxPageOptions = {}) {
  const { domain = "your-domain.example", phone = null, instance = () => null } = options;
  const getSent = () => instance()?.sent ?? null;
  const readFeed = openFeed();
  const deleteAll = () => inbox.clear(getSent()?.listEmails(1)[0]?.email.createdAt ?? 0);
  const page = buildPage({ domain, ownNumber: phone?.ownNumber ?? null, number: phone?.numbering.example });
  const messages = guardedRoutes("sandbox")
    // A person who opens the printed API address in a browser wants to see something.
    .get("/", () => new Response(null, { status: 302, headers: { ...GUARDING_HEADERS, location: "/sandbox" } }))
    .get("/sandbox", () => answer(page, "text/html; charset=utf-8", PAGE_POLICY))
    .get("/sandbox/:file", ({ params }) => {
      const file = findPageFile(params.file);
      if (file === null) return faultAnswer(404, { code: "NOT_FOUND", message: "The sandbox has no such page." });
      return answer(file.body, file.type, PAGE_POLICY);
    })
    .get("/sandbox/feed", ({ request }) => {
      const { body, tag } = readFeed({ inbox, texts: phone?.texts ?? null, sent: getSent() });
      const headers = { ...GUARDING_HEADERS, etag: tag, "content-type": "application/json" };
      const isKnown = request.headers.get("if-none-match") === tag;
      return new Response(isKnown ? null : body, { status: isKnown ? 304 : 200, headers });
    })
    .get(KEYS_PATH, () => {
      const keys = instance()?.keys;
      if (keys === undefined) return notStarted();
      const { apiKey, operatorKey } = keys;
      return Response.json({ apiKey, operatorKey }, { headers: GUARDING_HEADERS });
    })
    // A form of our page: the guard refuses those of others.
    .post(
      "/sandbox/dashboard",
      async () => {
        const path = await instance()?.createLink();
        if (path === undefined) return notStarted();
        return new Response(null, { status: 303, headers: { ...GUARDING_HEADERS, location: path } });
      },
      { parse: "none" },
    )
    .get("/sandbox/messages", ({ request }) => listMessages(inbox, new URL(request.url)))
    .get("/sandbox/messages/:id", ({ params, request }) =>
      withMessage(inbox, params.id, async (message, raw) => {
        const readable = await readMessage(raw);
        const body = { ...showInbox(message), ...readable };
        return Response.json(wantsRaw(request) ? { ...body, raw: sourceText(raw) } : body, {
          headers: GUARDING_HEADERS,
        });
      }),
    )
    .get("/sandbox/messages/:id/html", ({ params }) =>
      withMessage(inbox, params.id, async (_message, raw) => {
        const { html } = await readMessage(raw);
        if (html === null) return faultAnswer(404, { code: "NOT_FOUND", message: "The message has no html part." });
        return answer((await buildMessagePage(html, new Map())).html, "text/html; charset=utf-8", MESSAGE_POLICY);
      }),
    )
    .get("/sandbox/messages/:id/attachments/:n", ({ params }) =>
      withMessage(inbox, params.id, async (_message, raw) => answerAttachment(raw, params.n)),
    )
    .get("/sandbox/messages/:id/raw", ({ params }) =>
      withMessage(inbox, params.id, async (_message, raw) => answer(raw, "text/plain; charset=utf-8", MESSAGE_POLICY)),
    )
    // "none": a body would mean nothing here, and must not be parsed before the guard.
    .delete("/sandbox/messages", () => Response.json({ deleted: deleteAll() }), {
      parse: "none",
    });
  return phone === null ? messages : messages.use(phoneRoutes(phone, getSent));
}

function notStarted(): Response {
  return faultAnswer(503, { code: "UNAVAILABLE", message: "The sandbox is starting." });
}

async function withMessage(
  inbox: Inbox,
  id: string,
  work: (message: StoredMessage, raw: Uint8Array<ArrayBuffer>) => Promise<Response>,
): Promise<Response> {
  const message = /^\d{1,15}$/.test(id) ? inbox.get(id) : null;
  const raw = message === null ? null : inbox.raw(id);
  if (message === null || raw === null) {
    return faultAnswer(404, { code: "NOT_FOUND", message: "No message with this id is in the inbox." });
  }
  return work(message, raw);
}

/** Always as a file to be saved, whatever it says that it is: nothing of a message is shown but its html and text. */
async function answerAttachment(raw: Uint8Array, n: string): Promise<Response> {
  const found = /^\d{1,4}$/.test(n) ? await readAttachment(raw, Number(n)) : null;
  if (found === null) {
    return faultAnswer(404, {
      code: "NOT_FOUND",
      message: "The message has no such attachment; they are counted from 0.",
    });
  }
  const answered = answer(found.content, "application/octet-stream", MESSAGE_POLICY);
  answered.headers.set("content-disposition", formatDisposition(found.filename.toWellFormed()));
  return answered;
}

function listMessages(inbox: Inbox, url: URL): Response {
  const limit = readLimit(url, DEFAULT_LIST_LIMIT, MAX_LIST_LIMIT);
  if (limit instanceof Response) return limit;
  // `?to=ada+tag@…` typed by hand means a plus, which a query string reads as a space.
  const to = url.searchParams.get("to")?.replaceAll(" ", "+");
  const messages = inbox.list({ to, limit });
  const headers = { ...GUARDING_HEADERS, "content-type": "application/json" };
  if (url.searchParams.get("raw") === "false") {
    return new Response(JSON.stringify(messages.map(showInbox)), { headers });
  }
  return new Response(streamWithSources(inbox, messages), { headers });
}

/** A JSON array written message by message: a thousand sources of 25 MB never are in memory at once. */
function streamWithSources(inbox: Inbox, messages: StoredMessage[]): ReadableStream<Uint8Array> {
  const encoder = new TextEncoder();
  const waiting = messages.values();
  let separator = "[";
  return new ReadableStream({
    pull(controller) {
      for (const message of waiting) {
        const raw = inbox.raw(message.id);
        // Emptied, or pushed out by newer mail, since the list was made.
        if (raw === null) continue;
        const item = JSON.stringify({ ...showInbox(message), raw: sourceText(raw) });
        controller.enqueue(encoder.encode(separator + item));
        separator = ",";
        return;
      }
      controller.enqueue(encoder.encode(separator === "[" ? "[]" : "]"));
      controller.close();
    },
  });
}

function wantsRaw(request: Request): boolean {
  return new URL(request.url).searchParams.get("raw") !== "false";
}

function answer(body: string | Uint8Array<ArrayBuffer>, type: string, policy: string): Response {
  return new Response(body, {
    headers: { ...GUARDING_HEADERS, "content-type": type, "content-security-policy": policy },
  });
}
