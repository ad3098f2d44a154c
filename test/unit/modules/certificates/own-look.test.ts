import { expect, test } from "bun:test";
import { isAllowed, lookOurselves, type OwnLookDeps } from "../../../../src/modules/certificates/own-look.ts";
import type { Lookup } from "../../../../src/protocols/dns/lookup.ts";

const NAME = "mail.example.net";
const found = (...records: string[]): Lookup<string> => ({ kind: "found", records, ttlS: 60, server: "s" });
const NONE: Lookup<string> = { kind: "no_data", server: "s" };

interface World {
  a?: Lookup<string>;
  aaaa?: Lookup<string>;
  caa?: Record<string, Lookup<string>>;
  answer?: (url: string, host: string) => Response | Error;
}

function look({ a = found("203.0.113.7"), aaaa = NONE, caa = {}, answer }: World): Promise<string[]> {
  const deps: OwnLookDeps = {
    resolver: { a: async () => a, aaaa: async () => aaaa, caa: async (name) => caa[name] ?? NONE },
    call: (async (url: string, { headers }: { headers: { host: string } }) => {
      const made = answer?.(url, headers.host) ?? new Response("token");
      if (made instanceof Error) throw made;
      return made;
    }) as unknown as typeof fetch,
    ownAddresses: () => ["203.0.113.7"],
    caaIdentities: ["ca.test"],
    port: 80,
    token: "token",
    signal: new AbortController().signal,
  };
  return lookOurselves([NAME], deps);
}

test("where the token comes back over every address, nothing is said", async () => {
  const asked: string[] = [];
  const answer = (url: string, host: string) => {
    asked.push(`${host} ${url}`);
    return new Response("token");
  };
  expect(await look({ aaaa: found("2001:db8::7"), answer })).toEqual([]);
  expect(asked).toEqual([
    `${NAME} http://203.0.113.7:80/.well-known/acme-challenge/token`,
    `${NAME} http://[2001:db8::7]:80/.well-known/acme-challenge/token`,
  ]);
});

test("what keeps an authority from seeing the token is said with the name and the address", async () => {
  expect(await look({ a: { kind: "no_name", server: "s" } })).toEqual([`${NAME} has no address in DNS.`]);
  expect(await look({ a: { kind: "failed", reason: "SERVFAIL" } })).toEqual([
    `${NAME}: its DNS could not be asked (SERVFAIL).`,
  ]);
  expect(await look({ answer: () => new Response("<html>nginx", { status: 404 }) })).toEqual([
    `${NAME}: at 203.0.113.7 another program answers port 80 (status 404).`,
  ]);
  expect(await look({ answer: () => new Response("token and more") })).toHaveLength(1);
  expect(await look({ a: found("198.51.100.9"), answer: () => new Error("refused") })).toEqual([
    `${NAME}: port 80 of 198.51.100.9 does not answer from here (refused). 198.51.100.9 is no address of this machine; behind NAT that is as it should be.`,
  ]);
  // Behind NAT, and it works.
  expect(await look({ a: found("198.51.100.9") })).toEqual([]);
});

test("the nearest CAA records upwards count, and an answer that fails forbids", async () => {
  const other = found("0 issue other.test");
  expect(await look({ caa: { "example.net": other } })).toEqual([
    "The CAA records of example.net do not allow ca.test to issue.",
  ]);
  expect(
    await look({ caa: { "example.net": other, [NAME]: found("0 issue ca.test; validationmethods=http-01") } }),
  ).toEqual([]);
  expect(await look({ caa: { net: { kind: "failed", reason: "timeout" } } })).toEqual([
    "The CAA records of net could not be asked for (timeout).",
  ]);
});

test.each([
  [["0 issue ca.test"], true],
  [["0 issue CA.TEST"], true],
  [["0 issue other.test", "0 issue ca.test"], true],
  [["0 issue other.test"], false],
  [["0 issue ;"], false],
  [["0 issue "], false],
  [["0 iodef mailto:a@example.net"], true],
  [["0 issuewild other.test"], true],
  [["128 tbs unknown"], false],
  [["128 issue ca.test"], true],
])("CAA %p: %p", (records, allowed) => {
  expect(isAllowed(records, ["ca.test"])).toBe(allowed);
});
