import { expect, test } from "bun:test";
import { parseConfig } from "../../../src/config/config.ts";

const REQUIRED = 'hostname = "mail.example.net"\ndata_dir = "/var/lib/pombo"\n';

const parse = (text: string) => parseConfig(`${REQUIRED}${text}`, { file: "pombo.toml", env: {} });

function tlsOf(text: string) {
  const result = parse(text);
  if (result.kind === "errors") throw new Error(JSON.stringify(result.errors));
  return result.config.tls;
}

function errorsOf(text: string): string[] {
  const result = parse(text);
  return result.kind === "errors"
    ? result.errors.map(({ key, found, expected }) => `${key}: ${found}; ${expected}`)
    : [];
}

test("by default there is no TLS, and its name would be the hostname", () => {
  expect(tlsOf("")).toMatchObject({ listen: [], acme: null, names: ["mail.example.net"] });
});

test("two lines are enough", () => {
  expect(tlsOf('[tls]\nlisten = ["0.0.0.0:443", "[::]:443"]\nacme = "letsencrypt"\n')).toMatchObject({
    listen: [
      { address: "0.0.0.0", port: 443 },
      { address: "::", port: 443 },
    ],
    acme: "https://acme-v02.api.letsencrypt.org/directory",
    challengeListen: [
      { address: "0.0.0.0", port: 80 },
      { address: "::", port: 80 },
    ],
  });
  expect(tlsOf('[tls]\nacme = "letsencrypt-staging"\n').acme).toContain("staging");
  expect(tlsOf('[tls]\nacme = "https://ca.lan:9000/acme/acme/directory"\n').acme).toBe(
    "https://ca.lan:9000/acme/acme/directory",
  );
});

test("the names are those under which people come, each once, unless they are given", () => {
  const urls = '[http]\npublic_url = "https://mail.example.net"\n[dashboard]\nurl = "https://pombo.example.net:8443"\n';
  expect(tlsOf(urls).names).toEqual(["mail.example.net", "pombo.example.net"]);
  expect(tlsOf(`${urls}[tls]\nnames = ["A.example.net", "a.example.net"]\n`).names).toEqual(["a.example.net"]);
  expect(tlsOf('[dashboard]\nurl = "https://203.0.113.7"\n').names).toEqual(["mail.example.net"]);
});

test.each([
  ['acme = "http://ca.test/directory"', "tls.acme", '"letsencrypt", "letsencrypt-staging"'],
  ['acme = "zerossl"', "tls.acme", "the https address of an ACME directory"],
  ['names = ["203.0.113.7"]', "tls.names[0]", "no address"],
  ['names = ["*.example.net"]', "tls.names[0]", "it would need DNS-01"],
  ['names = ["bücher.example"]', "tls.names[0]", "xn-- form"],
  [
    `names = ${JSON.stringify(Array.from({ length: 101 }, (_, n) => `n${n}.example.net`))}`,
    "tls.names",
    "0 to 100 values",
  ],
  ['listen = ["0.0.0.0:443"]', "tls.listen", 'acme = "letsencrypt", or certificate_file and key_file'],
  ['acme = "letsencrypt"\nlisten = ["mail.example.net:443"]', "tls.listen[0]", "an address and a port"],
  ['certificate_file = "/c.pem"', "tls.key_file", "the key of certificate_file"],
  ['key_file = "/k.pem"', "tls.certificate_file", "the certificate for key_file"],
  [
    'acme = "letsencrypt"\ncertificate_file = "/c.pem"\nkey_file = "/k.pem"',
    "tls.certificate_file",
    "only one of the two",
  ],
  ['acme = "letsencrypt"\neab_key_id = "x"', "tls.eab_key_file", "both eab_key_id and eab_key_file, or neither"],
  ['eab_key_id = "x"\neab_key_file = "/k"', "tls.eab_key_id", "the authority that has given it"],
  ["challenge_listen = []", "tls.challenge_listen", "1 to 8 values"],
  ['profile = "a b"', "tls.profile", "the name of a profile"],
])("%s is refused with what to write", (text, key, expected) => {
  const [error = "", ...others] = errorsOf(`[tls]\n${text}\n`);
  expect(others).toEqual([]);
  expect(error).toStartWith(`${key}: `);
  expect(error).toContain(expected);
});
