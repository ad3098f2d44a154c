// Whether the peers themselves can be believed, before pombo is judged by them: swaks delivers over
// TLS, a message signed by mailauth passes both verifiers with both algorithms, an altered one does
// not, an unknown user is refused.

import { generateKeyPairSync } from "node:crypto";
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { dkimSign } from "mailauth/lib/dkim/sign.js";
import type { Zone } from "../../support/fakes/zone.ts";
import { pathOf } from "../../support/peers/packages.ts";
import { run } from "../../support/peers/process.ts";
import { checkSignatures } from "../../support/peers/zone.ts";
import type { Checks } from "./checks.ts";
import { openDkimVerdicts } from "./received.ts";
import { MX_DOMAIN, type Mx } from "./mx.ts";

export const PEER_USERS = ["peer-signed", "peer-altered"];
const DOMAIN = "peer.test";

const MESSAGE = `From: Peer <a@${DOMAIN}>\r\nTo: b@${MX_DOMAIN}\r\nSubject: a signed message\r
Date: Thu, 01 Jan 2026 10:00:00 +0000\r\nMessage-ID: <1@${DOMAIN}>\r\nMIME-Version: 1.0\r
Content-Type: text/plain; charset=utf-8\r\n\r\nHello\r\n`;

/** A message of DOMAIN with an RSA and an Ed25519 signature by mailauth; publishes both keys in the zone. */
export async function signedMessage(zone: Zone): Promise<string> {
  return (await sign(zone)) + MESSAGE;
}

/** `signed`: by signedMessage. */
export async function checkPeers(options: {
  folder: string;
  mx: Mx;
  signed: string;
  zone: Zone;
  checks: Checks;
}): Promise<void> {
  const { mx, checks, zone } = options;
  const signed = options.signed;
  const submit = async (user: string, message: string): Promise<string> => {
    const file = join(options.folder, `${user}.eml`);
    writeFileSync(file, message);
    const envelope = ["--from", `a@${DOMAIN}`, "--to", `${user}@${MX_DOMAIN}`];
    return (
      await run([pathOf("swaks"), "--server", `127.0.0.1:${mx.port}`, "--tls", ...envelope, "--data", `@${file}`])
    ).output;
  };
  const bothPass = [
    ["rsa-sha256", "pass"],
    ["ed25519-sha256", "pass"],
  ];

  await submit("peer-signed", signed);
  const received = await mx.mailOf("peer-signed");
  checks.claim("peer: swaks delivers over TLS", /\r\n\t\(using TLSv1\.[23] /.test(received.toString("latin1")), () =>
    mx.postfix.log(),
  );
  checks.equal(
    "peer: OpenDKIM passes mailauth's RSA and Ed25519 signatures",
    openDkimVerdicts(received, DOMAIN),
    bothPass,
  );
  const verdicts = (await checkSignatures(received, zone)).map(({ algorithm, result }) => [algorithm, result]);
  checks.equal("peer: mailauth passes them as well", verdicts, bothPass);

  await submit("peer-altered", signed.replace("Hello", "Hallo"));
  const altered = openDkimVerdicts(await mx.mailOf("peer-altered"), DOMAIN).map(([, result]) => result);
  checks.claim(
    "peer: OpenDKIM fails an altered message",
    altered.length > 0 && !altered.includes("pass"),
    () => altered,
  );

  const refused = await submit("nobody-here", MESSAGE);
  checks.claim("peer: an unknown user is refused with 550 5.1.1", refused.includes("550 5.1.1"), () => refused);
}

/** The DKIM-Signature lines; publishes both keys in the zone. */
async function sign(zone: Zone): Promise<string> {
  const rsa = generateKeyPairSync("rsa", { modulusLength: 2048 });
  const ed25519 = generateKeyPairSync("ed25519");
  const publicKey = (key: typeof rsa.publicKey): Buffer => key.export({ type: "spki", format: "der" });
  zone[`rsa._domainkey.${DOMAIN}`] = { TXT: [`v=DKIM1; k=rsa; p=${publicKey(rsa.publicKey).toString("base64")}`] };
  // RFC 8463 §4: the raw key, which is the SPKI without its first 12 bytes.
  const raw = publicKey(ed25519.publicKey).subarray(12).toString("base64");
  zone[`ed._domainkey.${DOMAIN}`] = { TXT: [`v=DKIM1; k=ed25519; p=${raw}`] };
  const pem = (key: typeof rsa.privateKey): string => key.export({ type: "pkcs8", format: "pem" });
  const signed = await dkimSign(MESSAGE, {
    signingDomain: DOMAIN,
    selector: "rsa",
    privateKey: pem(rsa.privateKey),
    signatureData: [
      { signingDomain: DOMAIN, selector: "rsa", privateKey: pem(rsa.privateKey) },
      { signingDomain: DOMAIN, selector: "ed", privateKey: pem(ed25519.privateKey) },
    ],
  });
  return signed.signatures;
}
