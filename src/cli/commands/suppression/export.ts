import type { Suppression } from "../../../modules/suppressions/schema.ts";
import { csvLine } from "../../framework/csv.ts";
import { findWorkspace } from "../../client/find.ts";
import type { Shown, Work } from "../../client/operator-command.ts";
import { CSV_HEADER } from "./file.ts";
import { jsonLine } from "../../framework/text.ts";

/** `pombo suppression export`: page by page, and no faster than the reader takes them. */
export async function exportSuppressions({ api, args, terminal, isJson }: Work): Promise<Shown> {
  const id = await findWorkspace(api, args.argument("WORKSPACE"));
  // RFC 4180: a line ends with CRLF. The terminal adds the LF.
  const line = (fields: readonly string[]) => `${csvLine(fields)}\r`;
  const pages = api.pages<typeof Suppression.static>(`/operator/workspaces/${id}/suppressions`, {
    channel: args.text("channel"),
  });
  let isFirst = true;
  for await (const page of pages) {
    const lines = page.map((each) => (isJson ? jsonLine(each) : line(CSV_HEADER.map((name) => each[name]))));
    if (isFirst && !isJson) lines.unshift(line(CSV_HEADER));
    isFirst = false;
    if (lines.length > 0) terminal.out(lines.join("\n"));
    await terminal.flushed();
  }
  return { kind: "shown" };
}
