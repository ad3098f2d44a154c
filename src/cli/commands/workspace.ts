import type { OperatorWorkspace } from "../../modules/workspaces/operator/schema.ts";
import type { CreatedWorkspace } from "../../modules/workspaces/schema.ts";
import { CommandError } from "../framework/failure.ts";
import { findWorkspace } from "../client/find.ts";
import { list, type OperatorCommand, record, type Work } from "../client/operator-command.ts";
import type { Column } from "../framework/table.ts";
import { count, facts, plain, say, timeText } from "../framework/text.ts";

// `pombo workspace …`: who may send here, and how much.

type Workspace = typeof OperatorWorkspace.static;

const COLUMNS: Column<Workspace>[] = [
  { title: "ID", of: ({ id }) => id },
  { title: "CREATED", of: ({ createdAt }) => createdAt, isTime: true },
  { title: "PLAN", of: ({ plan }) => plan },
  { title: "STATE", of: stateOf },
  { title: "MONTH", of: ({ usage }) => usage.emailsThisMonth },
  { title: "WAITING", of: ({ waiting }) => waiting },
  { title: "NAME", of: ({ name }) => name },
];

/** In one word. */
function stateOf({ blocks }: Workspace): string {
  if (blocks.some(({ holdsQueue }) => holdsQueue)) return "held";
  return blocks.length > 0 ? "blocked" : "open";
}

export const WORKSPACE_COMMANDS: OperatorCommand[] = [
  {
    name: "workspace list",
    about: "Lists the workspaces, newest first, with the emails of this month and those that wait to be sent.",
    async run({ api }) {
      const all = await api.all<Workspace>("/operator/workspaces");
      return list(all, COLUMNS, "There are no workspaces yet. Make one with pombo workspace create NAME.");
    },
  },
  {
    name: "workspace create",
    arguments: ["NAME"],
    options: { plan: { value: "PLAN", about: "one of the configured plans; else the default one" } },
    about: "Makes a workspace and shows its first API key, once.",
    async run({ api, given, isJson }) {
      const plan = given.text("plan");
      const body = { name: given.argument("NAME"), ...(plan === undefined ? {} : { plan }) };
      // Asked before: nothing may come between a key that is shown once and the showing.
      const before = isJson ? [] : await api.all<Workspace>("/operator/workspaces");
      const made = await api.call<typeof CreatedWorkspace.static>("POST", "/workspaces", body);
      const isTwice = before.some(({ name }) => name === made.workspaceName);
      return record(
        made,
        [
          say`Workspace ${made.workspaceName} is made: ${made.workspaceId}`,
          ...(isTwice ? ["Another workspace has this name: from now on each of them is to be named by its id."] : []),
          "",
          keyWords("Its API key", made.apiKey.key),
        ].join("\n"),
      );
    },
  },
  {
    name: "workspace show",
    arguments: ["WORKSPACE"],
    about: "Shows a workspace: its plan, what it uses, and whether it is blocked.",
    async run(work) {
      const workspace = await work.api.call<Workspace>("GET", await pathOf(work));
      return record(workspace, portrait(workspace));
    },
  },
  {
    name: "workspace plan",
    arguments: ["WORKSPACE", "PLAN"],
    about: "Puts a workspace on another plan.",
    async run(work) {
      const workspace = await change(work, { plan: work.given.argument("PLAN") });
      return record(workspace, say`Workspace ${workspace.name} is on plan ${workspace.plan}.`);
    },
  },
  {
    name: "workspace sms",
    arguments: ["WORKSPACE"],
    options: {
      fold: { value: "WORD", about: "none, punctuation or portuguese: what may be replaced to save segments" },
      priority: { value: "WORD", about: "otp, transactional or bulk: how urgent its texts are" },
    },
    about: "Sets or shows how the SMS of a workspace go. Folding may change a word: avó and avô become avo.",
    async run(work) {
      const [smsFolding, smsPriority] = [work.given.text("fold"), work.given.text("priority")];
      const changes = {
        ...(smsFolding === undefined ? {} : { smsFolding }),
        ...(smsPriority === undefined ? {} : { smsPriority }),
      };
      const isAsking = Object.keys(changes).length === 0;
      const workspace = await (isAsking ? work.api.call<Workspace>("GET", await pathOf(work)) : change(work, changes));
      return record(workspace, say`The SMS of workspace ${workspace.name}: ${smsWords(workspace)}.`);
    },
  },
  {
    name: "workspace rename",
    arguments: ["WORKSPACE", "NAME"],
    about: "Gives a workspace another name.",
    async run(work) {
      const workspace = await change(work, { name: work.given.argument("NAME") });
      return record(workspace, say`Workspace ${workspace.id} is called ${workspace.name}.`);
    },
  },
  {
    name: "workspace block",
    arguments: ["WORKSPACE"],
    options: {
      reason: { value: "TEXT", about: "why; the workspace is told" },
      hold: { about: "also hold what it has in the queue" },
    },
    about:
      "Refuses the email and SMS of a workspace until it is unblocked. What was accepted is sent, unless --hold says otherwise.",
    async run(work) {
      const reason = work.given.text("reason");
      const hold = work.given.isSet("hold");
      const body = { ...(reason === undefined ? {} : { reason }), ...(hold ? { hold } : {}) };
      const workspace = await work.api.call<Workspace>("POST", `${await pathOf(work)}/block`, body);
      const queue = hold ? "what it has in the queue is held" : "what was accepted is still sent";
      return record(workspace, say`Workspace ${workspace.name} is blocked; ${queue}.`);
    },
  },
  {
    name: "workspace unblock",
    arguments: ["WORKSPACE"],
    about: "Lifts the operator's block, and the one for too many bounces or complaints.",
    async run(work) {
      const workspace = await work.api.call<Workspace>("POST", `${await pathOf(work)}/unblock`);
      return record(workspace, say`Workspace ${workspace.name} may send again.`);
    },
  },
  {
    name: "workspace delete",
    arguments: ["WORKSPACE"],
    options: { yes: { about: "do it; without this it is only said what would be removed" } },
    about: "Removes a workspace and all that it has: emails, domains, API keys, suppressions.",
    async run(work) {
      const path = await pathOf(work);
      const workspace = await work.api.call<Workspace>("GET", path);
      if (!work.given.isSet("yes")) throw new CommandError(warning(workspace), 2);
      const deleted = await work.api.call<object>("DELETE", path);
      return record(deleted, say`Workspace ${workspace.name} (${workspace.id}) is deleted.`);
    },
  },
];

