// Whether mail is flowing, in a line.

import { type Data, formatNumber, t, Time, workspacePath } from "../../../kit.ts";
import { findSender } from "../parts/first-email.ts";
import { findStatus } from "../parts/status.tsx";

export type WorkspaceUsage = NonNullable<Data<"GET /api/v1/workspace">["usage"]>;

export interface HomeState {
  workspace: Data<"GET /api/v1/workspace">;
  usage: WorkspaceUsage;
  domains: Data<"GET /api/v1/domains">;
  /** The newest. */
  emails: Data<"GET /api/v1/emails">;
}

export function Flow({ workspace, domains, emails }: HomeState) {
  const words = t().home;
  const lastDelivered = emails.map(({ deliveredAt }) => deliveredAt).find((at) => at !== null);
  // The stream tells of it before the time is read.
  const isFlowing = emails.some(({ id, status }) => ["delivered", "sent"].includes(findStatus(id, status)));
  const isSlow = workspace.emailsDelayed > 0 && !isFlowing;
  const [tone, title] =
    workspace.block !== null
      ? (["bad", workspace.block.isHeld ? words.flowHeld : words.flowBlocked] as const)
      : findSender(domains) === undefined
        ? (["slow", words.flowSetup] as const)
        : isSlow
          ? (["slow", words.flowSlow] as const)
          : (["good", isFlowing ? words.flowOn : words.flowReady] as const);
  return (
    <p class={`flow ${tone}`}>
      <strong>
        <span class="dot" aria-hidden="true" />
        {title}
      </strong>
      <span class="soft">
        {lastDelivered === undefined ? (
          !isFlowing && words.flowNone
        ) : (
          <>
            {words.flowLast} <Time value={lastDelivered} />
          </>
        )}
      </span>
      {workspace.emailsDelayed > 0 && (
        <a href={workspacePath("emails?status=delivery_delayed")}>
          {words.delayed(formatNumber(workspace.emailsDelayed))}
        </a>
      )}
    </p>
  );
}
