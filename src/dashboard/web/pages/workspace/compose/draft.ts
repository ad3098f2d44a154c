// An email that is being written.

import type { CallOptions } from "../../../kit.ts";
import { createDrafts, type Draft as AnyDraft } from "../parts/draft.ts";

export type EmailBody = CallOptions<"POST /api/v1/emails">["body"];

export interface Draft extends AnyDraft {
  files: File[];
}

export const drafts = createDrafts(() => ({ files: [] as File[] }));

/** Whether there is something to lose. */
export function isWritten({ values, files }: Draft): boolean {
  return files.length > 0 || ["to", "subject", "text", "html"].some((name) => (values[name] ?? "").trim() !== "");
}

/** Addresses with commas, semicolons or lines between; a comma within quotes is part of a name. */
export function splitAddresses(written = ""): string[] {
  const parts = written.match(/(?:"(?:[^"\\]|\\.)*"|[^,;\n"]|")+/g) ?? [];
  return parts.map((part) => part.trim()).filter((part) => part !== "");
}

/** What the API is sent, without the files. `domain`: where none was chosen. */
export function buildBody({ values }: Draft, domain: string): EmailBody {
  const { fromName = "", from = "", fromDomain = domain, subject = "", html = "", text = "", tag = "" } = values;
  const address = `${from.trim()}@${fromDomain}`;
  const at = new Date(values["sendAt"] ?? "");
  const list = (name: string) => splitAddresses(values[name]);
  const [to, cc, bcc, replyTo] = [list("to"), list("cc"), list("bcc"), list("replyTo")];
  return {
    from: fromName.trim() === "" ? address : `${quoteName(fromName.trim())} <${address}>`,
    // The API tells what is wrong with an empty field.
    to: to.length === 1 ? (to[0] ?? "") : to,
    ...(cc.length === 0 ? {} : { cc }),
    ...(bcc.length === 0 ? {} : { bcc }),
    ...(replyTo.length === 0 ? {} : { replyTo }),
    subject,
    ...(html === "" ? {} : { html }),
    ...(text === "" ? {} : { text }),
    ...(tag === "" ? {} : { tag }),
    ...(Number.isNaN(at.getTime()) ? {} : { sendAt: at.toISOString() }),
  };
}

/** RFC 5322 §3.2.4, where a name has signs of its own meaning. */
function quoteName(name: string): string {
  return /[()<>[\]:;@\\,."]/.test(name) ? `"${name.replaceAll(/["\\]/g, String.raw`\$&`)}"` : name;
}

export async function readFiles(files: File[]): Promise<{ filename: string; content: string }[]> {
  return Promise.all(files.map(async (file) => ({ filename: file.name, content: await readBase64(file) })));
}

function readBase64(file: File): Promise<string> {
  return new Promise((resolve, reject) => {
    const reader = new FileReader();
    reader.addEventListener("load", () => {
      // data:TYPE;base64,CONTENT
      resolve(typeof reader.result === "string" ? reader.result.slice(reader.result.indexOf(",") + 1) : "");
    });
    reader.addEventListener("error", () => reject(reader.error ?? new Error("the file cannot be read")));
    reader.readAsDataURL(file);
  });
}
