import type { Keyring } from "../keyring/seal.ts";
import type { WebhookRow } from "./store.ts";

/** Webhooks whose secrets are remembered in the clear. */
const MAX_REMEMBERED = 10_000;

/** What a webhook's secret is sealed under: bound to its row. */
export function sealContext(uid: string): string {
  return `webhook ${uid}`;
}

export interface Secrets {
  /** The secrets that sign a call at `now`, the newest first. Throws SealError. */
  of(webhook: WebhookRow, now: number): Uint8Array[];
}

/** Unseals secrets, each once while its row stays as it is. */
export function openSecrets(keyring: Pick<Keyring, "unseal">): Secrets {
  const opened = new Map<string, Uint8Array>();
  const open = (uid: string, sealed: Buffer): Uint8Array => {
    const name = `${uid} ${sealed.toString("base64")}`;
    const known = opened.get(name);
    if (known !== undefined) return known;
    const secret = keyring.unseal(sealed, sealContext(uid));
    if (opened.size >= MAX_REMEMBERED) opened.clear();
    opened.set(name, secret);
    return secret;
  };
  return {
    of({ uid, secret, oldSecret, oldSecretUntil }, now) {
      const isOldValid = oldSecret !== null && oldSecretUntil !== null && now < oldSecretUntil;
      return isOldValid ? [open(uid, secret), open(uid, oldSecret)] : [open(uid, secret)];
    },
  };
}
