// A QR code, drawn as SVG elements: no markup is made of text.

import { generate } from "lean-qr";
import { toSvgPath } from "lean-qr/extras/svg";
import { useMemo } from "../../kit.ts";

/** Light modules around it (ISO/IEC 18004). */
const QUIET = 4;

export function QrCode({ text, label }: { text: string; label: string }) {
  const { size, path } = useMemo(() => draw(text), [text]);
  const whole = size + 2 * QUIET;
  return (
    <svg class="qr" viewBox={`${-QUIET} ${-QUIET} ${whole} ${whole}`} role="img" aria-label={label}>
      <path d={path} />
    </svg>
  );
}

function draw(text: string): { size: number; path: string } {
  const code = generate(text);
  return { size: code.size, path: toSvgPath(code) };
}
