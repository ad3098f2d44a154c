// The world broken for one finding at a time: the links to mobile networks, and what is sent over them.

import { type DoctorWorld, NOW, spent, sms as text } from "../world.ts";
import { type Case, DAY_MS, instance, well } from "./kit.ts";

/** `count` more SMS to which something else happened. */
function more(count: number, changes: Parameters<typeof text>[1]) {
  return ({ sms }: DoctorWorld) =>
    void sms.messages.unshift(...Array.from({ length: count }, (_, at) => text(9_000 - at, changes)));
}

const noReceipt = { deliveryState: "pending" as const, receiptAt: null };

export const SMS_CASES = {
  sms_link: [
    well("bound", /1 of 1 links/),
    {
      name: "not bound",
      level: "problem",
      arrange: instance({ links: [{ route: "vodacom", isBound: false, lastEnd: "the bind was refused" }] }),
      seen: /0 of 1 links .* the bind was refused/,
    },
    {
      name: "one of two",
      level: "warning",
      arrange: instance({
        links: [
          { route: "vodacom", isBound: false, lastEnd: null },
          { route: "vodacom", isBound: true, lastEnd: null },
        ],
      }),
      seen: /1 of 2/,
    },
  ],
  sms_senders: [
    well("used", /Each sender id is used/),
    {
      name: "never used",
      level: "warning",
      arrange: ({ sms }) => void (sms.used = {}),
      seen: /No SMS of the workspace w1 came from its sender id Loja, which was added 90 days ago/,
      step: /: pombo sender remove w1 Loja$/,
    },
    {
      name: "not used for long, of several words",
      level: "warning",
      arrange({ sms }) {
        sms.used = { 1: Array.from({ length: 1_000 }, () => "Loja") };
        sms.senders.push({ workspaceId: 1, workspaceUid: "w1", name: "Ana's Loja", createdAt: NOW - 31 * DAY_MS });
      },
      seen: /None of the last 1,000 SMS of the workspace w1 .* Ana's Loja/,
      step: /: pombo sender remove w1 'Ana'\\''s Loja'$/,
    },
    {
      name: "just added",
      level: "ok",
      arrange: ({ sms }) =>
        void sms.senders.push({ workspaceId: 2, workspaceUid: "w2", name: "Nova", createdAt: NOW - DAY_MS }),
      seen: /added in the last 30 days/,
    },
  ],
  sms_receipts: [
    well("all came", /^\+25884, 50 SMS in 7 days: a final receipt came for 100 %, half of them within 4 s/),
    {
      name: "many do not come",
      level: "warning",
      arrange: more(20, noReceipt),
      seen: /\+25884, 70 SMS in 7 days: a final receipt came for 71 %/,
    },
    {
      name: "none comes",
      level: "warning",
      arrange: (world) => {
        world.sms.messages = [];
        more(20, { ...noReceipt, recipient: "+258821234567" })(world);
      },
      seen: /^\+25882, 20 SMS in 7 days: a final receipt came for 0 %\.$/,
    },
    {
      name: "they come late",
      level: "warning",
      arrange: more(60, { receiptAt: NOW - 3_600_000 }),
      seen: /100 %, half of them within 3600 s/,
    },
    {
      name: "that it was not delivered is a receipt",
      level: "ok",
      arrange: more(20, { deliveryState: "undeliverable" }),
      seen: /70 SMS .* 100 %/,
    },
    {
      name: "too few to say",
      level: "ok",
      arrange: (world) => {
        world.sms.messages = [];
        more(19, noReceipt)(world);
      },
      seen: /19 SMS .* 0 %/,
    },
    {
      name: "of a route without receipts",
      level: "ok",
      arrange: more(50, { ...noReceipt, expectsReceipt: 0 }),
      seen: /50 SMS/,
    },
    { name: "not yet taken", level: "ok", arrange: more(50, { ...noReceipt, sentAt: null }), seen: /50 SMS/ },
    { name: "just sent", level: "ok", arrange: more(50, { ...noReceipt, sentAt: NOW - 60_000 }), seen: /50 SMS/ },
    {
      name: "of before",
      level: "ok",
      arrange: ({ sms }) =>
        void sms.messages.push(
          ...Array.from({ length: 50 }, (_, at) => text(500 - at, { ...noReceipt, createdAt: NOW - 8 * DAY_MS })),
        ),
      seen: /50 SMS/,
    },
  ],
  sms_credits: [
    well("enough", /Each workspace has SMS credits/),
    {
      name: "fewer than a week's",
      level: "warning",
      arrange: ({ sms }) => void (sms.workspaces = { 1: { uid: "w1", name: "Loja", balance: 40 } }),
      seen: /Workspace Loja \(w1\) has 40 SMS credits, and used 100 in the last 7 days/,
      step: /: pombo credits grant w1 60$/,
    },
    {
      name: "what was given back was not used, and a grant is no use",
      level: "ok",
      arrange({ sms }) {
        sms.workspaces = { 1: { uid: "w1", name: "Loja", balance: 40 } };
        sms.credits.unshift(spent(2_000, 60, { kind: "refund" }), spent(1_999, -500, { kind: "grant" }));
      },
      seen: /Each workspace/,
    },
    {
      name: "more changes than one look reads count at their pace",
      level: "warning",
      arrange: ({ sms }) =>
        void (sms.credits = Array.from({ length: 30_000 }, (_, at) =>
          spent(90_000 - at, -1, { createdAt: NOW - (DAY_MS * at) / 20_000 }),
        )),
      seen: /has 5,000 SMS credits, and used 140,0\d\d in/,
    },
    {
      name: "of a workspace that is gone",
      level: "ok",
      arrange: ({ sms }) => void (sms.workspaces = {}),
      seen: /Each workspace/,
    },
  ],
} satisfies Record<string, Case[]>;
