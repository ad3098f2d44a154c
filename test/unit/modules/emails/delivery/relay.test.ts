import { expect, test } from "bun:test";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { RelayConfig } from "../../../../../src/config/config.ts";
import {
  classifyDirect,
  type DirectTransportDeps,
} from "../../../../../src/modules/emails/delivery/direct-transport.ts";
import { classifyByRelay } from "../../../../../src/modules/emails/delivery/relay-transport.ts";
import { createTransports } from "../../../../../src/modules/emails/delivery/email-delivery.ts";
import { openRelays } from "../../../../../src/modules/emails/delivery/relays.ts";
import { StartError } from "../../../../../src/platform/errors.ts";
import { readWhole } from "../../../../../src/protocols/smtp/replies/remove-echo.ts";
import { makeReply } from "../../../../../src/protocols/smtp/replies/reply.ts";
import type { SendResult } from "../../../../../src/protocols/smtp/session/session.ts";
import type { Transmission } from "../../../../../src/protocols/smtp/transmit.ts";
import { AUTHORITY, OTHER_CERTIFICATE } from "../../../../support/fakes/certificates.ts";

function config(changes: Partial<RelayConfig> = {}): RelayConfig {
  return {
    host: "smtp.example.net",
    port: 587,
    tls: "starttls",
    verify: true,
    caFile: null,
    username: null,
    password: null,
    passwordFile: null,
    domains: [],
    ...changes,
  };
}

