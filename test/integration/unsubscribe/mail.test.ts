// Mail that unsubscribes (RFC 2369 §3.2): from RCPT to the suppression.

import { expect, setDefaultTimeout, test } from "bun:test";
import { type Instance, startInstance } from "../../support/fakes/instance.ts";
import { openTalk } from "../../support/inbound/kit.ts";
import { sendOfList, suppressionsOf, withPublicUrl } from "../../support/unsubscribe/kit.ts";

setDefaultTimeout(30_000);

const talkTo = (pombo: Instance) => openTalk(Number(pombo.app.inbound?.split(":")[1]));

async function judge(pombo: Instance, recipient: string): Promise<string> {
  using talk = await talkTo(pombo);
  await talk.say("EHLO mx.example.com");
  await talk.say("MAIL FROM:<maria@example.com>");
  return (await talk.say(`RCPT TO:<${recipient}>`)).slice(0, 3);
}

test.each([
  ["an empty message", ""],
  ["words", "From: maria@example.com\r\nSubject: unsubscribe\r\n\r\nBye"],
  ["a message that cannot be read", "\u00ff\u00fe\r\nContent-Type: multipart/mixed; boundary=\r\n\r\n--\r\n"],
])("%s to the address in the header unsubscribes, also twice", async (_, content) => {
  await using pombo = await startInstance({ configure: withPublicUrl });
  const { mail } = await sendOfList(pombo, "news");
  for (const address of [mail, mail.toUpperCase()]) {
    using talk = await talkTo(pombo);
    await talk.message(address);
    expect(await talk.say(`${content}\r\n.`)).toStartWith("250");
    expect(await suppressionsOf(pombo)).toEqual(["maria@example.com unsubscribe news"]);
  }
  expect(
    pombo.events.filter(({ name }) => name === "email.unsubscribed").map(({ fields }) => fields["outcome"]),
  ).toEqual(["unsubscribed", "unsubscribed"]);
  expect((await pombo.operator.call("GET", "/api/v1/operator/inbox")).body.data).toEqual([]);
  expect(pombo.bugs).toEqual([]);
});

test("a forged, foreign or damaged address is no recipient", async () => {
  await using pombo = await startInstance({ configure: withPublicUrl });
  const { mail } = await sendOfList(pombo, "news");
  const [local = "", host = ""] = mail.split("@");
  expect(await judge(pombo, mail)).toBe("250");
  for (const address of [
    `${local.slice(0, -1)}@${host}`,
    `${local.slice(0, -2)}${local.at(-2) === "a" ? "b" : "a"}${local.at(-1)}@${host}`,
    `b${local.slice(1)}@${host}`,
    `${local.slice(2)}@${host}`,
    `${local}@mail.pombo.test`,
    `${local}@bounce.loja.test`,
    `u+${"a".repeat(42)}@${host}`,
    `u+@${host}`,
    `u@${host}`,
  ])
    expect([address, await judge(pombo, address)]).toEqual([address, "550"]);
  expect(await suppressionsOf(pombo)).toEqual([]);
});

test("an email without a list takes the mail, and nothing follows from it", async () => {
  await using pombo = await startInstance({ configure: withPublicUrl });
  const { mail } = await sendOfList(pombo, "news");
  pombo.app.db.sqlite.run("DELETE FROM email_extra");
  using talk = await talkTo(pombo);
  await talk.message(mail);
  expect(await talk.say("Bye\r\n.")).toStartWith("250");
  expect(await suppressionsOf(pombo)).toEqual([]);
});
