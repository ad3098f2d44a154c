// Pages in scripts of their own, which come when they are first shown; and what stands there when one fails.

import { signal } from "@preact/signals";
import type { ComponentChildren, ComponentType } from "preact";
import { useEffect, useErrorBoundary } from "preact/hooks";
import { useLocation } from "preact-iso";
import { loadSection, type Section, t } from "../i18n/index.ts";
import { Button } from "../ui/button.tsx";
import { EmptyState, Loading, Page } from "../ui/page.tsx";

interface LaterPage {
  Page: ComponentType;
  /** Before it is shown. */
  load: () => void;
}

/**
 * `bring` gets the page's script; the words of its section come beside it. What does not come is tried again when the
 * page is next shown.
 */
export function createLaterPage(bring: () => Promise<ComponentType>, section?: Section): LaterPage {
  const page = signal<ComponentType | null>(null);
  const hasFailed = signal(false);
  let isComing = false;
  const load = () => {
    if (isComing || page.value !== null) return;
    isComing = true;
    hasFailed.value = false;
    void Promise.all([bring(), section === undefined ? undefined : loadSection(section)])
      .then(([brought]) => (page.value = brought))
      // The server is away, or another version than this page.
      .catch(() => (hasFailed.value = true))
      .finally(() => (isComing = false));
  };
  function Later() {
    useEffect(load, []);
    const Brought = page.value;
    if (Brought !== null) return <Brought />;
    return hasFailed.value ? <Failed /> : <Loading />;
  }
  return { Page: Later, load };
}

/** A fault in a page leaves the shell as it is, and the next page is drawn anew. */
export function WhenItFails({ children }: { children: ComponentChildren }) {
  const { url } = useLocation();
  const boundary: [error: unknown, reset: () => void] = useErrorBoundary((fault: unknown) => reportError(fault));
  const [error, reset] = boundary;
  useEffect(reset, [url]);
  return error === undefined ? <>{children}</> : <Failed />;
}

function Failed() {
  const words = t().shell;
  return (
    <Page title={words.failedTitle}>
      <EmptyState icon="alert" title={words.failed}>
        <Button onClick={() => location.reload()}>{words.reload}</Button>
      </EmptyState>
    </Page>
  );
}
