// Sign-in by a mailed link: for members where the operator allows it, and only in the browser that asked.

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
      const mail = writeMail(user, { path, arrival, hostname: deps.hostname });
      deps.sendSystemMail({ to: email, until: expiresAt, ...mail });
    })
    .catch((error: unknown) => {
      if (!isStorageError(error)) deps.log.error("accounts", error);
    });
}

interface Place {
  path: string;
  arrival: Arrival;
  hostname: string;
}

/** The link leads to where the browser is: only there it works. */
function writeMail({ language }: UserRow, { path, arrival, hostname }: Place): { subject: string; text: string } {
  const url = arrival.origin + path;
  if (language === "pt-PT" || language === "pt-BR") {
    const text = `Abra esta ligação no navegador que a pediu, dentro de 15 minutos. Funciona uma vez:\n\n${url}\n\nSe não a pediu, ignore esta mensagem.\n`;
    return { subject: `Entrar em ${hostname}`, text };
  }
  const text = `Open this link in the browser that asked for it, within 15 minutes. It works once:\n\n${url}\n\nIf you did not ask for it, ignore this mail.\n`;
  return { subject: `Sign in to ${hostname}`, text };
}
