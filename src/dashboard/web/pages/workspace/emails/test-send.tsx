// A small email of ready words, to see it go: each line of its dialogue as it is said.

import {
  Button,
  call,
  Dialog,
  ErrorNotice,
  Field,
  Form,
  invalidate,
  LinkButton,
  Loading,
  me,
  Notice,
  Select,
  t,
  useCall,
  useEffect,
  useForm,
  useRef,
  useState,
  workspacePath,
} from "../../../kit.ts";
import { may } from "../parts/rights.ts";
import { LiveDialogue } from "./dialogue.tsx";
import { useWatch } from "./watch.ts";

const EMAILS = "/api/v1/emails";

/** For those who may send. `domain`: the one to send from, where there are several. */
export function TestSendButton({ domain }: { domain?: string }) {
  const [isOpen, setOpen] = useState(false);
  if (!may("send")) return null;
  return (
    <>
      <Button icon="send" onClick={() => setOpen(true)}>
        {t().testSend.title}
      </Button>
      {isOpen && <TestSend domain={domain} close={() => setOpen(false)} />}
    </>
  );
}

function TestSend({ domain, close }: { domain: string | undefined; close: () => void }) {
  const words = t().testSend;
  const [id, setId] = useState<string | null>(null);
  return (
    <Dialog title={words.title} close={close}>
      {id === null ? (
        <TestForm domain={domain} sent={setId} close={close} />
      ) : (
        <Sent id={id} again={() => setId(null)} />
      )}
    </Dialog>
  );
}

interface FormProps {
  domain: string | undefined;
  sent: (id: string) => void;
  close: () => void;
}

function TestForm({ domain, sent, close }: FormProps) {
  const words = t().testSend;
  const domains = useCall("GET /api/v1/domains", { query: { limit: "100" } });
  const form = useForm(async ({ from = "", to = "" }) => {
    const body = { from, to: to.trim(), subject: words.subject, text: words.body };
    const { data } = await call("POST /api/v1/emails", { body });
    invalidate(EMAILS);
    sent(data.id);
  });
  if (domains.data === undefined)
    return domains.error === null ? <Loading /> : <ErrorNotice error={domains.error} retry={domains.reload} />;
  const senders = domains.data.filter(({ status }) => status === "verified" || status === "warning");
  if (senders.length === 0)
    return (
      <Notice>
        <p>{words.noDomain}</p>
      </Notice>
    );
  const addresses = senders.map((each) => `pombo@${each.domain}`);
  const chosen = addresses.find((address) => address === `pombo@${domain ?? ""}`) ?? addresses[0] ?? "";
  return (
    <Form state={form} action={words.send} cancel={close}>
      <p class="soft">{words.text}</p>
      <Select
        name="from"
        label={words.from}
        value={chosen}
        options={addresses.map((value) => ({ value, label: value }))}
      />
      <Field
        name="to"
        type="email"
        label={words.to}
        defaultValue={me.value?.user.email ?? ""}
        autoComplete="email"
        isFocused
      />
    </Form>
  );
}

function Sent({ id, again }: { id: string; again: () => void }) {
  const words = t().testSend;
  const watched = useWatch(id);
  const status = watched.now?.status;
  // Its attempt may have been over before anybody could watch.
  const events = useCall("GET /api/v1/emails/:id/events", { params: { id }, query: { include: "dialogue" } });
  useEffect(() => {
    if (status !== undefined) events.reload();
  }, [status]);
  // The form that had it is gone.
  const place = useRef<HTMLDivElement>(null);
  useEffect(() => place.current?.focus(), []);
  const kept = events.data?.findLast(({ dialogue }) => (dialogue ?? null) !== null)?.dialogue ?? undefined;
  return (
    <div ref={place} tabIndex={-1}>
      <LiveDialogue id={id} watched={watched} kept={kept} />
      <div class="form-actions">
        <LinkButton href={workspacePath(`emails/${id}`)}>{words.show}</LinkButton>
        <Button onClick={again}>{words.again}</Button>
      </div>
    </div>
  );
}
