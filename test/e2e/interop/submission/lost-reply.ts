// A connection that breaks after the final dot, before the 250 has come: Postfix keeps the message and hands it in again.
// pombo answers with the first 250, and each recipient gets the message once.

import { mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import type { Api, Body } from "../../../support/peers/pombo.ts";
import { waitUntil } from "../../../support/peers/process.ts";
import type { Checks } from "../checks.ts";
import { waitForStatus } from "../delivery.ts";
import { MX_DOMAIN, type Mx } from "../mx.ts";
import { fieldsOf } from "../received.ts";
import { writeRaw } from "./commands.ts";
import type { CuttingProxy } from "./cutting-proxy.ts";
import { buildMessages, usersOf } from "./messages.ts";
import type { PostfixClient } from "./postfix-client.ts";

const PEER = "lost-reply";
export const LOST_REPLY_USERS = usersOf(PEER);
/** More than what comes before DATA in both directions, less than the message. */
export const HOLD_AFTER_BYTES = 20_000;
const TEXT_LINES = 800;
const TIMEOUT_MS = 20_000;
/** A second copy would be there by then. */
const SECOND_COPY_MS = 1_000;

export async function checkLostReply(options: {
  folder: string;
  api: Api;
  mx: Mx;
  checks: Checks;
  client: PostfixClient;
  proxy: CuttingProxy;
}): Promise<void> {
  const { api, mx, checks, client, proxy } = options;
  const file = await writeMessage(options.folder);
  await client.send(file, "cut");
  let listed: Body[] = [];
  await waitUntil("pombo lists what was handed in", TIMEOUT_MS, async () => {
    listed = await list(api);
    return listed.length > 0 && proxy.heldBack() > 0;
  });
  checks.equal("Postfix, the 250 is lost: each recipient has an email", listed.length, LOST_REPLY_USERS.length);
  proxy.cut();
  await waitUntil("Postfix defers it", TIMEOUT_MS, () => client.postfix.log().includes("status=deferred"));
  checks.claim(
    "Postfix, the 250 is lost: it does not know what became of it",
    /message may be sent more than once/.test(client.postfix.log()),
    () => client.postfix.log().slice(-1500),
  );
  const logged = client.postfix.log().length;
  await client.flushUntilSent();
  const ids = listed.map(({ id }) => id as string);
  const reply = /250 2\.0\.0 Accepted: ([0-9a-f-]{36})/.exec(client.postfix.log().slice(logged))?.[1] ?? "";
  const { groupId } = await waitForStatus(api, ids[0] ?? "", ["delivered", "bounced", "failed"]);
  checks.equal("Postfix, the 250 is lost: it gets the first one", reply, groupId);
  for (const id of ids) await waitForStatus(api, id, ["delivered"]);
  await Bun.sleep(SECOND_COPY_MS);
  checks.equal("Postfix, the 250 is lost: no further emails", (await list(api)).length, LOST_REPLY_USERS.length);
  const copies = await Promise.all(LOST_REPLY_USERS.map((user) => mx.allMailOf(user, 1)));
  const counts = copies.map((each) => each.length);
  checks.equal(
    "Postfix, the 250 is lost: each recipient gets it once",
    counts,
    counts.map(() => 1),
  );
  checkUnchanged(checks, readFileSync(file, "latin1"), copies[0]?.[0] ?? Buffer.alloc(0));
}

/** Text, html and an attachment, of 7 bits and short lines: nothing is to be changed. */
function checkUnchanged(checks: Checks, written: string, arrived: Buffer): void {
  const [, id] = /^Message-ID: (.*)$/im.exec(written) ?? [];
  checks.equal("Postfix: its Message-ID stays", fieldsOf(arrived, "Message-ID"), [id]);
  const bodyOf = (text: string): string => text.slice(text.indexOf("\n\n") + 2);
  const body = bodyOf(arrived.toString("latin1").replaceAll("\r\n", "\n"));
  checks.equal("Postfix: its body comes as it was", body, bodyOf(written));
}

async function writeMessage(folder: string): Promise<string> {
  const place = join(folder, PEER);
  mkdirSync(place);
  const messages = buildMessages({ folder, peer: PEER, mode: "cut" });
  const several = messages.find(({ key }) => key === "cut-several");
  const { attachments } = messages.find(({ key }) => key === "cut-attachment") ?? {};
  const lines = Array.from({ length: TEXT_LINES }, (_, i) => `Line ${i}: nothing in it is beyond ASCII, 7 bits.\n`);
  const file = join(place, "messages.json");
  const parts = { text: lines.join(""), html: `<p>${lines.join("<br>\n")}</p>\n`, attachments };
  writeFileSync(file, JSON.stringify([{ ...several, ...parts }]));
  return join(await writeRaw(file, place), "cut-several.eml");
}

/** The emails to its recipients. */
async function list(api: Api): Promise<Body[]> {
  const found = await Promise.all(
    LOST_REPLY_USERS.map(async (user) => (await api.expect(200, "GET", `/api/v1/emails?to=${toAddress(user)}`)).data),
  );
  return found.flat();
}

function toAddress(user: string): string {
  return encodeURIComponent(`${user}@${MX_DOMAIN}`);
}
