import { t } from "../i18n/index.ts";
import { Button } from "./button.tsx";

/** The way through a list; null: there is no page in that direction. */
export function Pagination({
  previous,
  next,
  label,
  newer = t().common.newer,
}: {
  previous: (() => void) | null;
  next: (() => void) | null;
  label?: string;
  /** The words on the button to the previous page. */
  newer?: string | undefined;
}) {
  if (previous === null && next === null) return null;
  return (
    <nav class="pagination" aria-label={label ?? t().common.pages}>
      <Button icon="back" disabled={previous === null} onClick={() => previous?.()}>
        {newer}
      </Button>
      <Button disabled={next === null} onClick={() => next?.()}>
        {t().common.older}
      </Button>
    </nav>
  );
}
