// After a restore: who and which keys are there again, for the operator who opens a link.

import type { Data } from "../../api/calls.ts";
import { t } from "../../i18n/index.ts";
import { Badge } from "../../ui/badge.tsx";
import { formatTime } from "../../ui/format-time.ts";
import { Notice } from "../../ui/page.tsx";
import { Time } from "../../ui/time.tsx";

type Found = NonNullable<Data<"POST /api/v1/auth/links/inspect">["review"]>;

export function Review({ review: { since, people, keys } }: { review: Found }) {
  const words = t().entrance;
  return (
    <section class="review">
      <Notice tone="slow">
        <p>{words.review(formatTime(since))}</p>
      </Notice>
      <details open>
        <summary>{words.reviewPeople(people.length)}</summary>
        <ul class="rows">
          {people.map(({ email, name, isOperator, workspaces }) => (
            <li key={email}>
              <div class="row-text">
                <strong>
                  {name} {isOperator && <Badge tone="slow">{t().roles.operator}</Badge>}
                </strong>
                <span class="soft small">{email}</span>
                {workspaces.map((workspace) => (
                  <span key={workspace.id} class="small">
                    {workspace.name}: {t().roles[workspace.role]}
                  </span>
                ))}
              </div>
            </li>
          ))}
        </ul>
      </details>
      <details open>
        <summary>{words.reviewKeys(keys.length)}</summary>
        <ul class="rows">
          {keys.map(({ name, prefix, workspaceName, lastUsedAt }) => (
            <li key={prefix}>
              <div class="row-text">
                <strong>{name}</strong>
                <span class="soft small">
                  {workspaceName} · <code>svc_{prefix}…</code>
                </span>
                <span class="soft small">
                  {words.reviewLastUsed} <Time value={lastUsedAt} />
                </span>
              </div>
            </li>
          ))}
        </ul>
      </details>
    </section>
  );
}
