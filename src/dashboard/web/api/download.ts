// Saves a file of the API on the person's disk.

import { buildScope, readError, send } from "./client.ts";

const SAVED_MS = 60_000;

/** A plain link could not ask for it: the workspace stands in a header field. Throws ApiError. */
export async function download(path: string, filename: string): Promise<void> {
  const response = await send(path, { headers: buildScope(path), credentials: "same-origin" });
  if (!response.ok) throw await readError(response);
  const address = URL.createObjectURL(await response.blob());
  const link = document.createElement("a");
  link.href = address;
  link.download = filename;
  link.click();
  // Some browsers read it after this.
  setTimeout(() => URL.revokeObjectURL(address), SAVED_MS);
}
