// Foreign words as text only: nothing in them runs here or is loaded.

interface SourceProps {
  title: string;
  direction: "auto" | "ltr";
  source: string;
  isOpen: boolean;
}

export function Source({ title, direction, source, isOpen }: SourceProps) {
  return (
    <details open={isOpen}>
      <summary>{title}</summary>
      <textarea class="message" dir={direction} rows={countRows(source)} readOnly value={source} aria-label={title} />
    </details>
  );
}

const MAX_ROWS = 16;

/** No higher than it needs. */
function countRows(text: string): number {
  return Math.min(MAX_ROWS, text.split("\n", MAX_ROWS).length + 1);
}
