import { Elysia } from "elysia";
import { Type } from "@sinclair/typebox";
import { memberCaller } from "../../../platform/http/auth.ts";
import { notFound } from "../../../platform/http/errors.ts";
import { jsonBody } from "../../../platform/http/body/validate.ts";
import { answers, describe } from "../../../platform/http/openapi.ts";
import { uuid } from "../../../platform/http/request-schemas.ts";
import { toIsoTime } from "../../../platform/http/times.ts";
import { contentHidden, type MayReadContent } from "../../workspaces/read-content.ts";
import { noSuchEmail } from "../api/routes.ts";
import type { AttachmentStore } from "../attachments/store.ts";
import type { EmailStore } from "../store/store.ts";
import type { ReadContent } from "../submitted/show.ts";
import { readInlineImages } from "./inline-images.ts";
import { buildMessagePage, type MessagePage } from "./page.ts";
import { HtmlPreview, PreviewTicket } from "./schema.ts";
import type { PreviewTickets } from "./tickets.ts";

export interface PreviewDeps {
  emails: Pick<EmailStore, "findState" | "findRecord">;
  attachments: Pick<AttachmentStore, "listOf" | "findFile" | "readPiece">;
  mayReadContent: MayReadContent;
  readContent: ReadContent;
  tickets: PreviewTickets;
}

const NO_IMAGES = new Map<string, string>();

export function previewRoutes(deps: PreviewDeps) {
  const { tickets } = deps;
  /** Tells what is in it now; its html is made anew when it is shown, so that no ticket holds it. */
  const issue = async (request: Request, build: () => Promise<MessagePage>) => {
    const { links, moreLinks, remote } = await build();
    const { path, expiresAt } = tickets.issue(request, async () => (await build()).html);
    return { data: { path, expiresAt: toIsoTime(expiresAt), links, moreLinks, remote } };
  };
  return new Elysia({ name: "previews", prefix: "/api/v1" })
    .post(
      "/emails/:id/preview",
      ({ request, params }) => {
        const caller = memberCaller(request);
        return issue(request, async () => {
          const scope = { workspaceId: caller.workspaceId, domainId: null };
          const uid = params.id.toLowerCase();
          if (deps.emails.findState(scope, uid) === undefined) throw noSuchEmail();
          if (!(await deps.mayReadContent(request))) throw contentHidden();
          const found = deps.emails.findRecord(scope, uid);
          if (found === undefined) throw noSuchEmail();
          const { email, body } = found;
          const html = body === null ? null : (await deps.readContent(body)).html;
          if (html === null) throw noHtml();
          return buildMessagePage(html, await readInlineImages(email.groupId ?? email.id, deps.attachments));
        });
      },
      {
        params: Type.Object({ id: uuid() }),
        detail: describe({
          id: "previewEmail",
          tag: "Emails",
          summary: "Look at an email's html, as the dashboard does",
          description:
            "Only for people who are signed in. The answer has an address that shows the html once, within a minute, to the same person: " +
            "nothing of it runs, and nothing is loaded from elsewhere. Beside it what it would load, and where its links lead.",
          responses: answers(200, PreviewTicket, [401, 403, 404, 422, 503]),
        }),
      },
    )
    .post(
      "/workspace/preview",
      ({ request, body }) => {
        const packed = Bun.zstdCompressSync(body.html);
        const unpack = () => Bun.zstdDecompressSync(packed).toString();
        return issue(request, () => buildMessagePage(unpack(), NO_IMAGES));
      },
      {
        ...jsonBody(HtmlPreview),
        detail: describe({
          id: "previewHtml",
          tag: "Emails",
          summary: "Look at the html of an email before it is sent",
          description:
            "Only for people who are signed in. As for an email that was sent; images of attachments are not shown.",
          responses: answers(200, PreviewTicket, [400, 403, 413, 415, 422]),
        }),
      },
    );
}

function noHtml() {
  return notFound(
    "This email has no html",
    "It was sent without, or the operator keeps contents no longer ([email] content_retention).",
  );
}
