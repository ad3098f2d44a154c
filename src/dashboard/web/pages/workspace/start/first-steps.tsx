// The first steps: domain, key, first email, delivered. Each ticks itself when it is done, here or by the API.

import {
  ApiError,
  Button,
  call,
  Card,
  CodeBlock,
  type Data,
  ErrorNotice,
  followMessages,
  Icon,
  LinkButton,
  me,
  t,
  useEffect,
  useLocation,
  useState,
  workspacePath,
} from "../../../kit.ts";
import { writeSendCurl } from "../parts/curl.ts";
import { AddDomainForm } from "../domains/add.tsx";
import { buildFirstEmail, findSender } from "../parts/first-email.ts";
import { may } from "../parts/rights.ts";
import { findStatus, StatusBadge } from "../parts/status.tsx";
import { isolate } from "../parts/words.tsx";

export interface StepsProps {
  domains: Data<"GET /api/v1/domains">;
  emails: Data<"GET /api/v1/emails">;
  hasKey: boolean;
}

export function FirstSteps({ domains, emails, hasKey }: StepsProps) {
  const words = t().home;
  const sender = findSender(domains);
  const waiting = domains.find(({ status }) => status === "pending" || status === "failed");
  const [newest] = emails;
  const delivered = emails.find(({ id, status }) => ["delivered", "sent"].includes(findStatus(id, status)));
  const steps = [
    {
      isDone: sender !== undefined,
      title: sender === undefined ? words.stepDomain : words.stepDomainDone(isolate(sender.domain)),
      body: <DomainStep waiting={waiting} />,
    },
    { isDone: hasKey, title: hasKey ? words.stepKeyDone : words.stepKey, body: <KeyStep /> },
    {
      isDone: newest !== undefined,
      title: newest === undefined ? words.stepEmail : words.stepEmailDone,
      body: <EmailStep domains={domains} />,
    },
    {
      isDone: delivered !== undefined,
      title: delivered === undefined ? words.stepDelivered : words.stepDeliveredDone,
      body: <p class="soft">{words.stepDeliveredText}</p>,
    },
  ];
  const current = steps.findIndex(({ isDone }) => !isDone);
  return (
    <Card title={words.steps}>
      <ol class="steps">
        {steps.map(({ isDone, title, body }, index) => (
          <li key={index} class={isDone ? "done" : index === current ? "current" : "later"}>
            <span class="step-mark">
              {isDone ? <Icon name="check" size={16} /> : index + 1}
              {isDone && <span class="unseen">{words.stepsDone}</span>}
            </span>
            <div class="step-body">
              <h3>{title}</h3>
              {index === current && body}
              {index === 3 && newest !== undefined && <Arrived id={newest.id} status={newest.status} />}
            </div>
          </li>
        ))}
      </ol>
    </Card>
  );
}

function DomainStep({ waiting }: { waiting: StepsProps["domains"][number] | undefined }) {
  const words = t().home;
  const { route } = useLocation();
  if (waiting !== undefined)
    return (
      <>
        <p class="soft">{words.domainPending(isolate(waiting.domain))}</p>
        <LinkButton look="primary" href={workspacePath(`domains/${waiting.id}`)}>
          {words.domainShow}
        </LinkButton>
      </>
    );
  return (
    <>
      <p class="soft">{words.stepDomainText}</p>
      {may("manage") && <AddDomainForm added={(id) => route(workspacePath(`domains/${id}`))} />}
    </>
  );
}

function KeyStep() {
  return (
    <>
      <p class="soft">{t().home.stepKeyText}</p>
      <LinkButton look="primary" icon="key" href={workspacePath("keys")}>
        {t().keys.create}
      </LinkButton>
    </>
  );
}

/** One button, or one command; a key is made for the command and put in once. */
function EmailStep({ domains }: Pick<StepsProps, "domains">) {
  const words = t().home;
  const [key, setKey] = useState<string | null>(null);
  const [isBusy, setBusy] = useState(false);
  const [error, setError] = useState<ApiError | null>(null);
  const email = buildFirstEmail(domains, me.value?.user.email);
  if (email === null || !may("send")) return null;
  const run = async (work: () => Promise<void>) => {
    setBusy(true);
    setError(null);
    try {
      await work();
    } catch (caught) {
      if (!(caught instanceof ApiError)) throw caught;
      setError(caught);
    } finally {
      setBusy(false);
    }
  };
  const send = async () => void (await call("POST /api/v1/emails", { body: email }));
  const makeKey = async () => {
    const { data } = await call("POST /api/v1/auth/keys", { body: { name: words.firstKeyName } });
    setKey(data.key);
  };
  return (
    <>
      <p class="soft">{words.stepEmailText(isolate(email.to))}</p>
      <p>
        <Button look="primary" icon="send" isBusy={isBusy} onClick={() => void run(send)}>
          {words.stepEmailSend}
        </Button>
      </p>
      <CodeBlock code={writeSendCurl(location.origin, key, email)} />
      {may("manage") && (
        <p class="small soft">
          {key === null ? words.stepEmailNoKey : words.stepEmailWithKey}{" "}
          {key === null && (
            <Button look="bare" icon="key" disabled={isBusy} onClick={() => void run(makeKey)}>
              {words.stepEmailMakeKey}
            </Button>
          )}
        </p>
      )}
      {error !== null && <ErrorNotice error={error} />}
    </>
  );
}

function Arrived({ id, status }: { id: string; status: string | undefined }) {
  const words = t().home;
  useEffect(() => followMessages([id]), [id]);
  const isDelivered = findStatus(id, status) === "delivered";
  return (
    <p class="arrived">
      {!isDelivered && <StatusBadge id={id} status={status} />}
      <LinkButton look="bare" href={workspacePath(`emails/${id}`)}>
        {words.stepDeliveredShow}
      </LinkButton>
      {isDelivered && me.value?.instance.isSandbox === true && (
        <LinkButton look="bare" icon="mail" href="/sandbox">
          {words.stepDeliveredInbox}
        </LinkButton>
      )}
    </p>
  );
}
