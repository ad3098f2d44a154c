// `pombo forget`: erases a recipient from all workspaces, or from one.

import type { Erasure } from "../../modules/recipients/schema.ts";
import { findWorkspace } from "../client/find.ts";
import type { OperatorApi } from "../client/instance-client.ts";
import { type OperatorCommand, record } from "../client/operator-command.ts";
import { readAnswer } from "../framework/answer.ts";
import { CommandError } from "../framework/definition.ts";
import { labelledLines, plain } from "../framework/text.ts";

type Receipt = typeof Erasure.static;

export const forget: OperatorCommand = {
  name: "forget",
  arguments: ["ADDRESS|NUMBER"],
  options: {
    workspace: { value: "ID|NAME", about: "only what belongs to this workspace; by default all of them" },
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
    const receipt = await eraseAll(`/operator/recipients/${encodeURIComponent(recipient)}${query}`, api);
    return record(receipt, describeReceipt(plain(recipient) + where, receipt));
  },
};

/** One request does a part where there is much. */
async function eraseAll(path: string, api: OperatorApi): Promise<Receipt> {
  const total = await api.call<Receipt>("DELETE", path);
  while (!total.complete) {
    const more = await api.call<Receipt>("DELETE", path);
    for (const [name, value] of Object.entries(more))
      Object.assign(total, {
        [name]: typeof value === "number" ? Number(total[name as keyof Receipt]) + value : value,
      });
  }
  return total;
}

/** `whom`: the recipient, and where if not everywhere. */
function describeReceipt(whom: string, receipt: Receipt): string {
  const counts: [label: string, count: number][] = [
    ["Emails", receipt.emails],
    ["Emails canceled", receipt.canceledEmails],
    ["SMS", receipt.sms],
    ["SMS canceled", receipt.canceledSms],
    ["In flight", receipt.inFlight],
    ["SMS received", receipt.inboundSms],
    ["Events", receipt.events],
    ["Webhook calls", receipt.webhookCalls],
    ["Suppressions", receipt.suppressions],
    ["Inbox", receipt.inboxMails],
  ];
  if (counts.every(([, count]) => count === 0)) return `Nothing is stored about ${whom}.`;
  const lines = labelledLines(counts.map(([label, count]) => [label, String(count)]));
  const running =
    receipt.inFlight === 0 ? "" : "\n\nWhat is in flight ends with its attempt; nothing of it is tried again.";
  return `${whom} is erased, at ${receipt.erasedAt}:\n\n${lines}${running}`;
}
