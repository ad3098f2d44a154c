// What a person can do about each way in which an authority refuses (RFC 8555 §6.7, RFC 9773, RFC 8659).

const SERVE_80 =
  "Open port 80 in every firewall on the way to this machine, the hosting provider's too, and let no other program have it: the authority looks there.";

const ADVICE: Record<string, (name: string) => string> = {
  dns: (name) =>
    `Publish an A or AAAA record of ${name} that leads to this machine, and remove records that lead elsewhere; where a name server of the domain fails, it must be mended first.`,
  connection: () => SERVE_80,
  tls: () => SERVE_80,
  unauthorized: (name) =>
    `Another machine or program answered for ${name}: its A and AAAA records must all lead to this machine, and port 80 to pombo.`,
  incorrectResponse: (name) =>
    `Another machine or program answered for ${name}: its A and AAAA records must all lead to this machine, and port 80 to pombo.`,
  caa: (name) =>
    `CAA records of ${name}, or of a domain above it, allow other authorities only: add one for this authority ("0 issue letsencrypt.org" for Let's Encrypt), or remove them.`,
  rateLimited: () => "Nothing is to be done but to wait: pombo asks again when the authority allows it.",
  rejectedIdentifier: (name) =>
    `The authority issues nothing for ${name}: take another name ([tls] names), or another authority ([tls] acme).`,
  unsupportedIdentifier: (name) => `The authority knows no certificates for ${name}: correct [tls] names.`,
  userActionRequired: () =>
    "The authority wants a person to act, most often to agree to new terms: open the address that it names.",
  externalAccountRequired: () =>
    "The authority issues to its customers only: put the id and the key that it gives you into [tls] eab_key_id and eab_key_file.",
  accountDoesNotExist: () =>
    "The authority does not know pombo's account: see whether [tls] acme is the right address.",
  invalidContact: () => "Correct [tls] contact, or leave it empty.",
  unsupportedContact: () => "Correct [tls] contact, or leave it empty.",
  invalidProfile: () => "Correct [tls] profile, or leave it empty.",
  noChallenge: () =>
    "pombo can only answer HTTP-01 at port 80: allow that at the authority, or take another ([tls] acme).",
  noAnswer: () =>
    "See whether this machine reaches the internet (firewall, DNS, HTTPS_PROXY), and whether its clock is right. A private authority's own certificate is checked against [tls] acme_ca_file.",
  badAnswer: () => "See whether [tls] acme is the address of an ACME directory.",
  badCertificate: () => "See whether this machine's clock is right; else the authority has made a mistake.",
  badNonce: () => "The authority refuses its own nonces: it is broken, or something between changes its answers.",
  serverInternal: () => "The authority has trouble of its own, which passes.",
  tooSlow: () => "The authority has trouble of its own, which passes.",
  interrupted: () => "See in the log why pombo ended each time.",
};

/** `name`: what it is about; null: no single one. */
export function advise(type: string, name: string | null): string {
  return ADVICE[type]?.(name ?? "the name") ?? "The authority's words say what it wants.";
}
