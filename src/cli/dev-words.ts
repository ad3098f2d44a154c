import { errorText, type Log } from "../log.ts";

/** One tidy line per event, for a person at a terminal. */
export function sandboxLog(write: (line: string) => void): Log {
  const time = () => new Date().toTimeString().slice(0, 8);
  return {
    event(name, fields = {}) {
      const words = Object.entries(fields).flatMap(([key, value]) => wordsOf(key, value));
      write(
        `${time()}  ${name
          .replace(/^email\./, "")
          .replaceAll("_", " ")
          .padEnd(18)}${words.join("  ")}`,
      );
    },
    bug: (where, error) => write(`${time()}  BUG in ${where}: ${errorText(error)}`),
  };
}

function wordsOf(key: string, value: string | number | boolean | null): string[] {
  if (value === null) return [];
  if (key === "detail" || key === "to" || key === "reason") return [String(value)];
  if (key === "id") return [String(value).slice(0, 8)];
  if (key === "attempt") return value === 1 ? [] : [`attempt ${String(value)}`];
  return [`${key}=${String(value)}`];
}

/** What the sandbox shows when it is ready; the lines work as pasted. */
export function welcome(
  ready: { url: string; apiKey: string; operatorKey: string; domain: string; inboxUrl: string },
  kept: string | null,
): string {
  const { url, apiKey, domain } = ready;
  return `
pombo's sandbox is ready. Nothing that you send leaves this machine.

  API    ${url}
  Inbox  ${ready.inboxUrl}   (open it in a browser)
  Key    ${apiKey}
  Data   ${kept ?? "temporary; keep it between runs with --data DIR"}

Send an email:

  curl -s ${url}/api/v1/emails -H 'X-API-Key: ${apiKey}' -H 'Content-Type: application/json' \\
    -d '{"from": "Loja <loja@${domain}>", "to": "maria@example.com", "subject": "Olá, Maria", "html": "<h1>Olá!</h1><p>A sua encomenda está a caminho.</p>"}'

See what became of it:

  curl -s '${url}/api/v1/emails?limit=1' -H 'X-API-Key: ${apiKey}'

Recipients that behave on purpose, at any domain: bounce@ is refused, defer@ is taken at the third
try, slow@ answers after five seconds. Press Ctrl-C to stop.
`;
}
