import type { ComponentChildren } from "preact";

export type Tone = "good" | "bad" | "slow" | "plain";

export function Badge({ tone = "plain", children }: { tone?: Tone; children: ComponentChildren }) {
  return <span class={`badge ${tone}`}>{children}</span>;
}
