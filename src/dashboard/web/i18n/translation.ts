// The keys of all languages, which English has first.

import type * as compose from "./en/compose.ts";
import type * as account from "./en/account.ts";
import type * as credits from "./en/credits.ts";
import type * as domains from "./en/domains.ts";
import type { en } from "./en/index.ts";
import type * as requests from "./en/requests.ts";
import type * as settings from "./en/settings.ts";
import type * as sms from "./en/sms.ts";
import type * as smsCompose from "./en/sms-compose.ts";
import type * as suppressions from "./en/suppressions.ts";
import type * as webhooks from "./en/webhooks.ts";

/** The same keys, each with words of another language: a missing or foreign one does not compile. */
export type Translation<Words> = {
  [Key in keyof Words]: Words[Key] extends string
    ? string
    : Words[Key] extends (...values: infer Values) => string
      ? (...values: Values) => string
      : Translation<Words[Key]>;
};

/** Those that every page has. */
export type FirstMessages = Translation<typeof en>;

/** With those of the sections, each of which only the section's own pages have. */
export type Messages = FirstMessages &
  Translation<
    typeof account &
      typeof compose &
      typeof credits &
      typeof domains &
      typeof requests &
      typeof settings &
      typeof sms &
      typeof smsCompose &
      typeof suppressions &
      typeof webhooks
  >;
