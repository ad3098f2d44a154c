// The API keys of the workspace.

import {
  ApiError,
  Button,
  call,
  Card,
  CodeBlock,
  type Column,
  ConfirmDialog,
  type Data,
  Dialog,
  EmptyState,
  ErrorNotice,
  Field,
  Form,
  invalidate,
  Loading,
  me,
  Page,
  SecretDialog,
  Select,
  showToast,
  t,
  Table,
  Time,
  useCall,
  useForm,
  useState,
  workspacePath,
} from "../../kit.ts";
import { buildFirstEmail } from "./parts/first-email.ts";
import { writeSendCurl } from "./parts/curl.ts";
import { useOlder } from "./parts/older.ts";
import { may } from "./parts/rights.ts";
import { SmtpHint, SmtpSettings } from "./parts/smtp.tsx";
import { isolate, Line } from "./parts/words.tsx";

const KEYS = "/api/v1/auth/keys";

type Key = Data<"GET /api/v1/auth/keys">[number];
type Domain = Data<"GET /api/v1/domains">[number];

export function Keys() {
  const words = t().keys;
  const query = { limit: "100" };
  const first = useCall("GET /api/v1/auth/keys", { query });
  const domains = useCall("GET /api/v1/domains", { query });
  const keys = useOlder(first, (cursor) => call("GET /api/v1/auth/keys", { query: { ...query, cursor } }));
  const [isCreating, setCreating] = useState(false);
  const [made, setMade] = useState<string | null>(null);
  const [deleted, setDeleted] = useState<Key | null>(null);
  const create = may("manage") ? (
    <Button look="primary" icon="plus" onClick={() => setCreating(true)}>
      {words.create}
    </Button>
  ) : undefined;
  return (
    <Page title={words.title} intro={words.text} actions={create}>
      {keys.error !== null && <ErrorNotice error={keys.error} retry={first.reload} />}
      {keys.rows === undefined && keys.error === null && <Loading />}
      {keys.rows?.length === 0 && (
        <EmptyState icon="key" title={words.none}>
          <p>{words.noneText}</p>
        </EmptyState>
      )}
      {keys.rows !== undefined && keys.rows.length > 0 && (
        <Card>
          <Table
            caption={words.title}
            columns={buildColumns(domains.data ?? [], may("manage") ? setDeleted : null)}
            rows={keys.rows}
            getKey={({ id }) => id}
          />
          {keys.showOlder !== null && (
            <Button isBusy={keys.isBusy} onClick={keys.showOlder}>
              {t().common.older}
            </Button>
          )}
        </Card>
      )}
      <SmtpSettings />
      {isCreating && <CreateDialog domains={domains.data ?? []} made={setMade} close={() => setCreating(false)} />}
      {made !== null && <MadeDialog secret={made} domains={domains.data ?? []} close={() => setMade(null)} />}
      {deleted !== null && <DeleteDialog of={deleted} close={() => setDeleted(null)} />}
    </Page>
  );
}

function buildColumns(domains: Domain[], remove: ((key: Key) => void) | null): Column<Key>[] {
  const words = t().keys;
  const findDomain = (id: string | null) => domains.find((domain) => domain.id === id)?.domain;
  return [
    { key: "name", title: words.name, isName: true, cell: ({ name }) => <Line>{name}</Line> },
    { key: "prefix", title: words.prefix, cell: ({ prefix }) => <code>svc_{prefix}…</code> },
    {
      key: "scope",
      title: words.domain,
      cell: ({ domainId }) =>
        domainId === null ? words.scopeAll : words.scopeDomain(isolate(findDomain(domainId) ?? domainId)),
    },
    { key: "created", title: words.created, cell: ({ createdAt }) => <Time value={createdAt} /> },
    {
      key: "used",
      title: words.lastUsed,
      cell: ({ id, lastUsedAt }) =>
        lastUsedAt === null ? (
          <Time value={null} />
        ) : (
          <a href={workspacePath(`requests?keyId=${id}`)}>
            <Time value={lastUsedAt} />
          </a>
        ),
    },
    ...(remove === null
      ? []
      : [
          {
            key: "actions",
            title: words.actions,
            isActions: true,
            cell: (key: Key) => (
              <Button look="bare" aria-label={words.deleteTitle(isolate(key.name))} onClick={() => remove(key)}>
                {words.delete}
              </Button>
            ),
          },
        ]),
  ];
}

function CreateDialog({ domains, made, close }: { domains: Domain[]; made: (key: string) => void; close: () => void }) {
  const words = t().keys;
  const form = useForm(async ({ name = "", domainId = "" }) => {
    const body = { name, ...(domainId === "" ? {} : { domainId }) };
    const { data } = await call("POST /api/v1/auth/keys", { body });
    invalidate(KEYS);
    close();
    made(data.key);
  });
  return (
    <Dialog title={words.create} close={close}>
      <Form state={form} action={words.create} cancel={close}>
        <Field name="name" label={words.name} hint={words.nameHint} autoComplete="off" isFocused />
        <Select
          name="domainId"
          label={words.domain}
          options={[
            { value: "", label: words.scopeAll },
            ...domains.map(({ id, domain }) => ({ value: id, label: words.scopeDomain(domain) })),
          ]}
        />
      </Form>
    </Dialog>
  );
}

/** With the key in a command that works as it stands, where a domain can send. */
function MadeDialog({ secret, domains, close }: { secret: string; domains: Domain[]; close: () => void }) {
  const words = t().keys;
  const email = buildFirstEmail(domains, me.value?.user.email);
  return (
    <SecretDialog title={words.madeTitle} secret={secret} close={close}>
      {email !== null && (
        <>
          <p>{words.madeTry}</p>
          <CodeBlock code={writeSendCurl(location.origin, secret, email)} />
        </>
      )}
      <SmtpHint />
    </SecretDialog>
  );
}

function DeleteDialog({ of: { id, name }, close }: { of: Key; close: () => void }) {
  const words = t().keys;
  const run = async () => {
    await removeKey(id);
    showToast(words.deleted(isolate(name)));
  };
  return (
    <ConfirmDialog title={words.deleteTitle(isolate(name))} action={words.delete} run={run} close={close}>
      <p>{words.deleteText}</p>
    </ConfirmDialog>
  );
}

async function removeKey(id: string): Promise<void> {
  try {
    await call("DELETE /api/v1/auth/keys/:id", { params: { id } });
  } catch (error) {
    // Somebody else, or another tab, was first.
    if (!(error instanceof ApiError && error.status === 404)) throw error;
  }
  invalidate(KEYS);
}
