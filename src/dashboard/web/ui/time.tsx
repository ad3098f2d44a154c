import { serverNow } from "../api/server-clock.ts";
import { t } from "../i18n/index.ts";
import { formatAgo, formatTime } from "./format-time.ts";

/** When something was: "3 minutes ago", with the full time behind it; `isFull`: the full time. */
export function Time({ value, isFull = false }: { value: string | null | undefined; isFull?: boolean }) {
  if (value === null || value === undefined) return <span class="soft">{t().common.never}</span>;
  const full = formatTime(value);
  return (
    <time dateTime={value} title={full}>
      {isFull ? full : formatAgo(value, serverNow())}
    </time>
  );
}
