// An address that leads to no page.

import { t } from "../i18n/index.ts";
import { LinkButton } from "../ui/button.tsx";
import { EmptyState, Page } from "../ui/page.tsx";

export function NotFound() {
  return (
    <Page title={t().shell.notFoundTitle}>
      <EmptyState icon="search" title={t().shell.notFound}>
        <LinkButton href="/dashboard">{t().shell.goHome}</LinkButton>
      </EmptyState>
    </Page>
  );
}
