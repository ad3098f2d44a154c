// Emails of a list in a whole instance, and the addresses by which their recipients unsubscribe.

import type { Config } from "../../../src/config/config.ts";
import { loadInstanceKey } from "../../../src/platform/keyring/key-file.ts";
import { openKeyring } from "../../../src/platform/keyring/keyring.ts";
import { systemRandom } from "../../../src/platform/random.ts";
import { createUnsubscribeLinks } from "../../../src/modules/unsubscribe/links.ts";
import type { Answer, Instance } from "../fakes/instance.ts";
import { send } from "../api/one-email.ts";

export const PUBLIC = "https://mail.pombo.example";
const BOUNCE_HOST = "bounce.pombo.test";

/** For `startInstance`. */
export function withPublicUrl(config: Config): void {
  config.http.publicUrl = PUBLIC;
  config.email.bounceHost = BOUNCE_HOST;
}

export interface Listed {
  id: string;
  /** Of its page, without the origin. */
  path: string;
  mail: string;
}

/** Sends an email of a list. */
export async function sendOfList(
  pombo: Instance,
  list: string,
  changes: Record<string, unknown> = {},
): Promise<Listed> {
  const id = await send(pombo, { unsubscribe: { list }, ...changes });
  const instanceKey = loadInstanceKey({ file: pombo.config.secrets.instanceKeyFile, env: {} });
  const key = openKeyring(instanceKey, systemRandom).hmacKey("unsubscribe");
  const made = createUnsubscribeLinks({ findOrigin: () => PUBLIC, mailHost: BOUNCE_HOST, key }).build(id);
  return { id, path: made?.url.slice(PUBLIC.length) ?? "", mail: made?.mail ?? "" };
}

/** A request as a stranger sends it: no key, no cookie, and nothing is followed. */
export function ask(pombo: Instance, path: string, init: RequestInit = {}): Promise<Response> {
  return fetch(pombo.app.url + path, { redirect: "manual", ...init });
}

/** The suppressions of the workspace: address, reason and list. */
export async function suppressionsOf(pombo: Instance): Promise<string[]> {
  const { body }: Answer = await pombo.workspace.call("GET", "/api/v1/suppressions");
  return body.data.map(({ address, reason, list }: Record<string, string | null>) => `${address} ${reason} ${list}`);
}
