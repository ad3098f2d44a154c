// The parts of every page: its heading, cards, notices, and what stands where nothing is.

import type { ComponentChildren } from "preact";
import { useEffect } from "preact/hooks";
import type { ApiError } from "../api/client.ts";
import { t } from "../i18n/index.ts";
import { Button } from "./button.tsx";
import { ErrorText } from "./error-text.tsx";
import { Icon, type IconName } from "./icon.tsx";
import { setTitle } from "./title.ts";

interface PageProps {
  title: string;
  intro?: ComponentChildren;
  /** A link to the list that it is of. */
  back?: ComponentChildren;
  /** Buttons at the heading. */
  actions?: ComponentChildren;
  children: ComponentChildren;
}

export function Page({ title, intro, back, actions, children }: PageProps) {
  useEffect(() => setTitle(title), [title]);
  return (
    <div class="page">
      {back !== undefined && <div class="page-back">{back}</div>}
      <header class="page-head">
        <div>
          <h1>{title}</h1>
          {intro !== undefined && <p class="intro">{intro}</p>}
        </div>
        {actions !== undefined && <div class="actions">{actions}</div>}
      </header>
      {children}
    </div>
  );
}

interface CardProps {
  title?: string;
  intro?: ComponentChildren;
  actions?: ComponentChildren;
  children?: ComponentChildren;
}

export function Card({ title, intro, actions, children }: CardProps) {
  return (
    <section class="card">
      {title !== undefined && (
        <header class="card-head">
          <h2>{title}</h2>
          {actions !== undefined && <div class="actions">{actions}</div>}
        </header>
      )}
      {intro !== undefined && <p class="intro">{intro}</p>}
      {children}
    </section>
  );
}

interface EmptyProps {
  icon: IconName;
  title: string;
  children?: ComponentChildren;
}

/** What a list shows that has nothing yet: what it is for, and the first step. */
export function EmptyState({ icon, title, children }: EmptyProps) {
  return (
    <div class="empty">
      <Icon name={icon} size={32} />
      <h2>{title}</h2>
      {children}
    </div>
  );
}

export function Loading() {
  return (
    <p class="loading" role="status">
      <span class="spinner" aria-hidden="true" />
      {t().common.loading}
    </p>
  );
}

export function Notice({
  tone = "plain",
  children,
}: {
  tone?: "good" | "bad" | "slow" | "plain";
  children: ComponentChildren;
}) {
  return (
    <div class={`notice ${tone}`} role={tone === "bad" ? "alert" : undefined}>
      {children}
    </div>
  );
}

export function ErrorNotice({ error, retry }: { error: ApiError; retry?: () => void }) {
  return (
    <Notice tone="bad">
      {error.items.map((item) => (
        <ErrorText key={item.code + item.message} item={item} />
      ))}
      {error.retryAfterS !== null && error.status === 429 && (
        <p class="small">{t().common.retryAfter(error.retryAfterS)}</p>
      )}
      {retry !== undefined && <Button onClick={retry}>{t().common.tryAgain}</Button>}
    </Notice>
  );
}
