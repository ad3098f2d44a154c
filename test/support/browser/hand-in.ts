// An email as a shop hands it in that speaks SMTP.

import { createTransport } from "nodemailer";
import type { Sandbox } from "../peers/sandbox.ts";
import { PDF } from "./everything.ts";

/** Its id. */
export async function handIn({ submission, apiKey }: Pick<Sandbox, "submission" | "apiKey">): Promise<string> {
  const [host = "", port] = submission.split(":");
  const auth = { user: "pombo", pass: apiKey };
  const { response } = await createTransport({ host, port: Number(port), ignoreTLS: true, auth }).sendMail({
    from: "Loja da Maria <loja@sandbox.test>",
    to: "Telma Cossa <telma@example.com>",
    subject: "A encomenda nº 48213 foi paga",
    html: "<h1>Obrigado, Telma!</h1><p>A fatura vai em anexo.</p>",
    attachments: [{ filename: "fatura nº 48213.pdf", content: PDF, encoding: "base64" }],
    headers: { "X-Pombo-Tag": "paid" },
  });
  return /[\da-f-]{36}/.exec(response)?.[0] ?? "";
}
