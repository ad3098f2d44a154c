// `pombo workspace …`: the tenants of the instance.

import type { OperatorWorkspace } from "../../modules/workspaces/operator/schema.ts";
import type { CreatedWorkspace } from "../../modules/workspaces/schema.ts";
import { CommandError } from "../framework/definition.ts";
import { findWorkspace } from "../client/find.ts";
import { list, type OperatorCommand, record, type Work } from "../client/operator-command.ts";
import type { Column } from "../framework/table.ts";
import { count, labelledLines, plain, say, timeText } from "../framework/text.ts";

type Workspace = typeof OperatorWorkspace.static;

const COLUMNS: Column<Workspace>[] = [
  { title: "ID", of: ({ id }) => id, kind: "id" },
  { title: "NAME", of: ({ name }) => name },
  { title: "PLAN", of: ({ plan }) => plan },
  { title: "STATE", of: toState, kind: "status" },
  { title: "MONTH", of: ({ usage }) => usage.emailsThisMonth },
  { title: "WAITING", of: ({ waiting }) => waiting },
  { title: "CREATED", of: ({ createdAt }) => createdAt, kind: "time" },
];

function toState({ blocks }: Workspace): string {
  if (blocks.some(({ holdsQueue }) => holdsQueue)) return "held";
  return blocks.length > 0 ? "blocked" : "open";
}

export const WORKSPACE_COMMANDS: OperatorCommand[] = [
  {
    name: "workspace list",
    about: "List the workspaces, newest first, with the emails of this month and those waiting to be sent.",
    async run({ api }) {
      const all = await api.all<Workspace>("/operator/workspaces");
      return list(all, COLUMNS, "There are no workspaces yet. Create one with pombo workspace create NAME.");
    },
  },
  {
    name: "workspace create",
    arguments: ["NAME"],
    options: { plan: { value: "PLAN", about: "one of the configured plans (the default plan)" } },
    about: "Create a workspace, and show its first API key once.",
    async run({ api, args, isJson }) {
      const body = { name: args.argument("NAME"), plan: args.text("plan") };
      // Asked first: once the key exists, nothing may fail before it is shown.
      const before = isJson ? [] : await api.all<Workspace>("/operator/workspaces");
      const created = await api.call<typeof CreatedWorkspace.static>("POST", "/workspaces", body);
      const isTwice = before.some(({ name }) => name === created.workspaceName);
      return record(
        created,
        [
          say`Workspace ${created.workspaceName} is created: ${created.workspaceId}`,
          ...(isTwice ? ["Another workspace has this name: from now on, use the ids in commands."] : []),
          "",
          formatKey("Its API key", created.apiKey.key),
        ].join("\n"),
      );
    },
  },
  {
    name: "workspace show",
    arguments: ["WORKSPACE"],
    about: "Show a workspace: its plan, what it uses, and whether it is blocked.",
    async run(work) {
      const workspace = await work.api.call<Workspace>("GET", await workspacePath(work));
      return record(workspace, formatWorkspace(workspace));
    },
  },
  {
    name: "workspace plan",
    arguments: ["WORKSPACE", "PLAN"],
    about: "Change the plan of a workspace.",
    async run(work) {
      const workspace = await change(work, { plan: work.args.argument("PLAN") });
      return record(workspace, say`Workspace ${workspace.name} is on plan ${workspace.plan}.`);
    },
  },
  {
    name: "workspace sms",
    arguments: ["WORKSPACE"],
    options: {
      transliterate: {
        value: "MODE",
        about: "none, punctuation or portuguese: the characters that may be replaced to save segments",
      },
      fold: { value: "MODE", refusal: "--fold is now called --transliterate." },
      priority: { value: "PRIORITY", about: "otp, transactional or bulk: the default urgency of its SMS" },
    },
    about: "Show or change how a workspace's SMS are sent. Transliteration may change a word: avó and avô become avo.",
    async run(work) {
      const changes = { smsFolding: work.args.text("transliterate"), smsPriority: work.args.text("priority") };
      const isQuery = Object.values(changes).every((value) => value === undefined);
      const workspace = await (isQuery
        ? work.api.call<Workspace>("GET", await workspacePath(work))
        : change(work, changes));
      return record(workspace, say`SMS of workspace ${workspace.name}: ${formatSmsSettings(workspace)}.`);
    },
  },
  {
    name: "workspace rename",
    arguments: ["WORKSPACE", "NAME"],
    about: "Rename a workspace.",
    async run(work) {
      const workspace = await change(work, { name: work.args.argument("NAME") });
      return record(workspace, say`Workspace ${workspace.id} is now called ${workspace.name}.`);
    },
  },
  {
    name: "workspace block",
    arguments: ["WORKSPACE"],
    options: {
      reason: { value: "TEXT", about: "the reason; the workspace sees it" },
      hold: { about: "also hold the messages in its queue" },
    },
    about:
      "Refuse new email and SMS of a workspace until it is unblocked. Accepted messages are still sent, except with --hold.",
    async run(work) {
      const hold = work.args.isSet("hold");
      const body = { reason: work.args.text("reason"), hold: hold || undefined };
      const workspace = await work.api.call<Workspace>("POST", `${await workspacePath(work)}/block`, body);
      const queue = hold ? "its queue is held" : "accepted messages are still sent";
      return record(workspace, say`Workspace ${workspace.name} is blocked; ${queue}.`);
    },
  },
  {
    name: "workspace unblock",
    arguments: ["WORKSPACE"],
    about: "Lift all blocks of a workspace: the operator's, and one for too many bounces or complaints.",
    async run(work) {
      const workspace = await work.api.call<Workspace>("POST", `${await workspacePath(work)}/unblock`);
      return record(workspace, say`Workspace ${workspace.name} may send again.`);
    },
  },
  {
    name: "workspace delete",
    arguments: ["WORKSPACE"],
    options: { yes: { about: "confirm; without it the command only shows what would be removed" } },
    about: "Delete a workspace with its emails, domains, API keys and suppressions.",
    async run(work) {
      const path = await workspacePath(work);
      const workspace = await work.api.call<Workspace>("GET", path);
      if (!work.args.isSet("yes")) throw new CommandError(formatWarning(workspace), 2);
      const deleted = await work.api.call<object>("DELETE", path);
      return record(deleted, say`Workspace ${workspace.name} (${workspace.id}) is deleted.`);
    },
  },
];

