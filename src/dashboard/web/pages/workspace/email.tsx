// One email: what it is, what happened to it and why, and what can be done.

import type { ComponentChildren } from "preact";
import {
  Button,
  call,
  Card,
  ConfirmDialog,
  CopyButton,
  type Data,
  ErrorNotice,
  followEmails,
  invalidate,
  LinkButton,
  Loading,
  Notice,
  Page,
  showToast,
  t,
  Time,
  useCall,
  useEffect,
  useForm,
  useState,
  workspacePath,
} from "../../kit.ts";
import { writeSendCurl } from "./parts/curl.ts";
import { may } from "./parts/rights.ts";
import { findStatus, StatusBadge } from "./parts/status.tsx";
import { Timeline } from "./parts/timeline.tsx";

type EmailRecord = Data<"GET /api/v1/emails/:id">;

export function Email({ id }: { id: string }) {
  const { data, error, reload } = useCall("GET /api/v1/emails/:id", { params: { id } });
  const events = useCall("GET /api/v1/emails/:id/events", { params: { id } });
  useEffect(() => followEmails([id]), [id]);
  const words = t().email;
  const back = (
    <LinkButton look="bare" icon="back" href={workspacePath("emails")}>
      {words.back}
    </LinkButton>
  );
  if (data === undefined)
    return (
      <Page title={words.title} actions={back}>
        {error === null ? (
          <Loading />
        ) : error.status === 404 ? (
          <Notice>{words.gone}</Notice>
        ) : (
          <ErrorNotice error={error} retry={reload} />
        )}
      </Page>
    );
  return (
    <Page title={words.title} actions={back}>
      <Card>
        <h2 class="subject">
          <bdi>{data.subject}</bdi>
        </h2>
        <Now email={data} />
        <Facts email={data} />
        <Actions email={data} />
      </Card>
      <Card title={words.timeline}>
        {events.error !== null && <ErrorNotice error={events.error} retry={events.reload} />}
        {events.data !== undefined && <Timeline entries={events.data} />}
      </Card>
      <Contents email={data} />
    </Page>
  );
}

/** Its status in a sentence, with what happens next. */
function Now({ email }: { email: EmailRecord }) {
  const words: Record<string, string> = t().now;
  const status = findStatus(email.id, email.status);
  return (
    <div class="now">
      <StatusBadge id={email.id} status={email.status} />
      <p>
        {words[status]}
        {status === "delivery_delayed" && email.nextAttemptAt !== null && (
          <>
            {" "}
            <Time value={email.nextAttemptAt} />
          </>
        )}
      </p>
      {email.possibleDuplicate && <p class="small soft">{t().email.duplicate}</p>}
    </div>
  );
}

function Facts({ email }: { email: EmailRecord }) {
  const words = t().email;
  return (
    <dl class="facts">
      <Fact name={words.from}>
        <bdi>{email.from}</bdi>
      </Fact>
      <Fact name={words.to}>
        <bdi>{email.to}</bdi>
      </Fact>
      {email.replyTo !== null && (
        <Fact name={words.replyTo}>
          <bdi>{email.replyTo}</bdi>
        </Fact>
      )}
      <Fact name={words.created}>
        <Time value={email.createdAt} isFull />
      </Fact>
      {email.deliveredAt !== null && (
        <Fact name={words.delivered}>
          <Time value={email.deliveredAt} isFull />
        </Fact>
      )}
      {email.providerId !== null && (
        <Fact name={words.messageId}>
          <code>{email.providerId}</code>
        </Fact>
      )}
      <Fact name={words.id}>
        <code>{email.id}</code>
      </Fact>
    </dl>
  );
}

function Fact({ name, children }: { name: string; children: ComponentChildren }) {
  return (
    <div>
      <dt>{name}</dt>
      <dd>{children}</dd>
    </div>
  );
}

function Actions({ email }: { email: EmailRecord }) {
  const words = t().email;
  const [isCanceling, setCanceling] = useState(false);
  const { id } = email;
  const params = { id };
  const retry = useForm(async () => {
    await call("POST /api/v1/emails/:id/retry", { params });
    invalidate("/api/v1/emails");
    showToast(words.retried);
  });
  const cancel = async () => {
    await call("POST /api/v1/emails/:id/cancel", { params });
    invalidate("/api/v1/emails");
    showToast(words.canceled);
  };
  const status = findStatus(id, email.status);
  const isWaiting = status === "queued" || status === "delivery_delayed";
  return (
    <div class="actions">
      {may("send") && status === "delivery_delayed" && (
        <Button look="primary" isBusy={retry.isBusy} onClick={() => retry.submit({})}>
          {words.retry}
        </Button>
      )}
      {may("send") && isWaiting && <Button onClick={() => setCanceling(true)}>{words.cancel}</Button>}
      {may("content") && <CopyButton label={words.curl} text={writeSendCurl(location.origin, null, email)} />}
      {retry.error !== null && <ErrorNotice error={retry.error} />}
      {isCanceling && (
        <ConfirmDialog title={words.cancelTitle} action={words.cancel} run={cancel} close={() => setCanceling(false)}>
          <p>{words.cancelText}</p>
        </ConfirmDialog>
      )}
    </div>
  );
}

/** As text only: nothing of a message runs here or is loaded. */
function Contents({ email: { html, text } }: { email: EmailRecord }) {
  const words = t().email;
  const isKept = html !== null || text !== null;
  return (
    <Card title={words.contents}>
      {!may("content") && <p class="soft">{words.contentsHidden}</p>}
      {may("content") && !isKept && <p class="soft">{words.contentsNone}</p>}
      {text !== null && (
        <details open>
          <summary>{words.contentsText}</summary>
          <textarea
            class="message"
            dir="auto"
            rows={countRows(text)}
            readOnly
            value={text}
            aria-label={words.contentsText}
          />
        </details>
      )}
      {html !== null && (
        <details open={text === null}>
          <summary>{words.contentsHtml}</summary>
          <textarea
            class="message"
            dir="ltr"
            rows={countRows(html)}
            readOnly
            value={html}
            aria-label={words.contentsHtml}
          />
        </details>
      )}
    </Card>
  );
}

const MAX_ROWS = 16;

/** No higher than it needs. */
function countRows(text: string): number {
  return Math.min(MAX_ROWS, text.split("\n", MAX_ROWS).length + 1);
}
