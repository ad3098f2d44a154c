// How large a message will be is told by the lengths of its members: never less than it is, and hardly more.

import { expect, test } from "bun:test";
import type { EmailSend } from "../../../../../src/modules/emails/api/schema.ts";
import { stageSend } from "../../../../../src/modules/emails/api/stage-send.ts";
import type { AppError } from "../../../../../src/platform/errors.ts";
import { formatMailbox, type Mailbox } from "../../../../../src/protocols/mime/address.ts";
import { composeMessage, type MessageSource } from "../../../../../src/protocols/mime/compose.ts";
import { HOSTILE, makeShapes } from "../../../../support/mime/shapes.ts";
import { source } from "../../../../support/mime/mailbox.ts";

/** Two signatures and the service's own fields take less. */
const SIGNED_BYTES = 2_560;

function toItem({ from, to, cc, replyTo, subject, text, html, headers, attachments }: MessageSource): EmailSend {
  const format = (mailboxes: Mailbox[]) =>
    mailboxes.map(({ address, displayName }) => formatMailbox(address, displayName));
  return {
    from: formatMailbox(from.address, from.displayName),
    ...{ to: format(to), cc: format(cc), replyTo: format(replyTo), subject },
    ...(html === null ? {} : { html }),
    text: text ?? "",
    headers: Object.fromEntries(headers),
    attachments: attachments.map(({ filename, contentType, contentId, content }) => ({
      ...{ filename, contentType, content: Buffer.from(content).toString("base64") },
      ...(contentId === null ? {} : { contentId }),
    })),
  };
}

/** Whether an email is taken where a message may have so many bytes. */
async function isTaken(item: EmailSend, maxMessageBytes: number): Promise<boolean> {
  const caller = { workspaceId: 1, domainId: null } as never;
  const stage = (_: number, given: unknown[]) => Promise.resolve(given.map(() => ({ id: 1, bytes: 1 })));
  try {
    await stageSend(
      { caller, operation: "emails", items: [item], idempotency: null },
      { stage, settings: { maxMessageBytes } },
    );
    return true;
  } catch (error) {
    expect((error as AppError).code).toBe("VALIDATION_ERROR");
    return false;
  }
}

test.each(Object.entries(HOSTILE))("no message is larger than was told: %s", async (_, hostile) => {
  for (const { name, source: message } of makeShapes(hostile)) {
    if (message.attachments.length === 0) continue;
    const bytes = composeMessage(message).length + SIGNED_BYTES;
    expect([name, await isTaken(toItem(message), bytes - 1)]).toEqual([name, false]);
    expect([name, await isTaken(toItem(message), bytes + 16_384)]).toEqual([name, true]);
  }
});

test("of a large message the guess is within two percent", async () => {
  const content = new Uint8Array(5_000_000);
  const attachment = { filename: "a.bin", contentType: "application/octet-stream", contentId: null, content };
  const message = source({ html: "<p>Olá, João.</p>\n".repeat(2_000), attachments: [attachment] });
  const { length } = composeMessage(message);
  expect(await isTaken(toItem(message), length)).toBe(false);
  expect(await isTaken(toItem(message), length * 1.02)).toBe(true);
});
