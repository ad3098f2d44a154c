import { expect, test } from "bun:test";
import { findReservation, isComposed } from "../../../../src/protocols/mime/reserved-field.ts";

const RESERVED = {
  "is written by the service from the email's other members": [
    "From",
    "to",
    "CC",
    "Reply-to",
    "subject",
    "DATE",
    "Message-Id",
    "MIME-Version",
    "Content-Type",
    "content-anything",
    "Sender",
    "Return-Path",
    "Received",
    "DKIM-Signature",
    "Resent-From",
  ],
  "is written by the service": ["Feedback-ID", "X-Pombo-Trace", "x-pombo-anything"],
  "would show who got a blind copy": ["Bcc", "BCC"],
  "is written by the servers that receive the email": [
    "ARC-Seal",
    "arc-message-signature",
    "Authentication-Results",
    "Received-SPF",
    "Delivered-To",
  ],
};

for (const [reason, names] of Object.entries(RESERVED)) {
  test(`a field of the sender ${reason}: ${names[0]} and others`, () => {
    for (const name of names) expect([name, findReservation(name)]).toEqual([name, reason]);
  });
}

test("other fields are the sender's to write", () => {
  for (const name of [
    "X-Entity-Ref-ID",
    "In-Reply-To",
    "References",
    "List-Unsubscribe",
    "Importance",
    "To-Do",
    "Xfrom",
  ])
    expect([name, findReservation(name)]).toEqual([name, null]);
});

test("the composer takes the fields that the service adds, and refuses those that it writes itself", () => {
  for (const name of ["Feedback-ID", "X-Pombo-Trace"]) expect(isComposed(name)).toBe(false);
  for (const name of ["Bcc", "from", "Content-Type"]) expect(isComposed(name)).toBe(true);
});
