// `pombo dashboard link` and `pombo user …`: how people come to the dashboard, and who they are.

import type { DashboardLink, OperatorUser, RemovedUser } from "../../modules/accounts/operator-schema.ts";
import { findUser } from "../client/find.ts";
import { list, type OperatorCommand, record, type Work } from "../client/operator-command.ts";
import { CommandError } from "../framework/definition.ts";
import type { Column } from "../framework/table.ts";
import { plain, say, timeText } from "../framework/text.ts";

type User = typeof OperatorUser.static;
type Link = typeof DashboardLink.static;

const COLUMNS: Column<User>[] = [
  { title: "EMAIL", of: ({ email }) => email },
  { title: "NAME", of: ({ name }) => name },
  { title: "ROLES", of: formatRoles },
  { title: "SIGNS IN BY", of: formatFactors },
  { title: "LAST SEEN", of: ({ lastSeenAt }) => lastSeenAt, kind: "time" },
  { title: "ID", of: ({ id }) => id, kind: "id" },
];

export const PEOPLE_COMMANDS: OperatorCommand[] = [
  {
    name: "dashboard link",
    about:
      "Show a link that makes an operator of the dashboard: the first one, or another. It works once, within 30 minutes.",
    async run({ api }) {
      const link = await api.call<Link>("POST", "/operator/dashboard-link");
      return record(link, ["A link to the dashboard, for a new operator:", "", formatLink(link)].join("\n"));
    },
  },
  {
    name: "user list",
    about: "List the people who can sign in to the dashboard, with their roles.",
    async run({ api }) {
      const all = await api.all<User>("/operator/users");
      return list(all, COLUMNS, "Nobody has an account yet. pombo dashboard link shows a link for the first operator.");
    },
  },
  {
    name: "user reset",
    arguments: ["USER"],
    about:
      "Let a person who has lost everything sign in again: remove their password, passkeys, authenticator app, recovery codes and sessions, and show a link that sets new ones. USER is the address or id. Their roles stay.",
    async run(work) {
      const user = await getUser(work);
      const link = await work.api.call<Link>("POST", `/operator/users/${user.id}/reset`);
      const done = say`${user.email} is signed out everywhere, and can only sign in again with this link:`;
      return record(link, [done, "", formatLink(link)].join("\n"));
    },
  },
  {
    name: "user remove",
    arguments: ["USER"],
    options: { yes: { about: "confirm; without it the command only shows who would be removed" } },
    about: "Remove a person, with all their roles. USER is the address or id. API keys that they created go on.",
    async run(work) {
      const user = await getUser(work);
      if (!work.args.isSet("yes")) throw new CommandError(formatWarning(user), 2);
      const removed = await work.api.call<typeof RemovedUser.static>("DELETE", `/operator/users/${user.id}`);
      return record(removed, formatRemoved(removed, user));
    },
  },
];

async function getUser({ api, args }: Work): Promise<User> {
  return findUser(await api.all<User>("/operator/users"), args.argument("USER"));
}

/** The link, until when it works, and how to open it. */
export function formatLink({ url, expiresAt, tunnel }: Link): string {
  return [
    `  ${plain(url)}`,
    "",
    `It works once, until ${timeText(expiresAt)}.`,
    ...(tunnel === null
      ? []
      : [
          "Only this server reaches that address. To open it on another machine, run this there first, and leave it open:",
          "",
          `  ${plain(tunnel)}`,
          "",
          "With [dashboard] url in the configuration, links begin with that and no tunnel is needed.",
        ]),
  ].join("\n");
}

function formatRoles({ isOperator, workspaces }: User): string {
  const roles = workspaces.map(({ name, role }) => `${role} of ${name}`);
  return [...(isOperator ? ["operator"] : []), ...roles].join(", ");
}

function formatFactors({ factors: { passkeys, password, totp } }: User): string {
  const found = [...(passkeys > 0 ? ["passkey"] : []), ...(password ? [totp ? "password and code" : "password"] : [])];
  return found.length === 0 ? "nothing yet" : found.join(", ");
}

function formatWarning(user: User): string {
  const roles = formatRoles(user);
  return [
    say`This removes ${user.name} (${user.email})${roles === "" ? "" : `, ${roles}`}.`,
    say`Nothing was removed. To confirm:\n\n  pombo user remove ${user.email} --yes`,
  ].join(" ");
}

function formatRemoved({ ownerless, operators }: typeof RemovedUser.static, { email, isOperator }: User): string {
  const names = new Intl.ListFormat("en").format(ownerless.map(({ name }) => plain(name)));
  return [
    say`${email} is removed, and signed out everywhere.`,
    ...(ownerless.length === 0
      ? []
      : [
          `${names} ${ownerless.length === 1 ? "has" : "have"} no owner now: an operator can make one on the dashboard.`,
        ]),
    ...(isOperator && operators === 0 ? ["There is no operator now: pombo dashboard link makes another."] : []),
  ].join("\n");
}
