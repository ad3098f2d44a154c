import { expect, test } from "bun:test";
import { parseConfig } from "../../../src/config/config.ts";

const REQUIRED = 'hostname = "mail.example.net"\ndata_dir = "/var/lib/pombo"\n';

const parse = (text: string) => parseConfig(`${REQUIRED}${text}`, { file: "pombo.toml", env: {} });

function submissionOf(text: string) {
  const result = parse(text);
  if (result.kind === "errors") throw new Error(JSON.stringify(result.errors));
  return result.config.submission;
}

function errorsOf(text: string): string[] {
  const result = parse(text);
  return result.kind === "errors"
    ? result.errors.map(({ key, found, expected }) => `${key}: ${found}; ${expected}`)
    : [];
}

test("by default nobody hands anything in by SMTP", () => {
  expect(submissionOf("")).toEqual({
    ...{ listen: [], listenTls: [], maxMessageBytes: 20 * 1024 * 1024, maxRecipients: 50 },
    ...{ maxClients: 200, maxClientsPerAddress: 50 },
  });
});

test("the ports of both kinds are lists", () => {
  expect(
    submissionOf('[submission]\nlisten = ["0.0.0.0:587", "[::]:2587"]\nlisten_tls = ["0.0.0.0:465"]\n'),
  ).toMatchObject({
    listen: [
      { address: "0.0.0.0", port: 587 },
      { address: "::", port: 2_587 },
    ],
    listenTls: [{ address: "0.0.0.0", port: 465 }],
  });
});

test.each([
  ['[submission]\nmax_message = "30MiB"', "submission.max_message: 30 MiB; at most email.max_message, which is "],
  ['[email]\nmax_message = "1MiB"', "submission.max_message: 20 MiB; at most email.max_message, which is 1 MiB"],
  [
    "[submission]\nmax_clients = 10",
    "submission.max_clients_per_address: 50; at most submission.max_clients, which is 10",
  ],
  ["[submission]\nmax_recipients = 0", "submission.max_recipients: "],
  ['[submission]\nmax_message = "1KiB"', "submission.max_message: "],
  ['[submission]\nlisten = ["587"]', "submission.listen[0]: "],
  ['[submission]\nlisten_tls = "0.0.0.0:465"', "submission.listen_tls: "],
])("%j is refused with what it may be", (text, words) => {
  expect(errorsOf(`${text}\n`)).toEqual([expect.stringContaining(words)]);
});
