// Mail through a real relay, one sending domain for each way to set it up: without a password and
// with one, over STARTTLS and implicit TLS; and with what can be wrong between the two.

import { writeFileSync } from "node:fs";
import { join } from "node:path";
import type { Zone } from "../../support/fakes/zone.ts";
import { addDomain, type Api, type TomlTable } from "../../support/peers/pombo.ts";
import { freePort } from "../../support/peers/process.ts";
import { checkSignatures } from "../../support/peers/zone.ts";
import type { Checks } from "./checks.ts";
import { EXPECTED_VERDICTS, waitForStatus } from "./delivery.ts";
import { MX_DOMAIN, type Mx } from "./mx.ts";
import { fieldsOf, openDkimVerdicts } from "./received.ts";
import { RELAY_ACCOUNT, RELAY_HOST, type Relay, UNKNOWN_USER } from "./relay.ts";

/** A name that the relay's certificate does not have. */
const OTHER_HOST = "other-name.test";
export const RELAY_ADDRESSES: Zone = { [RELAY_HOST]: { A: ["127.0.0.1"] }, [OTHER_HOST]: { A: ["127.0.0.1"] } };
/** Recipients of the ways that get through. */
export const RELAY_USERS = ["by-network.test", "by-password.test", "by-login.test", "by-tls.test"].map(userOf);
const WRONG_PASSWORD = "this is not the one";

interface Way {
  domain: string;
  what: string;
  table: TomlTable;
  /** Null: it gets through. Else a part of the reason for which it waits. */
  trouble: string | null;
}

export async function relayWays(relay: Relay, folder: string): Promise<Way[]> {
  const { username, password } = RELAY_ACCOUNT;
  const passwordFile = join(folder, "relay-password");
  writeFileSync(passwordFile, `${password}\n`, { mode: 0o600 });
  const way = (name: string, what: string, table: TomlTable, trouble: string | null): Way => {
    const domain = `${name}.test`;
    return { domain, what, trouble, table: { host: RELAY_HOST, ca_file: relay.caFile, domains: [domain], ...table } };
  };
  const signedIn = { port: relay.saslPort, username };
  return [
    // Those that get through: RELAY_USERS.
    way("by-network", "without a password, STARTTLS", { port: relay.openPort }, null),
    way("by-password", "AUTH PLAIN after STARTTLS", { ...signedIn, password_file: passwordFile }, null),
    way("by-login", "AUTH LOGIN after STARTTLS", { port: relay.loginPort, username, password }, null),
    way("by-tls", "AUTH over implicit TLS", { port: relay.tlsPort, tls: "implicit", username, password }, null),
    way("wrong-password", "a wrong password", { ...signedIn, password: WRONG_PASSWORD }, "535 5.7.8"),
    way("no-password", "a relay that wants one", { port: relay.saslPort }, "Relay access denied"),
    way("wrong-name", "another name", { ...signedIn, password, host: OTHER_HOST }, "its certificate is not valid"),
    way("unknown-ca", "no ca_file", { port: relay.openPort, ca_file: "" }, "its certificate is not valid"),
    way("closed-port", "a closed port", { port: await freePort() }, "could not be reached"),
  ];
}

interface Relaying {
  api: Api;
  mx: Mx;
  relay: Relay;
  zone: Zone;
  checks: Checks;
}

export async function checkRelay(options: Relaying & { ways: Way[]; logs: () => string }): Promise<void> {
  const { api, zone, checks, ways } = options;
  for (const way of ways) {
    await checks.group(`relay, ${way.what}`, async () => {
      await addDomain(api, way.domain, zone);
      await (way.trouble === null ? checkRelayed(options, way) : checkWaiting(options, way, way.trouble));
    });
  }
  await checks.group("relay, an unknown user", () => checkUnknownUser(options, ways));
  const logs = options.logs();
  for (const secret of [RELAY_ACCOUNT.password, WRONG_PASSWORD]) {
    const forms = [secret, Buffer.from(secret).toString("base64")];
    checks.claim("relay: the log shows no password", !forms.some((form) => logs.includes(form)));
  }
}

async function checkRelayed({ api, mx, zone, checks }: Relaying, { domain, what, table }: Way): Promise<void> {
  const id = await send(api, domain, userOf(domain));
  const record = await waitForStatus(api, id, ["sent", "delivered", "bounced", "failed", "delivery_delayed"]);
  checks.equal(`relay, ${what}: sent, not delivered`, [record.status, record.deliveredAt], ["sent", null]);
  checks.claim(`relay, ${what}: sentAt is known`, record.sentAt !== null);
  const message = await mx.mailOf(userOf(domain));
  // The hop from pombo into the relay: below the one from the relay into the MX.
  const hop = fieldsOf(message, "Received")[1] ?? "";
  checks.claim(`relay, ${what}: over TLS`, /\(using TLSv1\.[23] with cipher/.test(hop), () => hop);
  const user = /\(Authenticated sender: ([^)@]*)/.exec(hop)?.[1] ?? null;
  checks.equal(`relay, ${what}: signed in`, user, table["username"] ?? null);
  const byOpenDkim = openDkimVerdicts(message, domain).map((verdict) => verdict.join(" "));
  checks.equal(`relay, ${what}: OpenDKIM says pass`, byOpenDkim.toSorted(), EXPECTED_VERDICTS);
  const byMailauth = (await checkSignatures(message, zone)).map(({ algorithm, result }) => `${algorithm} ${result}`);
  checks.equal(`relay, ${what}: mailauth says pass`, byMailauth.toSorted(), EXPECTED_VERDICTS);
}

async function checkWaiting({ api, checks, relay }: Relaying, { domain, what }: Way, words: string): Promise<void> {
  const id = await send(api, domain, userOf(domain));
  const record = await waitForStatus(api, id, ["sent", "delivered", "bounced", "failed", "delivery_delayed"]);
  const seen = [record.status, record.sentAt === null || words.includes("denied"), record.bounce];
  checks.equal(`relay, ${what}: waits`, seen, ["delivery_delayed", true, null]);
  const told: string = record.lastReply ?? "";
  checks.claim(`relay, ${what}: says why`, told.includes(words), () => `${told}\n${relay.postfix.log().slice(-1500)}`);
}

/** The relay's own 550: a bounce, but the relay is not the recipient's server. */
async function checkUnknownUser({ api, checks }: Relaying, ways: Way[]): Promise<void> {
  const domain = ways[0]?.domain ?? "";
  const record = await waitForStatus(api, await send(api, domain, UNKNOWN_USER), [
    "sent",
    "bounced",
    "delivery_delayed",
  ]);
  const { status, bounce } = record;
  const seen = [status, bounce?.category, bounce?.enhancedCode, bounce?.mx];
  checks.equal("relay, an unknown user: bounced", seen, ["bounced", "invalid_recipient", "5.1.1", RELAY_HOST]);
  const again = await api.call("POST", "/api/v1/emails", email(domain, UNKNOWN_USER));
  checks.equal("relay, an unknown user: not suppressed", again.status, 202);
}

async function send(api: Api, domain: string, user: string): Promise<string> {
  return (await api.expect(202, "POST", "/api/v1/emails", email(domain, user))).data.id;
}

function email(domain: string, user: string): Record<string, string> {
  return { from: `loja@${domain}`, to: `${user}@${MX_DOMAIN}`, subject: "Olá pelo relay", text: "Bom dia\n.\nAdeus" };
}

function userOf(domain: string): string {
  return `through-${domain.replace(".test", "")}`;
}
