// `pombo credits …`: the SMS credits of a workspace.

import type { GrantedCredits } from "../../modules/workspaces/operator/schema.ts";
import type { CreditEntry } from "../../modules/workspaces/schema.ts";
import { UsageError } from "../framework/definition.ts";
import { findWorkspace } from "../client/find.ts";
import { list, type OperatorCommand, record, type Shown, type Work } from "../client/operator-command.ts";
import type { Column } from "../framework/table.ts";
import { count, say } from "../framework/text.ts";

type Entry = typeof CreditEntry.static;

const COLUMNS: Column<Entry>[] = [
  { title: "TIME", of: ({ createdAt }) => createdAt, kind: "time" },
  { title: "KIND", of: ({ kind }) => kind },
  { title: "AMOUNT", of: ({ amount }) => amount },
  { title: "SEGMENTS", of: ({ segments }) => segments },
  { title: "SMS", of: ({ smsId }) => smsId, kind: "message" },
  { title: "NOTE", of: ({ note }) => note, kind: "prose" },
];

const CHANGE = {
  arguments: ["WORKSPACE", "AMOUNT"],
  options: { note: { value: "TEXT", about: "the reason, such as an invoice's number" } },
};

export const CREDITS_COMMANDS: OperatorCommand[] = [
  {
    name: "credits grant",
    ...CHANGE,
    about: "Add SMS credits to a workspace.",
    run: (work) => change(work, 1),
  },
  {
    name: "credits deduct",
    ...CHANGE,
    about: "Take SMS credits from a workspace. A balance never falls below 0.",
    run: (work) => change(work, -1),
  },
  {
    name: "credits list",
    arguments: ["WORKSPACE"],
    about: "List all changes of a workspace's SMS credits, newest first.",
    async run({ api, args }) {
      const id = await findWorkspace(api, args.argument("WORKSPACE"));
      const all = await api.all<Entry>(`/operator/workspaces/${id}/credits`);
      return list(
        all,
        COLUMNS,
        "This workspace never had SMS credits. Grant some with pombo credits grant WORKSPACE AMOUNT.",
      );
    },
  },
];

async function change({ api, args }: Work, sign: 1 | -1): Promise<Shown> {
  const amount = parseAmount(args.argument("AMOUNT"));
  const id = await findWorkspace(api, args.argument("WORKSPACE"));
  const body = { amount: sign * amount, note: args.text("note") };
  const changed = await api.call<typeof GrantedCredits.static>("POST", `/operator/workspaces/${id}/credits`, body);
  const done = `${count(amount, "credit")} ${sign > 0 ? "granted" : "deducted"}`;
  return record(changed, say`${done}: workspace ${id} has ${count(changed.balance, "credit")}.`);
}

function parseAmount(text: string): number {
  const amount = /^\d{1,15}$/.test(text) ? Number(text) : 0;
  if (amount > 0) return amount;
  throw new UsageError(`AMOUNT must be a whole number above 0, not ${JSON.stringify(text)}.`);
}
