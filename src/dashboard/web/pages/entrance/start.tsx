// /dashboard: on to the first workspace; an operator without one names it here.

import { useState } from "preact/hooks";
import { useLocation } from "preact-iso";
import { call } from "../../api/client.ts";
import { t } from "../../i18n/index.ts";
import { loadMe, me, workspace, workspacePath } from "../../state/session.ts";
import { SecretDialog } from "../../ui/dialog.tsx";
import { Field } from "../../ui/field.tsx";
import { Form, useForm } from "../../ui/form.tsx";
import { EmptyState, Page } from "../../ui/page.tsx";
import { Redirect } from "./redirect.tsx";

export function Start() {
  const first = workspace.value ?? me.value?.workspaces[0];
  if (first !== undefined) return <Redirect to={workspacePath("", first.id)} />;
  if (me.value?.user.isOperator === true) return <CreateWorkspace />;
  const words = t().entrance;
  return (
    <Page title={words.noWorkspaceTitle}>
      <EmptyState icon="people" title={words.noWorkspace} />
    </Page>
  );
}

/** /dashboard/new, and where an operator has none. */
export function CreateWorkspace() {
  const [created, setCreated] = useState<{ id: string; key: string } | null>(null);
  const { route } = useLocation();
  const words = t().entrance;
  const form = useForm(async ({ name = "" }) => {
    const { data } = await call("POST /api/v1/workspaces", { body: { name } });
    setCreated({ id: data.workspaceId, key: data.apiKey.key });
  });
  const goOn = async () => {
    const id = created?.id ?? null;
    await loadMe();
    route(workspacePath("", id), true);
  };
  return (
    <Page title={words.workspaceTitle} intro={words.workspaceIntro}>
      <section class="card narrow">
        <Form state={form} action={words.createWorkspace}>
          <Field name="name" label={words.workspaceName} placeholder={words.workspaceExample} isFocused required />
        </Form>
      </section>
      {created !== null && (
        <SecretDialog title={words.firstKeyTitle} secret={created.key} close={() => void goOn()}>
          <p>{words.firstKey}</p>
        </SecretDialog>
      )}
    </Page>
  );
}
