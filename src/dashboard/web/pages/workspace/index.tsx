// The pages of a workspace.

import { useRoute } from "preact-iso";
import { Card, Page, t, workspace } from "../../kit.ts";

export function WorkspacePages() {
  useRoute();
  return (
    <Page title={workspace.value?.name ?? t().workspace.home}>
      <Card title={t().workspace.home} />
    </Page>
  );
}
