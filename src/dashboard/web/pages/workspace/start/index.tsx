// The start of a workspace: is mail flowing, what needs me, and the first steps.

import {
  Card,
  type Data,
  ErrorNotice,
  LinkButton,
  Loading,
  Page,
  t,
  useCall,
  useState,
  workspacePath,
} from "../../../kit.ts";
import { EmailTable } from "../emails/table.tsx";
import { TestSendButton } from "../emails/test-send.tsx";
import { FirstSteps } from "./first-steps.tsx";
import { Flow } from "./flow.tsx";
import { Needs } from "./needs.tsx";
import { findSender } from "../parts/first-email.ts";
import { findStatus } from "../parts/status.tsx";
import { Usage } from "./usage.tsx";

const LATEST = 5;

export function Home() {
  const words = t().home;
  const workspace = useCall("GET /api/v1/workspace", { query: { include: "usage" } });
  const domains = useCall("GET /api/v1/domains", { query: { limit: "100" } });
  const emails = useCall("GET /api/v1/emails", { query: { limit: String(LATEST), include: "status" } });
  const [wasNew, setNew] = useState(false);
  const all = [workspace, domains, emails];
  const usage = workspace.data?.usage;
  const failed = all.find(({ error }) => error !== null);
  if (workspace.data === undefined || usage === undefined || domains.data === undefined || emails.data === undefined)
    return (
      <Page title={words.title}>
        {failed?.error ? (
          <ErrorNotice error={failed.error} retry={() => all.forEach(({ reload }) => reload())} />
        ) : (
          <Loading />
        )}
      </Page>
    );
  const isNew = isFirstMail(emails.data, emails.meta?.total ?? 0);
  // The last tick is seen: the steps stay until the page is left.
  if (isNew && !wasNew) setNew(true);
  const state = { workspace: workspace.data, usage, domains: domains.data, emails: emails.data };
  return (
    <Page title={workspace.data.name} actions={findSender(domains.data) && <TestSendButton />}>
      <Flow {...state} />
      <Needs {...state} isNew={isNew} />
      {(isNew || wasNew) && <FirstSteps {...state} hasKey={usage.usage.apiKeys > 0} />}
      {emails.data.length > 0 && (
        <Card title={words.latest} actions={<LinkButton href={workspacePath("emails")}>{words.latestAll}</LinkButton>}>
          <EmailTable emails={emails.data} />
        </Card>
      )}
      <Usage usage={usage} />
    </Page>
  );
}

/** Nothing was delivered yet, and little was tried. */
function isFirstMail(emails: Data<"GET /api/v1/emails">, total: number): boolean {
  return total <= LATEST && !emails.some(({ id, status }) => ["delivered", "sent"].includes(findStatus(id, status)));
}
