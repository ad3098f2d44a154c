// Short words at the edge of the page that go by themselves.

import { signal } from "@preact/signals";

export interface Toast {
  id: number;
  text: string;
  tone: "good" | "bad";
}

const SHOWN_MS = 6_000;

export const toasts = signal<Toast[]>([]);
let last = 0;

export function showToast(text: string, tone: Toast["tone"] = "good"): void {
  const id = ++last;
  toasts.value = [...toasts.value, { id, text, tone }];
  setTimeout(() => dismissToast(id), SHOWN_MS);
}

export function dismissToast(id: number): void {
  toasts.value = toasts.value.filter((toast) => toast.id !== id);
}
