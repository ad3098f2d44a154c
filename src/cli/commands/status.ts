// `pombo status`: the state of the instance on one screen; the exit code says whether there are issues.

import type { InstanceStatus } from "../../modules/operator/status-schema.ts";
import type { OperatorCommand } from "../client/operator-command.ts";
import { paint } from "../framework/screen.ts";
import { bytesText, count, labelledLines, plain, timeText } from "../framework/text.ts";

type Status = typeof InstanceStatus.static;

export const status: OperatorCommand = {
  name: "status",
  about:
    "Show the state of the instance on one screen: queues, issues and how to solve them. Exit code 0: no issues, 1: issues, 3: no instance runs.",
  needsInstance: true,
  options: {
    check: { about: "read every page of the database first, and report damaged ones; takes seconds per gigabyte" },
  },
  async run({ api, args }) {
    const isChecked = args.isSet("check");
    const query = isChecked ? "?check=true" : "";
    const found = await api.call<Status>("GET", `/operator/status${query}`);
    const exitCode = found.issues.length > 0 ? 1 : 0;
    return { kind: "words", data: found, words: formatStatus(found, isChecked), exitCode };
  },
};

function formatStatus(found: Status, isChecked: boolean): string {
  const { version, commit, startedAt, ready, issues } = found;
  const activity = found.paused === null ? "it accepts and sends" : "it accepts, and delivery is paused";
  const state = ready ? activity : paint("NOT READY", "red");
  return [
    `pombo ${plain(version)} (${plain(commit)}), up since ${timeText(startedAt)}: ${state}.`,
    ...issues.map(
      ({ component, reason, since }) =>
        `  ${paint("!", "red")} ${plain(component)}: ${sentence(reason)}${since === null ? "" : ` Since ${timeText(since)}.`}`,
    ),
    "",
    labelledLines([
      ["Emails", formatEmails(found.queue.emails)],
      ["SMS", formatWaiting(found.queue.sms, "segment")],
      ["Webhooks", formatWaiting(found.queue.webhooks, "call")],
      [`Last ${found.lastMinutes.minutes} min`, formatRates(found.lastMinutes)],
      ["Disk", formatDisk(found.disk)],
      ...(isChecked ? [["Pages", formatPages(issues)] as const] : []),
      ["Sites", formatSites(found.blockedSites)],
      ...found.sms.map((route) => ["SMS route", formatRoute(route)] as const),
      ["Workspaces", formatWorkspaces(found.workspaces)],
      ["Replication", formatReplication(found.replication)],
      ...(found.replication === null ? [] : [["Restore drill", formatDrill(found.replication.drill)] as const]),
    ]),
  ].join("\n");
}

function sentence(reason: string): string {
  const words = plain(reason);
  return /[.!?]$/.test(words) ? words : `${words}.`;
}

function formatEmails(emails: Status["queue"]["emails"]): string {
  const { running, delayed, scheduled } = emails;
  const parts = [formatWaiting(emails, "email"), `${running.toLocaleString("en")} being delivered`];
  if (delayed > 0) parts.push(`${delayed.toLocaleString("en")} delayed`);
  if (scheduled > 0) parts.push(`${scheduled.toLocaleString("en")} scheduled`);
  return parts.join(", ");
}

function formatWaiting({ waiting, isMinimum, oldestAt }: Status["queue"]["webhooks"], one: string): string {
  if (waiting === 0) return `no ${one} waits`;
  const verb = waiting === 1 ? "waits" : "wait";
  const oldest = oldestAt === null ? "" : `, the oldest since ${timeText(oldestAt)}`;
  return `${isMinimum ? "at least " : ""}${count(waiting, one)} ${verb}${oldest}`;
}

function formatRates(rates: Status["lastMinutes"]): string {
  return Object.entries(rates)
    .filter(([name]) => name !== "minutes")
    .map(([name, number]) => `${number.toLocaleString("en")} ${name}`)
    .join(", ");
}

function formatDisk({ freeBytes, daysLeft, databaseBytes, walBytes }: Status["disk"]): string {
  const free = freeBytes === null ? "free space unknown" : `${bytesText(freeBytes)} free`;
  const lasts = daysLeft === null ? "" : ` (${count(daysLeft, "day")} at the present growth)`;
  return `${free}${lasts}; the database takes ${bytesText(databaseBytes)}, its WAL ${bytesText(walBytes)}`;
}

function formatPages(issues: Status["issues"]): string {
  const hasIssue = issues.some(({ component }) => component === "database");
  return hasIssue ? "all read: see the issue above" : "all read, none is damaged";
}

function formatSites({ count: blocked, sites }: Status["blockedSites"]): string {
  if (blocked === 0) return "none is blocked";
  const shown = sites.slice(0, 3).map(({ site, workspaceId, until, reason }) => {
    const scope = workspaceId === null ? "" : ` for workspace ${plain(workspaceId)}`;
    return `${plain(site)}${scope} until ${timeText(until)} (${plain(reason)})`;
  });
  const more = blocked > shown.length ? `; and ${blocked - shown.length} more (pombo queue)` : "";
  return `${count(blocked, "site")} blocked: ${shown.join("; ")}${more}`;
}

function formatRoute({ route, links, bound, reason }: Status["sms"][number]): string {
  const why = reason === null ? "" : `; the last session ended: ${plain(reason)}`;
  return `${plain(route)}: ${bound} of ${count(links, "link")} bound${why}`;
}

function formatWorkspaces({ blocked, held, some }: Status["workspaces"]): string {
  if (blocked === 0) return "none is blocked";
  const names = some.slice(0, 5).map(({ name, held: isHeld, by }) => {
    const how = isHeld ? "held" : by === "rate" ? "blocked for bounces or complaints" : "blocked";
    return `${plain(name)} (${how})`;
  });
  const more = blocked > names.length ? ", …" : "";
  return `${blocked} blocked, ${held} of them held: ${names.join(", ")}${more}`;
}

function formatReplication(replication: Status["replication"]): string {
  if (replication === null) return "not set up";
  const { state, reason, lastAt } = replication;
  const last = lastAt === null ? "" : `, last at ${timeText(lastAt)}`;
  return `${plain(state)}${last}${reason === null ? "" : `: ${plain(reason)}`}`;
}

function formatDrill(drill: NonNullable<Status["replication"]>["drill"]): string {
  if (drill === null) return "none yet (pombo restore --drill)";
  const { at, outcome, words, goodAt } = drill;
  const last = outcome === "good" ? "" : `; last good drill: ${goodAt === null ? "never" : timeText(goodAt)}`;
  return `${outcome} at ${timeText(at)}: ${plain(words)}${last}`;
}