/** A key that is shown once. */
export function keyWords(what: string, key: string): string {
  return `${what}, shown only now:\n  ${plain(key)}`;
}

async function pathOf({ api, given }: Work): Promise<string> {
  return `/operator/workspaces/${await findWorkspace(api, given.argument("WORKSPACE"))}`;
}

async function change(
  work: Work,
  changes: { name?: string; plan?: string; smsFolding?: string; smsPriority?: string },
): Promise<Workspace> {
  return work.api.call<Workspace>("PATCH", await pathOf(work), changes);
}

function warning({ id, name, usage, waiting, smsCredits }: Workspace): string {
  const lost = [
    count(usage.domains, "domain"),
    count(usage.apiKeys, "API key"),
    `${count(waiting, "email")} that ${waiting === 1 ? "waits" : "wait"} and would not be sent`,
    ...(smsCredits > 0 ? [count(smsCredits, "SMS credit")] : []),
  ];
  return [
    say`This would remove workspace ${name} (${id}) for good: ${lost.join(", ")}, and the record of every message it has sent.`,
    `Nothing was removed. To confirm:\n\n  pombo workspace delete ${id} --yes`,
  ].join(" ");
}

function portrait(workspace: Workspace): string {
  const { usage, senderIds, blocks } = workspace;
  const senders = senderIds.map(({ name, isDefault }) => plain(name) + (isDefault ? " (default)" : ""));
  return [
    plain(workspace.name),
    facts([
      ["ID", workspace.id],
      ["Plan", plain(workspace.plan)],
      ["Created", timeText(workspace.createdAt)],
      ...(blocks.length === 0
        ? [["Sending", "open"] as const]
        : blocks.map((block) => ["Blocked", blockWords(block)] as const)),
      [
        "Emails",
        `${count(usage.emailsToday, "email")} today, ${usage.emailsThisMonth.toLocaleString("en")} this month`,
      ],
      ["Waiting", `${count(workspace.waiting, "email")} to be sent`],
      [
        "SMS",
        `${usage.smsThisMonth.toLocaleString("en")} this month, ${count(workspace.smsCredits, "credit")} left; ${smsWords(workspace)}`,
      ],
      ["Sender ids", senders.length === 0 ? "none" : senders.join(", ")],
      ["Domains", usage.domains.toLocaleString("en")],
      ["API keys", usage.apiKeys.toLocaleString("en")],
      ["Contents", `${(usage.storageBytes / 1024 / 1024).toLocaleString("en", { maximumFractionDigits: 1 })} MiB`],
    ]),
  ].join("\n");
}

function smsWords({ smsPriority, smsFolding }: Workspace): string {
  return `priority ${plain(smsPriority)}, folding ${plain(smsFolding)}`;
}

function blockWords(block: Workspace["blocks"][number]): string {
  const by = block.by === "operator" ? "by the operator" : "for too many bounces or complaints";
  const held = block.holdsQueue ? ", its queue is held" : "";
  const reason = block.reason === null ? "" : `: ${plain(block.reason)}`;
  return `${by} since ${timeText(block.since)}${held}${reason}`;
}
