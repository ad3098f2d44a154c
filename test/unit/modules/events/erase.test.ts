import { expect, test } from "bun:test";
import { eraseEventBody } from "../../../../src/modules/events/erase.ts";

const HEAD = { timestamp: "2026-11-21T12:00:00.000Z", workspaceId: "w" };
const erase = (type: string, data: object) => JSON.parse(eraseEventBody(JSON.stringify({ type, ...HEAD, data })));

test("an email's event loses recipient, subject and servers' words, and nothing else", () => {
  const kept = {
    id: "e",
    from: "Loja <a@b.example>",
    status: "bounced",
    replyTo: "a@b.example",
    bounce: { mx: "mx.test" },
  };
  const said = { to: "maria@example.com", subject: "Olá Maria", failedReason: "550 maria@", lastReply: null };
  expect(erase("email.bounced", { ...kept, ...said })).toEqual({
    ...{ type: "email.bounced", ...HEAD },
    data: { ...kept, to: "erased@erased.invalid", subject: "[erased]", failedReason: "[erased]", lastReply: null },
  });
});

test("of an SMS the number; of one received its sender and body, and not our number; of a suppression the address", () => {
  expect(erase("sms.sent", { to: "+258841234567", from: "Loja" }).data).toEqual({ to: "+99900000000", from: "Loja" });
  expect(erase("sms.received", { to: "84000", from: "+258841234567", body: "Sim" }).data).toEqual({
    ...{ to: "84000", from: "+99900000000", body: "[erased]" },
  });
  expect(erase("suppression.created", { address: "a@b.example", channel: "email" }).data).toEqual({
    ...{ address: "erased@erased.invalid", channel: "email" },
  });
  expect(erase("suppression.deleted", { address: "+258841234567", channel: "sms" }).data.address).toBe("+99900000000");
});

test("erased twice, it is the same", () => {
  const once = eraseEventBody(
    JSON.stringify({ type: "email.sent", ...HEAD, data: { to: "a@b.example", subject: "x" } }),
  );
  expect(eraseEventBody(once)).toBe(once);
});
