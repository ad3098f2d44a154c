import { errorText, type Log } from "../../../platform/log.ts";
import { MAGIC_NUMBERS, buildNumber } from "../../../sandbox/smsc/magic-numbers.ts";
import { SANDBOX_SENDERS } from "./config.ts";

const NAME_WIDTH = 18;

/** One tidy line per event, for a person at a terminal. */
export function sandboxLog(write: (line: string) => void): Log {
  const time = () => new Date().toTimeString().slice(0, 8);
  return {
    event(name, fields = {}) {
      const words = Object.entries(fields).flatMap(([key, value]) => wordsOf(key, value));
      const said = name.replace(/^email\./, "").replaceAll(/[._]/g, " ");
      write(`${time()}  ${`${said}  `.padEnd(NAME_WIDTH)}${words.join("  ")}`.trimEnd());
    },
    error(where, error, fields = {}) {
      const of = Object.entries(fields).map(([key, value]) => ` (${key} ${value})`);
      write(`${time()}  internal error in ${where}${of.join("")}: ${errorText(error)}`);
    },
  };
}

function wordsOf(key: string, value: string | number | boolean | null): string[] {
  if (value === null) return [];
  // The whole id: it is what GET /emails/{id} needs.
  if (["id", "detail", "to", "reason"].includes(key)) return [String(value)];
  if (key === "attempt") return value === 1 ? [] : [`attempt ${String(value)}`];
  return [`${key}=${String(value)}`];
}

/** Of the magic numbers those that people try first. */
const SHOWN = MAGIC_NUMBERS.filter(({ ending }) => ["01", "07", "10", "19"].includes(ending));

/** What the sandbox shows when it is ready; the lines work as pasted. */
export function welcome(
  ready: { url: string; apiKey: string; operatorKey: string; domain: string; inboxUrl: string },
  place: { directory: string; isKept: boolean },
): string {
  const { url, apiKey, domain } = ready;
  return `
pombo's sandbox is ready. Nothing that you send leaves this machine.

  API    ${url}
  Inbox  ${ready.inboxUrl}   (mail and phones; open it in a browser)
  Docs   ${url}/docs   (every request, to try)
  Key    ${apiKey}
  Data   ${place.directory}${place.isKept ? "" : "   (temporary; keep it between runs with --data DIR)"}

Send an email:

  export POMBO_KEY=${apiKey}
  curl -s -w '\\n' ${url}/api/v1/emails \\
    -H "X-API-Key: $POMBO_KEY" -H 'Content-Type: application/json' \\
    -d '{"from": "Loja <loja@${domain}>", "to": "maria@example.com", "subject": "Olá, Maria", "html": "<h1>Olá!</h1><p>A sua encomenda está a caminho.</p>"}'

See what became of it:

  curl -s -w '\\n' '${url}/api/v1/emails?limit=1&include=status' -H "X-API-Key: $POMBO_KEY"

Recipients that behave on purpose, at any domain: bounce@ is refused, defer@ is taken at the third
try, slow@ answers after five seconds. bounce-later@ takes the message and sends a bounce back a second
after, complaint@ a complaint. And anyone@anything.invalid: the domain does not exist; delivery_delayed
at first, bounced once DNS has said so twice, ten minutes apart.

Send a text; it arrives on the phone at ${ready.inboxUrl}#phones, where you can write back:

  curl -s -w '\\n' ${url}/api/v1/sms \\
    -H "X-API-Key: $POMBO_KEY" -H 'Content-Type: application/json' \\
    -d '{"to": "+258841234567", "from": "${SANDBOX_SENDERS.number}", "body": "O seu código é 482913."}'

Numbers of five zeros and two digits after the operator's prefix behave on purpose. All ${MAGIC_NUMBERS.length} are on that page; among them:

${SHOWN.map((row) => `  ${buildNumber(row)}  ${row.told}`).join("\n")}

Press Ctrl-C to stop.
`;
}

/** What to do when another pombo holds the data directory; `pid` null when it is not known. */
export function dataDirHeld(directory: string, pid: number | null): string {
  const holder = pid === null ? "Another pombo" : `Another pombo (process ${pid})`;
  return `${holder} is running on ${directory}. Stop it first, or give this one another --data DIR; nothing was written or sent.`;
}

const LAST_PORT = 65_535;

/** A port to propose in place of one that is taken. */
export function anotherPort(port: number): number {
  return port < LAST_PORT ? port + 1 : port - 1;
}