function inFolder(use: (write: (name: string, text: string | Uint8Array) => string) => void): void {
  const folder = mkdtempSync(join(tmpdir(), "pombo-relay-"));
  try {
    use((name, text) => {
      const file = join(folder, name);
      writeFileSync(file, text);
      return file;
    });
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}

test("mail goes by the relay that has its sending domain, else by the one for all others, else direct", () => {
  const named = openRelays([config({ domains: ["loja.test", "outra.test"] }), config({ host: "b.test" })]);
  // Nothing is delivered here.
  const sites = (relays: typeof named, ...domains: string[]) =>
    domains.map((domain) =>
      createTransports({ relays, egresses: [] }, {} as DirectTransportDeps)(domain).siteFor("example.com"),
    );
  expect(sites(named, "loja.test", "outra.test", "third.test", "sub.loja.test")).toEqual([
    "relay smtp.example.net:587",
    "relay smtp.example.net:587",
    "relay b.test:587",
    "relay b.test:587",
  ]);
  expect(sites(named.slice(0, 1), "third.test")).toEqual(["example.com"]);
  expect(sites([], "loja.test")).toEqual(["example.com"]);
});

test("what the configuration says of TLS becomes the policy, and never less", () => {
  const modes = (changes: Partial<RelayConfig>) => {
    const { policy, isImplicitTls } = openRelays([config(changes)])[0]!.access;
    return [policy.mode, isImplicitTls];
  };
  expect(modes({})).toEqual(["verify", false]);
  expect(modes({ verify: false })).toEqual(["required", false]);
  expect(modes({ tls: "implicit" })).toEqual(["verify", true]);
  expect(modes({ tls: "none" })).toEqual(["never", false]);
});

test("each relay has a name for people, and an id of its own that holds no secret", () => {
  const credentials = { username: "loja", password: "geheim!!" };
  const relays = openRelays([config(credentials), config({ ...credentials, host: "::1", port: 2525 })]);
  expect(relays.map(({ name }) => name)).toEqual(["smtp.example.net:587", "[::1]:2525"]);
  const twice = openRelays([config(credentials), config({ username: "outra", password: "palavra!" })]);
  expect(twice.map(({ site }) => site)).toEqual(["relay smtp.example.net:587", "relay smtp.example.net:587 relay[1]"]);
  const ids = relays.map(({ access }) => access.id);
  expect(new Set(ids).size).toBe(2);
  expect(ids.join()).not.toMatch(/loja|geheim/);
});

test("a password file may end with one line break, and a file of authorities may hold more than certificates", () => {
  inFolder((write) => {
    for (const end of ["", "\n", "\r\n"]) {
      const passwordFile = write("password", `geheim Wort${end}`);
      const [relay] = openRelays([config({ username: "loja", passwordFile })]);
      expect(relay?.access.credentials).toEqual({ username: "loja", password: "geheim Wort" });
    }
    const caFile = write("ca.pem", `Two of them\n${AUTHORITY}\n# and\n${OTHER_CERTIFICATE.cert}`);
    const ca = openRelays([config({ caFile })])[0]?.access.ca;
    expect(ca?.match(/BEGIN CERTIFICATE/g)).toHaveLength(2);
    expect(ca).not.toContain("Two");
  });
});

test("files at fault are all told at once, with their keys and without what is in them", () => {
  inFolder((write) => {
    const faulty = [
      config({ username: "a", passwordFile: "/does/not/exist" }),
      config({ username: "a", passwordFile: write("two-lines", "geheim\nWort\n") }),
      config({ username: "a", passwordFile: write("empty", "\n") }),
      config({ username: "a", passwordFile: write("large", "x".repeat(9_000)) }),
      config({ username: "a", passwordFile: tmpdir() }),
      config({ caFile: write("key.pem", OTHER_CERTIFICATE.key) }),
      config({ caFile: write("half.pem", AUTHORITY.replace("MII", "AAA")) }),
    ];
    let message = "";
    try {
      openRelays(faulty);
    } catch (error) {
      expect(error).toBeInstanceOf(StartError);
      message = (error as Error).message;
    }
    const lines = message.split("\n");
    expect(lines).toHaveLength(faulty.length);
    for (const [at, line] of lines.entries()) {
      expect(line).toContain(`(relay[${at}].${at < 5 ? "password_file" : "ca_file"})`);
    }
    expect(message).not.toMatch(/geheim|Wort|PRIVATE/);
  });
});

function transmission(result: SendResult): Transmission {
  return {
    result,
    ...{ host: "smtp.example.net", address: "192.0.2.1", tls: null, policy: null, tries: [] },
    isReached: false,
    isOutcomeUnknown: false,
    lastReply: "reply" in result ? result.reply : null,
    heard: result.kind === "refused" ? readWhole(result.reply) : null,
  };
}

function refused(stage: "auth" | "rcpt", text: string): SendResult {
  const reply = makeReply(Number(text.slice(0, 3)), [text.slice(4)]);
  return { kind: "refused", stage, reply, isReusable: true, envelopeReached: stage === "rcpt" };
}

function broken(stage: "connect" | "greeting" | "starttls" | "dot", reason: string): SendResult {
  return { kind: "broken", stage, reason, isDotSent: stage === "dot" };
}

test("the reason names the relay, and says what the operator can do where it is theirs to mend", () => {
  const [open] = openRelays([config()]);
  const [signing] = openRelays([config({ username: "loja", password: "geheim!!" })]);
  const reason = (result: SendResult, relay = signing!) => classifyByRelay(transmission(result), relay).reason;
  expect(reason(broken("connect", "connect ECONNREFUSED 192.0.2.1:587"))).toBe(
    "the relay smtp.example.net:587 could not be reached: connect ECONNREFUSED 192.0.2.1:587",
  );
  expect(reason(broken("greeting", "no greeting within 60 s"))).toContain("smtp.example.net:587 could not be reached");
  expect(reason(broken("starttls", "its certificate is not valid: expired"))).toBe(
    "its certificate is not valid: expired (relay smtp.example.net:587)",
  );
  expect(reason(refused("auth", "535 5.7.8 No"))).toBe(
    "535 5.7.8 No (relay smtp.example.net:587); check username and password of this relay under [[relay]] in the configuration",
  );
  expect(reason(refused("rcpt", "554 5.7.1 Relay access denied"), open)).toContain("; set username and password");
  expect(reason(refused("rcpt", "550 5.1.1 No such user"))).toBe("550 5.1.1 No such user (smtp.example.net)");
  const long = reason(refused("auth", `535 5.7.8 ${"x".repeat(510)}`));
  expect(long).toHaveLength(512);
  expect(long).toEndWith("in the configuration");
});

test("a relay that does not let us in is held for one that does not answer, so that it is left in peace", () => {
  const [relay] = openRelays([config({ username: "loja", password: "geheim!!" })]);
  expect(classifyByRelay(transmission(refused("auth", "535 5.7.8 No")), relay!).isReached).toBe(false);
  expect(classifyByRelay(transmission(refused("rcpt", "550 5.1.1 No such user")), relay!).isReached).toBe(true);
  expect(classifyByRelay(transmission(broken("connect", "refused")), relay!).isReached).toBe(false);
});

test("the same refusal suppresses from the recipient's server and not from a relay (R38)", () => {
  const [relay] = openRelays([config()]);
  const sent = transmission(refused("rcpt", "550 5.1.1 No such user"));
  expect(classifyDirect(sent).verdict).toMatchObject({ kind: "bounced", category: "invalid_recipient", isHard: true });
  expect(classifyByRelay(sent, relay!).verdict).toMatchObject({
    kind: "bounced",
    category: "invalid_recipient",
    isHard: false,
  });
});
