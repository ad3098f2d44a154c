// `pombo forget`: erases a recipient from all workspaces, or from one.

import type { Erasure as ErasureSchema } from "../../modules/recipients/schema.ts";
import { findWorkspace } from "../client/find.ts";
import type { OperatorApi } from "../client/instance-client.ts";
import { type OperatorCommand, record } from "../client/operator-command.ts";
import { readAnswer } from "../framework/answer.ts";
import { CommandError } from "../framework/definition.ts";
import { labelledLines, plain } from "../framework/text.ts";

type Erasure = typeof ErasureSchema.static;

export const forget: OperatorCommand = {
  name: "forget",
  arguments: ["ADDRESS|NUMBER"],
  options: {
    workspace: { value: "WORKSPACE", about: "only the records of this workspace (all workspaces)" },
    yes: { about: "do not ask for confirmation" },
  },
  about:
    "Erase a recipient: cancel what waits for it, and replace its address and contents wherever they are stored. " +
    "Suppressions go on blocking it. Backups keep it for their retention. On a terminal it asks first.",
  async run({ api, args, terminal }) {
    const recipient = args.argument("ADDRESS|NUMBER");
    const given = args.text("workspace");
    const query = given === undefined ? "" : `?workspace=${await findWorkspace(api, given)}`;
    const where = given === undefined ? "" : ` in workspace ${plain(given)}`;
    if (terminal.isInteractive && !args.isSet("yes")) {
      terminal.err(
        `This erases ${plain(recipient)}${where || " in all workspaces"} for good, and cancels what waits for it.\nType yes to erase it:`,
      );
      if ((await readAnswer(terminal)) !== "yes") throw new CommandError("Nothing was erased.", 2);
    }
    const erasure = await eraseAll(`/operator/recipients/${encodeURIComponent(recipient)}${query}`, api);
    return record(erasure, describeErasure(plain(recipient) + where, erasure));
  },
};

/** Repeats the request until all is erased. */
async function eraseAll(path: string, api: OperatorApi): Promise<Erasure> {
  const total = await api.call<Erasure>("DELETE", path);
  while (!total.complete) {
    const more = await api.call<Erasure>("DELETE", path);
    for (const [name, value] of Object.entries(more))
      Object.assign(total, {
        [name]: typeof value === "number" ? Number(total[name as keyof Erasure]) + value : value,
      });
  }
  return total;
}

/** `whom`: the recipient, and where if not everywhere. */
function describeErasure(whom: string, erasure: Erasure): string {
  const counts: [label: string, count: number][] = [
    ["Emails", erasure.emails],
    ["Emails canceled", erasure.canceledEmails],
    ["SMS", erasure.sms],
    ["SMS canceled", erasure.canceledSms],
    ["In flight", erasure.inFlight],
    ["SMS received", erasure.inboundSms],
    ["Events", erasure.events],
    ["Webhook calls", erasure.webhookCalls],
    ["Suppressions", erasure.suppressions],
    ["Inbox", erasure.inboxMails],
  ];
  if (counts.every(([, count]) => count === 0)) return `Nothing is stored about ${whom}.`;
  const lines = labelledLines(counts.map(([label, count]) => [label, String(count)]));
  const running =
    erasure.inFlight === 0 ? "" : "\n\nWhat is in flight ends with its attempt; nothing of it is tried again.";
  return `${whom} is erased, at ${erasure.erasedAt}:\n\n${lines}${running}`;
}
