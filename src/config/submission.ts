// `[submission]`: the ports where programs hand in mail by SMTP, and how much they may hand in.

import { type Static, Type } from "@sinclair/typebox";
import type { HostPort } from "../platform/ip/address.ts";
import { integer, list, size, special } from "./fields.ts";
import type { ConfigError } from "./toml.ts";

const LISTEN_MAX = 8;
const MIB = 1024 * 1024;

const ports = (description: string) =>
  list(special<HostPort>("listen", "One address."), [0, LISTEN_MAX], description, []);

export const SubmissionSchema = Type.Object({
  listen: ports(
    'Addresses and ports with STARTTLS where programs hand in mail by SMTP, such as "0.0.0.0:587" and "0.0.0.0:2587"; none = no such port.',
  ),
  listenTls: ports('Those with TLS from the first byte, such as "0.0.0.0:465" and "0.0.0.0:2465".'),
  maxMessageBytes: size(["64KiB", "40MiB"], "Maximal size of a message; at most [email] max_message.", "20MiB"),
  maxRecipients: integer([1, 1000], "Recipients of a message.", 50),
  maxClients: integer([1, 10_000], "Clients at once.", 200),
  maxClientsPerAddress: integer([1, 10_000], "Clients of one address at once; at most max_clients.", 50),
});

export type SubmissionConfig = Static<typeof SubmissionSchema>;

/** Checks keys against each other. A key may be undefined here: its own error was recorded. */
export function checkSubmission(submission: SubmissionConfig, maxMessageBytes: number, errors: ConfigError[]): void {
  const { maxClients, maxClientsPerAddress } = submission;
  if (submission.maxMessageBytes > maxMessageBytes) {
    const show = (bytes: number) => `${(bytes / MIB).toLocaleString("en", { maximumFractionDigits: 1 })} MiB`;
    const expected = `at most email.max_message, which is ${show(maxMessageBytes)}`;
    errors.push({ key: "submission.max_message", found: show(submission.maxMessageBytes), expected });
  }
  if (maxClientsPerAddress > maxClients) {
    const expected = `at most submission.max_clients, which is ${maxClients}`;
    errors.push({ key: "submission.max_clients_per_address", found: String(maxClientsPerAddress), expected });
  }
}
