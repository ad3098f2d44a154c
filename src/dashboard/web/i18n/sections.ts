// Words that come with the pages of their section, so that the first page does not wait for them.

import type { Language } from "./languages.ts";
import type { Translation } from "./translation.ts";

/** Each file of words exports them under the names by which pages ask for them. */
function inEach<Words>(
  en: () => Promise<Words>,
  ptPt: () => Promise<Translation<Words>>,
  ptBr: () => Promise<Translation<Words>>,
) {
  return { en, "pt-PT": ptPt, "pt-BR": ptBr } satisfies Record<Language, unknown>;
}

export const SECTIONS = {
  account: inEach(
    () => import("./en/account.ts"),
    () => import("./pt-pt/account.ts"),
    () => import("./pt-br/account.ts"),
  ),
  credits: inEach(
    () => import("./en/credits.ts"),
    () => import("./pt-pt/credits.ts"),
    () => import("./pt-br/credits.ts"),
  ),
  "sms-compose": inEach(
    () => import("./en/sms-compose.ts"),
    () => import("./pt-pt/sms-compose.ts"),
    () => import("./pt-br/sms-compose.ts"),
  ),
  domains: inEach(
    () => import("./en/domains.ts"),
    () => import("./pt-pt/domains.ts"),
    () => import("./pt-br/domains.ts"),
  ),
  requests: inEach(
    () => import("./en/requests.ts"),
    () => import("./pt-pt/requests.ts"),
    () => import("./pt-br/requests.ts"),
  ),
  settings: inEach(
    () => import("./en/settings.ts"),
    () => import("./pt-pt/settings.ts"),
    () => import("./pt-br/settings.ts"),
  ),
  compose: inEach(
    () => import("./en/compose.ts"),
    () => import("./pt-pt/compose.ts"),
    () => import("./pt-br/compose.ts"),
  ),
  sms: inEach(
    () => import("./en/sms.ts"),
    () => import("./pt-pt/sms.ts"),
    () => import("./pt-br/sms.ts"),
  ),
  suppressions: inEach(
    () => import("./en/suppressions.ts"),
    () => import("./pt-pt/suppressions.ts"),
    () => import("./pt-br/suppressions.ts"),
  ),
  webhooks: inEach(
    () => import("./en/webhooks.ts"),
    () => import("./pt-pt/webhooks.ts"),
    () => import("./pt-br/webhooks.ts"),
  ),
};

export type Section = keyof typeof SECTIONS;
