import type { CreditEntry, GrantedCredits } from "../../modules/workspaces/operator/schema.ts";
import { UsageError } from "../framework/failure.ts";
import { findWorkspace } from "../client/find.ts";
import { list, type OperatorCommand, record } from "../client/operator-command.ts";
import type { Column } from "../framework/table.ts";
import { count, say } from "../framework/text.ts";

// `pombo credits …`: what a workspace may spend on SMS.

type Granted = typeof GrantedCredits.static;
type Movement = typeof CreditEntry.static;

const COLUMNS: Column<Movement>[] = [
  { title: "TIME", of: ({ createdAt }) => createdAt, isTime: true },
  { title: "KIND", of: ({ kind }) => kind },
  { title: "AMOUNT", of: ({ amount }) => amount },
  { title: "SEGMENTS", of: ({ segments }) => segments },
  { title: "SMS", of: ({ smsId }) => smsId },
  { title: "NOTE", of: ({ note }) => note },
];

export const CREDITS_COMMANDS: OperatorCommand[] = [
  {
    name: "credits add",
    arguments: ["WORKSPACE", "AMOUNT"],
    options: { note: { value: "TEXT", about: "what they are for, as an invoice's number" } },
    about: "Gives a workspace SMS credits; a negative amount takes them away.",
    async run({ api, given }) {
      const amount = amountOf(given.argument("AMOUNT"));
      const note = given.text("note");
      const id = await findWorkspace(api, given.argument("WORKSPACE"));
      const body = { amount, ...(note === undefined ? {} : { note }) };
      const added = await api.call<Granted>("POST", `/operator/workspaces/${id}/credits`, body);
      const done = amount > 0 ? `${count(amount, "credit")} added` : `${count(-amount, "credit")} taken`;
      return record(added, say`${done}: workspace ${id} has ${count(added.balance, "credit")}.`);
    },
  },
  {
    name: "credits list",
    arguments: ["WORKSPACE"],
    about: "Lists what was added to and taken from a workspace's SMS credits, newest first.",
    async run({ api, given }) {
      const id = await findWorkspace(api, given.argument("WORKSPACE"));
      const all = await api.all<Movement>(`/operator/workspaces/${id}/credits`);
      return list(
        all,
        COLUMNS,
        "This workspace never had SMS credits. Add some with pombo credits add WORKSPACE AMOUNT.",
      );
    },
  },
];

function amountOf(text: string): number {
  const amount = /^[+-]?\d{1,15}$/.test(text) ? Number(text) : 0;
  if (amount !== 0) return amount;
  throw new UsageError(`AMOUNT must be a whole number and not 0, not ${JSON.stringify(text)}.`);
}
