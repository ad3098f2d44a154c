import type { InstanceStatus } from "../../modules/operator/status-schema.ts";
import type { OperatorCommand } from "../client/operator-command.ts";
import { bytesText, count, facts, plain, timeText } from "../framework/text.ts";

// `pombo status`: one screen that says how the instance is, and by its exit code whether that is well.

type Status = typeof InstanceStatus.static;

export const status: OperatorCommand = {
  name: "status",
  about:
    "Shows how the instance is on one screen: what waits, what goes wrong and what to do. Ends with 0 when all is well, 1 when there are issues, 3 when no instance runs.",
  isOfRunning: true,
  options: {
    check: { about: "read all pages of the database first, and report damaged ones; takes seconds per gigabyte" },
  },
  async run({ api, given }) {
    const isChecked = given.isSet("check");
    const query = isChecked ? "?check=true" : "";
    const seen = await api.call<Status>("GET", `/operator/status${query}`);
    const exitCode = seen.issues.length > 0 ? 1 : 0;
    return { kind: "words", data: seen, words: screen(seen, isChecked), exitCode };
  },
};

function screen(seen: Status, isChecked: boolean): string {
  const { version, commit, startedAt, ready, issues } = seen;
  const does = seen.paused === null ? "it accepts and sends" : "it accepts, and delivery is paused";
  const state = ready ? does : "NOT READY";
  return [
    `pombo ${plain(version)} (${plain(commit)}), up since ${timeText(startedAt)}: ${state}.`,
    ...issues.map(
      ({ component, reason, since }) =>
        `  ! ${plain(component)}: ${sentence(reason)}${since === null ? "" : ` Since ${timeText(since)}.`}`,
    ),
    "",
    facts([
      ["Emails", emailWords(seen.queue.emails)],
      ["SMS", waitingWords(seen.queue.sms, "segment")],
      ["Webhooks", waitingWords(seen.queue.webhooks, "call")],
      [`Last ${seen.lastMinutes.minutes} min`, rateWords(seen.lastMinutes)],
      ["Disk", diskWords(seen.disk)],
      ...(isChecked ? [["Pages", pageWords(issues)] as const] : []),
      ["Sites", siteWords(seen.blockedSites)],
      ...seen.sms.map((route) => ["SMS route", routeWords(route)] as const),
      ["Workspaces", workspaceWords(seen.workspaces)],
      ["Replication", replicationWords(seen.replication)],
      ...(seen.replication === null ? [] : [["Restore drill", drillWords(seen.replication.drill)] as const]),
    ]),
  ].join("\n");
}

function sentence(reason: string): string {
  const words = plain(reason);
  return /[.!?]$/.test(words) ? words : `${words}.`;
}

function emailWords(emails: Status["queue"]["emails"]): string {
  const { running, delayed } = emails;
  const parts = [waitingWords(emails, "email"), `${running.toLocaleString("en")} being delivered`];
  if (delayed > 0) parts.push(`${delayed.toLocaleString("en")} delayed`);
  return parts.join(", ");
}

function waitingWords({ waiting, isMinimum, oldestAt }: Status["queue"]["webhooks"], one: string): string {
  if (waiting === 0) return `no ${one} waits`;
  const verb = waiting === 1 ? "waits" : "wait";
  const oldest = oldestAt === null ? "" : `, the oldest since ${timeText(oldestAt)}`;
  return `${isMinimum ? "at least " : ""}${count(waiting, one)} ${verb}${oldest}`;
}

function rateWords(rates: Status["lastMinutes"]): string {
  return Object.entries(rates)
    .filter(([name]) => name !== "minutes")
    .map(([name, number]) => `${number.toLocaleString("en")} ${name}`)
    .join(", ");
}

function diskWords({ freeBytes, databaseBytes, walBytes }: Status["disk"]): string {
  const free = freeBytes === null ? "free space not known" : `${bytesText(freeBytes)} free`;
  return `${free}; the database has ${bytesText(databaseBytes)}, its log ${bytesText(walBytes)}`;
}

function pageWords(issues: Status["issues"]): string {
  const hasIssue = issues.some(({ component }) => component === "database");
  return hasIssue ? "all were read: see the issue above" : "all were read, none is damaged";
}

function siteWords({ count: blocked, sites }: Status["blockedSites"]): string {
  if (blocked === 0) return "none is blocked";
  const shown = sites.slice(0, 3).map(({ site, workspaceId, until, reason }) => {
    const of = workspaceId === null ? "" : ` for workspace ${plain(workspaceId)}`;
    return `${plain(site)}${of} until ${timeText(until)} (${plain(reason)})`;
  });
  const more = blocked > shown.length ? `; and ${blocked - shown.length} more (pombo queue)` : "";
  return `${count(blocked, "site")} blocked: ${shown.join("; ")}${more}`;
}

function routeWords({ route, links, bound, reason }: Status["sms"][number]): string {
  const why = reason === null ? "" : `; last end: ${plain(reason)}`;
  return `${plain(route)}: ${bound} of ${count(links, "link")} bound${why}`;
}

function workspaceWords({ blocked, held, some }: Status["workspaces"]): string {
  if (blocked === 0) return "none is blocked";
  const names = some.slice(0, 5).map(({ name, held: isHeld, by }) => {
    const how = isHeld ? "held" : by === "rate" ? "for its bounces or complaints" : "blocked";
    return `${plain(name)} (${how})`;
  });
  const more = blocked > names.length ? ", …" : "";
  return `${blocked} blocked, ${held} of them held: ${names.join(", ")}${more}`;
}

function replicationWords(replication: Status["replication"]): string {
  if (replication === null) return "not set up";
  const { state, reason, lastAt } = replication;
  const last = lastAt === null ? "" : `, last at ${timeText(lastAt)}`;
  return `${plain(state)}${last}${reason === null ? "" : `: ${plain(reason)}`}`;
}

function drillWords(drill: NonNullable<Status["replication"]>["drill"]): string {
  if (drill === null) return "none yet (pombo restore --drill)";
  const { at, outcome, words, goodAt } = drill;
  const last = outcome === "good" ? "" : `; the last good one ${goodAt === null ? "never" : timeText(goodAt)}`;
  return `${outcome} at ${timeText(at)}: ${plain(words)}${last}`;
}
