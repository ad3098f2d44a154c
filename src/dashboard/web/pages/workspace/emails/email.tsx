// One email: what it is, what happened to it and why, and what can be done.

import {
  Button,
  call,
  Card,
  type Data,
  download,
  ErrorNotice,
  followMessages,
  LinkButton,
  Loading,
  Notice,
  Page,
  t,
  Time,
  useCall,
  useEffect,
  useForm,
  workspacePath,
} from "../../../kit.ts";
import { Attachments } from "./attachments.tsx";
import { EmailActions } from "./actions.tsx";
import { Fact } from "../parts/fact.tsx";
import { History } from "./history.tsx";
import { Preview } from "../parts/preview.tsx";
import { Recipients } from "./recipients.tsx";
import { useSeesContent } from "../parts/rights.ts";
import { Source } from "../parts/source.tsx";
import { findStatus, StatusBadge } from "../parts/status.tsx";

type EmailRecord = Data<"GET /api/v1/emails/:id">;

export function Email({ id }: { id: string }) {
  const { data, error, reload } = useCall("GET /api/v1/emails/:id", { params: { id } });
  useEffect(() => followMessages([id]), [id]);
  const words = t().email;
  const back = (
    <LinkButton look="bare" icon="back" href={workspacePath("emails")}>
      {words.back}
    </LinkButton>
  );
  if (data === undefined)
    return (
      <Page title={words.title} back={back}>
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
    <Page title={words.title} back={back}>
      <Card>
        <h2 class="subject">
          <bdi>{data.subject}</bdi>
        </h2>
        <Now email={data} />
        <Facts email={data} />
        <EmailActions email={data} />
      </Card>
      {data.recipients !== null && <Recipients recipients={data.recipients} shownId={id} />}
      <History id={id} status={data.status} />
      {data.attachments.length > 0 && <Attachments email={data} />}
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
        {(status === "delivery_delayed" || status === "scheduled") && email.nextAttemptAt !== null && (
          <>
            {" "}
            <Time value={email.nextAttemptAt} isFull={status === "scheduled"} />
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
      <Fact name={words.kinds[email.kind]}>
        <bdi>{email.toName === null ? email.to : `${email.toName} <${email.to}>`}</bdi>
      </Fact>
      {email.replyToAll !== null && (
        <Fact name={words.replyTo}>
          {email.replyToAll.map((each) => (
            <div key={each}>
              <bdi>{each}</bdi>
            </div>
          ))}
        </Fact>
      )}
      {email.sentBy !== null && (
        <Fact name={words.sentBy}>
          <bdi>{email.sentBy.name ?? words.sentByGone[email.sentBy.kind]}</bdi>
        </Fact>
      )}
      <Fact name={words.source}>{words.sources[email.source]}</Fact>
      <Fact name={words.created}>
        <Time value={email.createdAt} isFull />
      </Fact>
      {email.sendAt !== null && (
        <Fact name={words.sendAt}>
          <Time value={email.sendAt} isFull />
        </Fact>
      )}
      {email.deliveredAt !== null && (
        <Fact name={words.delivered}>
          <Time value={email.deliveredAt} isFull />
        </Fact>
      )}
      {email.tag !== null && (
        <Fact name={words.tag}>
          <a href={`${workspacePath("emails")}?tag=${encodeURIComponent(email.tag)}`}>{email.tag}</a>
        </Fact>
      )}
      {email.metadata !== null && (
        <Fact name={words.metadata}>
          {Object.entries(email.metadata).map(([name, value]) => (
            <div key={name}>
              <code>{name}</code> <bdi>{value}</bdi>
            </div>
          ))}
        </Fact>
      )}
      {email.unsubscribe !== null && (
        <Fact name={email.unsubscribe.list === undefined ? words.unsubscribePage : words.list}>
          <bdi>{email.unsubscribe.list ?? email.unsubscribe.url}</bdi>
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

/** As text, and the html in a frame of its own: nothing of a message runs here or is loaded. */
function Contents({ email: { id, html, text, headers, source } }: { email: EmailRecord }) {
  const words = t().email;
  const isSeen = useSeesContent();
  const { isBusy, error, submit } = useForm(() => download(`/api/v1/emails/${id}/raw`, `${id}.eml`));
  const isKept = html !== null || text !== null;
  // A message that came by SMTP may hold files only.
  const mayBeKept = isKept || source === "smtp";
  const save =
    isSeen === true && mayBeKept ? (
      <Button isBusy={isBusy} onClick={() => submit({})}>
        {words.downloadMessage}
      </Button>
    ) : undefined;
  return (
    <Card title={words.contents} actions={save}>
      {error !== null && <ErrorNotice error={error} />}
      {isSeen === false && <p class="soft">{words.contentsHidden}</p>}
      {isSeen === true && !isKept && (
        <p class="soft">{source === "smtp" ? words.contentsNoText : words.contentsNone}</p>
      )}
      {isSeen === true && html !== null && (
        <Preview of={id} ask={() => call("POST /api/v1/emails/:id/preview", { params: { id } })} />
      )}
      {isSeen === true && text !== null && (
        <Source title={words.contentsText} direction="auto" source={text} isOpen={html === null} />
      )}
      {isSeen === true && html !== null && (
        <Source title={words.contentsHtml} direction="ltr" source={html} isOpen={false} />
      )}
      {isSeen === true && headers !== null && (
        <Source title={words.contentsHeaders} direction="ltr" source={writeFields(headers)} isOpen={false} />
      )}
    </Card>
  );
}

function writeFields(headers: Record<string, string>): string {
  return Object.entries(headers)
    .map(([name, value]) => `${name}: ${value}`)
    .join("\n");
}
