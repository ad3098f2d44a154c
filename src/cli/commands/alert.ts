// `pombo alert`, `pombo alert test` and `pombo alert secret`: who is told when something is wrong.

import type { AlertSecrets, AlertStatus, AlertTest } from "../../modules/alerts/schema.ts";
import { systemClock } from "../../platform/clock.ts";
import { list, type OperatorCommand, record, type Work } from "../client/operator-command.ts";
import { paint } from "../framework/screen.ts";
import { plain, timeText } from "../framework/text.ts";

type Status = typeof AlertStatus.static;
type Test = typeof AlertTest.static;

const PATH = "/operator/alerts";
const LOOK_EVERY_MS = 500;
/** A message that a server puts off goes on without being watched. */
const WATCH_MS = 60_000;

const NOBODY =
  "Nobody is told when something is wrong: add an [[alerts]] block to the configuration (docs/alerts.md) and restart pombo.";

export const ALERT_COMMANDS: OperatorCommand[] = [
  {
    name: "alert",
    about: "Show who is told when something is wrong, and what was told and lasts.",
    needsInstance: true,
    async run({ api }) {
      const found = await api.call<Status>("GET", PATH);
      return record(found, formatStatus(found));
    },
  },
  {
    name: "alert test",
    about: "Send a test to everybody who is told, and say what became of each. Exit code 0: all were taken.",
    needsInstance: true,
    async run(work) {
      await work.api.call<Test>("POST", `${PATH}/test`);
      const found = await watch(work);
      const isSent = found.results.every(({ outcome }) => outcome === "sent");
      return { ...record(found, found.results.map(formatResult).join("\n")), exitCode: isSent ? 0 : 1 };
    },
  },
  {
    name: "alert secret",
    about: "Show the secrets that the calls of alerts are signed with.",
    needsInstance: true,
    async run({ api }) {
      const { webhooks } = await api.call<typeof AlertSecrets.static>("GET", `${PATH}/secrets`);
      const columns = [
        { title: "WEBHOOK", of: (row: (typeof webhooks)[number]) => row.to },
        { title: "SECRET", of: (row: (typeof webhooks)[number]) => row.secret },
      ];
      return list(webhooks, columns, "No [[alerts]] block has a webhook.");
    },
  },
];

async function watch({ api }: Work): Promise<Test> {
  for (let waitedMs = 0; ; waitedMs += LOOK_EVERY_MS) {
    const found = await api.call<Test>("GET", `${PATH}/test`);
    if (found.isDone || waitedMs >= WATCH_MS) return found;
    await new Promise<void>((resolve) => void systemClock.after(LOOK_EVERY_MS, resolve));
  }
}

function formatStatus({ receivers, troubles, heartbeat }: Status): string {
  const told = receivers.map(({ kind, to, least, waiting, failure }) => {
    const what = least === "problem" ? "problems" : "warnings and problems";
    const late = waiting === 0 ? "" : paint(` (${waiting} not told yet)`, "yellow");
    const broken = failure === null ? "" : `\n  ${paint("!", "red")} ${plain(failure)}`;
    return `${kind} to ${plain(to)}: ${what}${late}${broken}`;
  });
  const lasting = troubles.map(({ level, what, step, since }) => {
    const todo = step === null ? "" : `\n  ${plain(step)}`;
    return `${paint(level, level === "problem" ? "red" : "yellow")} since ${timeText(since)}: ${plain(what)}${todo}`;
  });
  const { url, isBeating, failure } = heartbeat;
  const asked = isBeating ? "asked every minute" : "not asked while there is a problem";
  const beat = url === null ? [] : [`heartbeat at ${plain(url)}: ${failure === null ? asked : plain(failure)}`];
  return [
    ...(told.length === 0 ? [NOBODY] : told),
    ...beat,
    "",
    ...(lasting.length === 0 ? ["Nothing that was told lasts."] : lasting),
  ].join("\n");
}

function formatResult({ kind, to, outcome, detail, id }: Test["results"][number]): string {
  const name = `${kind} to ${plain(to)}`;
  if (outcome === "sent") return `${paint("ok", "green")}      ${name}`;
  const why = detail === null ? "" : `: ${plain(detail)}`;
  if (outcome === "failed") return `${paint("failed", "red")}  ${name}${why}`;
  return `${paint("waits", "yellow")}   ${name}${why}${id === null ? "" : ` (pombo trace ${id})`}`;
}
