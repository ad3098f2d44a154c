import { errorBody, type OnRefused } from "../../../platform/http/errors.ts";
import { errorText, type Log } from "../../../platform/log.ts";
import { MAGIC_NUMBERS, buildNumber } from "../../../sandbox/smsc/magic-numbers.ts";
import type { Terminal } from "../../framework/definition.ts";
import { findColour } from "../../framework/screen.ts";
import { SANDBOX_SENDERS } from "./config.ts";

const NAME_WIDTH = 18;

/** The sandbox's log: one line an event, for people. */
export function sandboxLog(write: Terminal["err"]): Log {
  const time = () => new Date().toTimeString().slice(0, 8);
  return {
    event(name, fields = {}) {
      const words = Object.entries(fields).flatMap(([key, value]) => formatField(key, value));
      const title = name.replace(/^email\./, "").replaceAll(/[._]/g, " ");
      write(`${time()}  ${`${title}  `.padEnd(NAME_WIDTH)}${words.join("  ")}`.trimEnd(), findColour(name));
    },
    error(where, error, fields = {}) {
      const details = Object.entries(fields).map(([key, value]) => ` (${key} ${value})`);
      write(`${time()}  internal error in ${where}${details.join("")}: ${errorText(error)}`, "red");
    },
  };
}

/** A request that the API refused: one line for each of its errors. */
export function refusalLog(log: Pick<Log, "event">): OnRefused {
  return ({ method, url }, status, error) => {
    // Null: the request's Host was malformed.
    const { pathname = "", search = "" } = URL.parse(url) ?? {};
    if (!pathname.startsWith("/api/")) return;
    for (const { message, path, hint } of errorBody(error).errors) {
      const words = [
        `${status} ${error.code}: ${message}`,
        path === undefined ? "" : ` (${path})`,
        hint ? `. ${hint}` : "",
      ];
      log.event("refused", { detail: `${method} ${pathname}${search}  ${words.join("")}` });
    }
  };
}

function formatField(key: string, value: string | number | boolean | null): string[] {
  if (value === null) return [];
  // In full: GET /emails/{id} needs the id.
  if (["id", "detail", "to", "reason"].includes(key)) return [String(value)];
  if (key === "attempt") return value === 1 ? [] : [`attempt ${String(value)}`];
  return [`${key}=${String(value)}`];
}

/** The magic numbers that people try first. */
const SHOWN = MAGIC_NUMBERS.filter(({ ending }) => ["01", "07", "10", "19"].includes(ending));

/** The welcome text; its commands work as pasted. `number`: one that can be texted. */
export function welcome(
  ready: {
    dashboardUrl: string;
    url: string;
    apiKey: string;
    operatorKey: string;
    domain: string;
    inboxUrl: string;
    submission: string | null;
  },
  place: { directory: string; isKept: boolean },
  number: string,
): string {
  const { url, apiKey, domain } = ready;
  const [smtpHost = "", smtpPort = ""] = ready.submission?.split(":") ?? [];
  return `
pombo's sandbox is ready. Nothing you send leaves this machine. Open its dashboard; the link signs you in, once:

  ${ready.dashboardUrl}

  API    ${url}
  Inbox  ${ready.inboxUrl}   (mail and phones; for a browser; it leads to the dashboard too)
  Docs   ${url}/docs   (the API, to read and try)
  Key    ${apiKey}
  Data   ${place.directory}${place.isKept ? "" : "   (temporary; keep it between runs with --data DIR)"}

Send an email:

  export POMBO_KEY=${apiKey}
  curl -s -w '\\n' ${url}/api/v1/emails \\
    -H "X-API-Key: $POMBO_KEY" -H 'Content-Type: application/json' \\
    -d '{"from": "Loja <loja@${domain}>", "to": "maria@example.com", "subject": "Olá, Maria", "html": "<h1>Olá!</h1><p>A sua encomenda está a caminho.</p>"}'

A program that speaks SMTP sends with these settings, from an address at ${domain}:

  Host      ${smtpHost}
  Port      ${smtpPort}
  User      pombo
  Password  ${apiKey}

Look at its status:

  curl -s -w '\\n' '${url}/api/v1/emails?limit=1&include=status' -H "X-API-Key: $POMBO_KEY"

Test recipients, at any domain: bounce@ is refused, defer@ is accepted at the
third attempt, slow@ answers after five seconds. bounce-later@ accepts the
message and sends a bounce a second later, complaint@ a complaint. And
anyone@anything.invalid: the domain does not exist, so the email is
delivery_delayed at first, and bounced once DNS has said so twice, ten minutes
apart.

Send an SMS; it arrives on a phone, where you can reply:
${ready.inboxUrl}#phones

  curl -s -w '\\n' ${url}/api/v1/sms \\
    -H "X-API-Key: $POMBO_KEY" -H 'Content-Type: application/json' \\
    -d '{"to": "${number}", "from": "${SANDBOX_SENDERS.number}", "body": "O seu código é 482913."}'

Test numbers have five zeros and two digits at the end. That page lists all ${MAGIC_NUMBERS.length};
some of them:

${SHOWN.map((row) => `  ${buildNumber(row, number)}  ${row.told}`).join("\n")}

Press Ctrl-C to stop.
`;
}

/** A port to suggest instead of one that is taken. */
export function anotherPort(port: number): number {
  return port < 65_535 ? port + 1 : port - 1;
}
