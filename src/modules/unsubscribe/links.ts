// The addresses by which the recipient of an email unsubscribes from its list: a page of this instance, and one for mail.

import { isGenuine, readToken, writeToken } from "../../protocols/dsn/signed-token.ts";
import type { UnsubscribeAddresses } from "../emails/content/unsubscribe.ts";

const MAIL_PREFIX = "u+";
/** The key has no other purpose, so that a token needs to be bound to nothing but the id. */
const BOUND = "";

export interface UnsubscribeLinks {
  /** False: the operator has set no public URL. */
  isHosted: () => boolean;
  /** Those of the email `uid`; null: nobody could open them, because nothing is hosted here. */
  build: (uid: string) => UnsubscribeAddresses | null;
  /** The id of the email that a token was made for; null: it was not made here. Compares in constant time. */
  readToken: (token: string) => string | null;
  /** The same for the local part of the address for mail. */
  readLocalPart: (localPart: string) => string | null;
}

export interface UnsubscribeSettings {
  /** As `https://mail.example.net`; null: there is none. Asked each time: a sandbox's port is chosen at its start. */
  findOrigin: () => string | null;
  /** Takes the mail; null: nothing comes in. */
  mailHost: string | null;
  key: Uint8Array;
}

export function createUnsubscribeLinks({ findOrigin, mailHost, key }: UnsubscribeSettings): UnsubscribeLinks {
  const read = (text: string) => {
    const token = readToken(text);
    return token !== null && isGenuine(token, BOUND, key) ? token.id : null;
  };
  return {
    isHosted: () => findOrigin() !== null,
    build(uid) {
      const origin = findOrigin();
      if (origin === null) return null;
      const token = writeToken(uid, BOUND, key);
      return {
        url: `${origin}/u/${token}`,
        mail: mailHost === null ? null : `${MAIL_PREFIX}${token}@${mailHost}`,
      };
    },
    readToken: read,
    readLocalPart: (local) =>
      local.slice(0, MAIL_PREFIX.length).toLowerCase() === MAIL_PREFIX ? read(local.slice(MAIL_PREFIX.length)) : null,
  };
}