/** A key that is shown once. */
export function formatKey(what: string, key: string): string {
  return `${what}, shown only now:\n  ${plain(key)}`;
}

async function workspacePath({ api, args }: Work): Promise<string> {
  return `/operator/workspaces/${await findWorkspace(api, args.argument("WORKSPACE"))}`;
}

async function change(work: Work, changes: object): Promise<Workspace> {
  return work.api.call<Workspace>("PATCH", await workspacePath(work), changes);
}

function formatWarning({ id, name, usage, waiting, smsCredits }: Workspace): string {
  const lost = [
    count(usage.domains, "domain"),
    count(usage.apiKeys, "API key"),
    count(waiting, "waiting email"),
    ...(smsCredits > 0 ? [count(smsCredits, "SMS credit")] : []),
  ];
  return [
    say`This deletes workspace ${name} (${id}) for good: ${lost.join(", ")}, and the records of all its messages.`,
    `Nothing was deleted. To confirm:\n\n  pombo workspace delete ${id} --yes`,
  ].join(" ");
}

function formatWorkspace(workspace: Workspace): string {
  const { usage, senderIds, blocks } = workspace;
  const senders = senderIds.map(({ name, isDefault }) => plain(name) + (isDefault ? " (default)" : ""));
  return [
    plain(workspace.name),
    labelledLines([
      ["ID", workspace.id],
      ["Plan", plain(workspace.plan)],
      ["Created", timeText(workspace.createdAt)],
      ...(blocks.length === 0
        ? [["Sending", "open"] as const]
        : blocks.map((block) => ["Blocked", formatBlock(block)] as const)),
      [
        "Emails",
        `${count(usage.emailsToday, "email")} today, ${usage.emailsThisMonth.toLocaleString("en")} this month`,
      ],
      ["Waiting", count(workspace.waiting, "email")],
      [
        "SMS",
        `${usage.smsThisMonth.toLocaleString("en")} this month, ${count(workspace.smsCredits, "credit")} left; ${formatSmsSettings(workspace)}`,
      ],
      ["Sender ids", senders.length === 0 ? "none" : senders.join(", ")],
      ["Domains", usage.domains.toLocaleString("en")],
      ["API keys", usage.apiKeys.toLocaleString("en")],
      ["Contents", `${(usage.storageBytes / 1024 / 1024).toLocaleString("en", { maximumFractionDigits: 1 })} MiB`],
    ]),
  ].join("\n");
}

function formatSmsSettings({ smsPriority, smsFolding }: Workspace): string {
  return `priority ${plain(smsPriority)}, transliteration ${plain(smsFolding)}`;
}

function formatBlock(block: Workspace["blocks"][number]): string {
  const by = block.by === "operator" ? "by the operator" : "for too many bounces or complaints";
  const held = block.holdsQueue ? ", its queue is held" : "";
  const reason = block.reason === null ? "" : `: ${plain(block.reason)}`;
  return `${by} since ${timeText(block.since)}${held}${reason}`;
}
