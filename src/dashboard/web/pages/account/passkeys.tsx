// The person's passkeys.

import {
  Button,
  call,
  ConfirmDialog,
  createPasskey,
  type Data,
  Dialog,
  ErrorNotice,
  Field,
  Form,
  hasPasskeys,
  invalidate,
  refreshMe,
  showToast,
  t,
  Time,
  useCall,
  useForm,
  useState,
} from "../../kit.ts";
import { Factor } from "./factor.tsx";

type Passkey = Data<"GET /api/v1/auth/passkeys">[number];

const PATH = "/api/v1/auth/passkeys";

async function refresh(): Promise<void> {
  invalidate(PATH);
  await refreshMe();
}

export function Passkeys() {
  const [isAdding, setAdding] = useState(false);
  const [removed, setRemoved] = useState<Passkey | null>(null);
  const passkeys = useCall("GET /api/v1/auth/passkeys");
  const words = t().account;
  const rows = passkeys.data ?? [];
  const add = (
    <Button icon="plus" onClick={() => setAdding(true)}>
      {words.addPasskey}
    </Button>
  );
  return (
    <Factor
      icon="key"
      title={words.passkeysTitle}
      state={hasPasskeys() ? words.passkeysIntro : words.noPasskeysHere}
      actions={hasPasskeys() ? add : null}
    >
      {passkeys.error !== null && <ErrorNotice error={passkeys.error} retry={passkeys.reload} />}
      {rows.length > 0 && (
        <ul class="rows">
          {rows.map((passkey) => (
            <li key={passkey.id}>
              <div class="row-text">
                <strong>{passkey.name}</strong>
                <span class="soft small">
                  {words.added} <Time value={passkey.createdAt} /> · {words.lastUsed}{" "}
                  <Time value={passkey.lastUsedAt} />
                </span>
              </div>
              <Button look="bare" onClick={() => setRemoved(passkey)} aria-label={words.removeNamed(passkey.name)}>
                {t().common.remove}
              </Button>
            </li>
          ))}
        </ul>
      )}
      {isAdding && <AddPasskey close={() => setAdding(false)} />}
      {removed !== null && <RemovePasskey passkey={removed} close={() => setRemoved(null)} />}
    </Factor>
  );
}

function AddPasskey({ close }: { close: () => void }) {
  const words = t().account;
  const form = useForm(async ({ name = "" }) => {
    const passkey = await createPasskey({ for: "register" });
    if (passkey === null) return;
    await call("POST /api/v1/auth/passkeys", { body: { ...passkey, name } });
    close();
    await refresh();
    showToast(t().account.passkeyAdded);
  });
  return (
    <Dialog title={words.addPasskey} close={close}>
      <Form state={form} action={t().common.continue} cancel={close}>
        <Field
          name="name"
          label={words.passkeyName}
          hint={words.passkeyNameHint}
          defaultValue={words.thisDevice}
          isFocused
          required
        />
      </Form>
    </Dialog>
  );
}

function RemovePasskey({ passkey: { id, name }, close }: { passkey: Passkey; close: () => void }) {
  const words = t().account;
  const run = async () => {
    await call("DELETE /api/v1/auth/passkeys/:id", { params: { id } });
    await refresh();
  };
  return (
    <ConfirmDialog title={words.removeNamed(name)} action={t().common.remove} run={run} close={close}>
      <p>{words.removePasskey}</p>
    </ConfirmDialog>
  );
}
