// Links that are mailed: to sign in, for members where the operator allows it and only in the browser that asked; to prove an address.

import { isStorageError } from "../../platform/db/storage-error.ts";
import { type Arrival, requireOwnArrival } from "../../platform/http/browser-request.ts";
import { clientNetwork } from "../../platform/http/client-address.ts";
import { notFound } from "../../platform/http/errors.ts";
import type { AccountDeps } from "./deps.ts";
import { insertLink, LIFETIME_MS } from "./links.ts";
import { writeNonce } from "./nonce.ts";
import { toUserAddress } from "./schema.ts";
import type { Exchange } from "./sign-in/begin-session.ts";
import type { UserRow } from "./store.ts";
import { createToken } from "./token.ts";

/** The answer comes at once and is always the same: nobody learns whether there is such an account. */
export function requestMagicLink({ request, set }: Exchange, typed: string, deps: AccountDeps): void {
  if (!deps.instance.magicLinks) throw notFound("Nobody can sign in by a mailed link here");
  const arrival = requireOwnArrival(request, deps.site);
  deps.limits.countChallenge(clientNetwork(request, deps.site.trustedProxies));
  const { token: nonce, hash: browserHash } = createToken(deps.random);
  set.headers["set-cookie"] = writeNonce(arrival, nonce, LIFETIME_MS.magic / 1_000);
  const email = toUserAddress(typed);
  const user = deps.users.byEmail(email);
  if (user === undefined || user.isOperator || !deps.limits.mayMailLink(email)) return;
  deps
    .commit(() => {
      const { path, expiresAt } = insertLink({ kind: "magic", userId: user.id, email, browserHash }, deps);
      const mail = writeMail("magic", user, { path, arrival, hostname: deps.hostname });
      deps.sendSystemMail({ to: email, until: expiresAt, ...mail });
    })
    .catch((error: unknown) => {
      if (!isStorageError(error)) deps.log.error("accounts", error);
    });
}

/** A link to a person's own address: who opens it has proved that the address is theirs. False: it is proved already, or there were enough for now. */
export async function requestAddressLink(request: Request, user: UserRow, deps: AccountDeps): Promise<boolean> {
  if (!deps.instance.canMail) throw notFound("This server mails no links", "The operator can set [dashboard] from.");
  const arrival = requireOwnArrival(request, deps.site);
  const { id: userId, email } = user;
  if (user.emailVerifiedAt !== null || !deps.limits.mayMailLink(email)) return false;
  return deps.commit(() => {
    const { path, expiresAt } = insertLink({ kind: "email", userId, email }, deps);
    const mail = writeMail("email", user, { path, arrival, hostname: deps.hostname });
    return deps.sendSystemMail({ to: email, until: expiresAt, ...mail });
  });
}

interface Place {
  path: string;
  arrival: Arrival;
  hostname: string;
}

interface Words {
  subject: (hostname: string) => string;
  before: string;
  after: string;
}

const ENGLISH: Record<"magic" | "email", Words> = {
  magic: {
    subject: (hostname) => `Sign in to ${hostname}`,
    before: "Open this link in the browser that asked for it, within 15 minutes. It works once:",
    after: "If you did not ask for it, ignore this mail.",
  },
  email: {
    subject: (hostname) => `Your address at ${hostname}`,
    before: "Open this link where you are signed in, within a day. It shows that this address is yours:",
    after: "If you did not ask for it, ignore this mail.",
  },
};

const PORTUGUESE: typeof ENGLISH = {
  magic: {
    subject: (hostname) => `Entrar em ${hostname}`,
    before: "Abra esta ligação no navegador que a pediu, dentro de 15 minutos. Funciona uma vez:",
    after: "Se não a pediu, ignore esta mensagem.",
  },
  email: {
    subject: (hostname) => `O seu endereço em ${hostname}`,
    before: "Abra esta ligação onde tem sessão iniciada, dentro de um dia. Mostra que este endereço é seu:",
    after: "Se não a pediu, ignore esta mensagem.",
  },
};

/** The link leads to where the browser is. */
function writeMail(kind: keyof typeof ENGLISH, { language }: UserRow, { path, arrival, hostname }: Place) {
  const isPortuguese = language === "pt-PT" || language === "pt-BR";
  const { subject, before, after } = (isPortuguese ? PORTUGUESE : ENGLISH)[kind];
  return { subject: subject(hostname), text: `${before}\n\n${arrival.origin}${path}\n\n${after}\n` };
}
