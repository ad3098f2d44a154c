// A message that is being written: it outlives the page that shows it and a server that is away, but not the tab.

import { useEffect, useState, workspace } from "../../../kit.ts";

export interface Draft {
  workspace: string;
  /** By the names of the form's fields. */
  values: Record<string, string>;
  /** Of the last try: the same body again has the same key, so that an answer that was lost does not send twice. */
  sent: { json: string; key: string } | null;
}

/** Keeps one draft of a kind of message. `makeMore`: what it has beside its fields. */
export function createDrafts<More extends object>(makeMore: () => More) {
  let kept: (Draft & More) | null = null;
  return {
    open(of: string): Draft & More {
      if (kept?.workspace !== of) kept = { ...makeMore(), workspace: of, values: {}, sent: null };
      return kept;
    },
    forget(): void {
      kept = null;
    },
  };
}

/** That of the workspace; the browser asks before it is lost. */
export function useDraft<More extends object>(
  drafts: ReturnType<typeof createDrafts<More>>,
  isWritten: (draft: Draft & More) => boolean,
): Draft & More {
  const [draft] = useState(() => drafts.open(workspace.value?.id ?? ""));
  useEffect(() => {
    const ask = (event: BeforeUnloadEvent) => {
      if (isWritten(draft)) event.preventDefault();
    };
    addEventListener("beforeunload", ask);
    return () => removeEventListener("beforeunload", ask);
  }, []);
  return draft;
}

/** The Idempotency-Key of a try to send this body. */
export function findKey(draft: Draft, body: object): string {
  const json = JSON.stringify(body);
  if (draft.sent?.json !== json) draft.sent = { json, key: crypto.randomUUID() };
  return draft.sent.key;
}

/** Notes what is typed into one of its fields. */
export function noteInput({ values }: Draft, { target }: Event): void {
  if (target instanceof HTMLInputElement && target.type === "file") return;
  if (
    target instanceof HTMLInputElement ||
    target instanceof HTMLTextAreaElement ||
    target instanceof HTMLSelectElement
  )
    values[target.name] = target.value;
}
