// An error of the API in the person's language, with the server's own words below.

import type { ErrorItem } from "../api/client.ts";
import { currentLanguage, t } from "../i18n/index.ts";

export function ErrorText({ item }: { item: ErrorItem }) {
  const known: Record<string, string> = t().errors;
  const own = known[`${item.code} ${item.field}`] ?? known[item.code];
  // At a field they say more.
  const isSpecific = item.field !== undefined || item.code === "VALIDATION_ERROR";
  const isServersShown = item.message !== "" && (own === undefined || currentLanguage.value !== "en" || isSpecific);
  return (
    <>
      {own !== undefined && !(currentLanguage.value === "en" && isServersShown) && <p>{own}</p>}
      {isServersShown && (
        <p class={own === undefined ? "" : "small"} lang="en">
          {startUpper(item.message)}
        </p>
      )}
      {item.hint !== undefined && (own === undefined || isServersShown) && (
        <p class="small" lang="en">
          {item.hint}
        </p>
      )}
    </>
  );
}

function startUpper(text: string): string {
  return text.charAt(0).toUpperCase() + text.slice(1);
}
