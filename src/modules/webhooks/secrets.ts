// The secrets of webhooks: sealed in the database, opened to sign calls.

import type { Keyring } from "../../platform/keyring/keyring.ts";
import type { WebhookRow } from "./store.ts";

/** Webhooks whose secrets are cached in the clear. */
const MAX_CACHED = 10_000;

/** Earlier secrets that still sign, at most: each is a signature in every call's header. */
export const MAX_OLD_SECRETS = 5;

/** Binds a sealed secret to its row. */
export function getSealContext(uid: string): string {
  return `webhook ${uid}`;
}

/** A replaced secret, which signs until its grace is over. */
export interface OldSecret {
  /** Base64. */
  sealed: string;
  /** Unix ms. */
  until: number;
}

/** The earlier secrets of a webhook that are valid at `now`, the newest first. */
export function listOldSecrets({ oldSecrets }: Pick<WebhookRow, "oldSecrets">, now: number): OldSecret[] {
  return (JSON.parse(oldSecrets) as OldSecret[]).filter(({ until }) => now < until);
}

export interface Secrets {
  /** The secrets that sign a call at `now`, the newest first. Throws SealError. */
  open(webhook: WebhookRow, now: number): Uint8Array[];
}

/** Unseals secrets, each once while its row stays as it is. */
export function openSecrets(keyring: Pick<Keyring, "unseal">): Secrets {
  const opened = new Map<string, Uint8Array>();
  const open = (uid: string, sealed: string): Uint8Array => {
    const name = `${uid} ${sealed}`;
    const known = opened.get(name);
    if (known !== undefined) return known;
    const secret = keyring.unseal(Buffer.from(sealed, "base64"), getSealContext(uid));
    if (opened.size >= MAX_CACHED) opened.clear();
    opened.set(name, secret);
    return secret;
  };
  return {
    open(webhook, now) {
      const sealed = [webhook.secret.toString("base64"), ...listOldSecrets(webhook, now).map((old) => old.sealed)];
      return sealed.map((each) => open(webhook.uid, each));
    },
  };
}
