// An email with everything that an email can carry: copies, an inline image, a file, a tag, a list.

/** A small picture: a green square of 8 × 8. */
const LOGO = "iVBORw0KGgoAAAANSUhEUgAAAAgAAAAICAIAAABLbSncAAAAEUlEQVR42mOQyMrGihiGlgQAEmE7QXtg2dQAAAAASUVORK5CYII=";

/** A PDF of one empty page. */
export const PDF = Buffer.from(
  "%PDF-1.4\n1 0 obj<</Type/Catalog/Pages 2 0 R>>endobj\n2 0 obj<</Type/Pages/Kids[3 0 R]/Count 1>>endobj\n" +
    "3 0 obj<</Type/Page/Parent 2 0 R/MediaBox[0 0 595 842]>>endobj\ntrailer<</Root 1 0 R>>\n%%EOF\n",
).toString("base64");

export const EVERYTHING = {
  from: "Loja da Maria <loja@sandbox.test>",
  to: ["Ana Silva <ana@example.com>", "rui@example.com"],
  cc: "Contas <contas@example.com>",
  bcc: "arquivo@example.com",
  replyTo: ["Ajuda <ajuda@sandbox.test>", "loja@sandbox.test"],
  subject: "O seu recibo nº 4711",
  html: `<img src="cid:logo" alt="Loja" width="48" height="48"><h1>Obrigado, Ana!</h1><p>O recibo vai em anexo.</p><p><a href="{{unsubscribe_url}}">Não quero mais novidades</a></p>`,
  headers: { "X-Order": "4711" },
  attachments: [
    { filename: "logo.png", content: LOGO, contentId: "logo" },
    { filename: "recibo nº 4711.pdf", content: PDF },
  ],
  tag: "receipt",
  metadata: { order: "4711", shop: "Matola" },
  unsubscribe: { list: "novidades" },
};

export interface AcceptedGroup {
  id: string;
  recipients: { id: string; address: string; kind: string }[];
}

/** Sends it, with these members changed. */
export async function sendEverything(
  { url, apiKey }: { url: string; apiKey: string },
  changes: object = {},
): Promise<AcceptedGroup> {
  const headers = { "x-api-key": apiKey, "content-type": "application/json" };
  const body = JSON.stringify({ ...EVERYTHING, ...changes });
  const answer = await fetch(`${url}/api/v1/emails`, { method: "POST", headers, body });
  if (answer.status !== 202) throw new Error(`${answer.status} ${await answer.text()}`);
  return ((await answer.json()) as { data: AcceptedGroup }).data;
}
