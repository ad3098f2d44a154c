import { t } from "../i18n/index.ts";
import { LinkButton } from "./button.tsx";
import { EmptyState, Page } from "./page.tsx";

export function NotFound() {
  return (
    <Page title={t().shell.notFoundTitle}>
      <EmptyState icon="search" title={t().shell.notFound}>
        <LinkButton href="/dashboard">{t().shell.goHome}</LinkButton>
      </EmptyState>
    </Page>
  );
}
