// The authenticator app: set up by a QR code and a first code, with ten recovery codes; and without it again.

import {
  Button,
  call,
  CodeBlock,
  ConfirmDialog,
  type Data,
  Dialog,
  Field,
  Form,
  Loading,
  me,
  refreshMe,
  SecretDialog,
  showToast,
  t,
  takeMe,
  useForm,
  useState,
} from "../../kit.ts";
import { Factor } from "./factor.tsx";
import { QrCode } from "./qr-code.tsx";

type Secret = Data<"POST /api/v1/auth/totp">;

export function Authenticator() {
  const [secret, setSecret] = useState<Secret | null>(null);
  const [isRemoving, setRemoving] = useState(false);
  const words = t().account;
  const factors = me.value?.factors;
  const begin = useForm(async () => setSecret((await call("POST /api/v1/auth/totp")).data));
  const remove = async () => {
    await takeMe((await call("DELETE /api/v1/auth/totp")).data);
    showToast(t().account.totpRemoved);
  };
  if (factors === undefined) return <Loading />;
  const set = (
    <Form state={begin}>
      <Button type="submit" isBusy={begin.isBusy}>
        {factors.totp ? words.totpAnew : words.setUpTotp}
      </Button>
    </Form>
  );
  return (
    <Factor
      icon="person"
      title={words.totpTitle}
      state={factors.totp ? words.hasTotp(factors.recoveryCodes) : words.noTotp}
      actions={
        <>
          {set}
          {factors.totp && <Button onClick={() => setRemoving(true)}>{t().common.remove}</Button>}
        </>
      }
    >
      {secret !== null && <SetUp secret={secret} close={() => setSecret(null)} />}
      {isRemoving && (
        <ConfirmDialog
          title={words.removeTotpTitle}
          action={t().common.remove}
          run={remove}
          close={() => setRemoving(false)}
        >
          <p>{words.removeTotp}</p>
        </ConfirmDialog>
      )}
    </Factor>
  );
}

function SetUp({ secret, close }: { secret: Secret; close: () => void }) {
  const [codes, setCodes] = useState<string[] | null>(null);
  const words = t().account;
  const form = useForm(async ({ code = "" }) => {
    const { data } = await call("PUT /api/v1/auth/totp", { body: { code: code.replaceAll(" ", "") } });
    setCodes(data.recoveryCodes);
    await refreshMe();
  });
  if (codes !== null)
    return <SecretDialog title={words.codesTitle} warning={words.codes} secret={codes.join("\n")} close={close} />;
  return (
    <Dialog title={words.setUpTotp} close={close}>
      <p>{words.scan}</p>
      <QrCode text={secret.uri} label={words.qrLabel} />
      <details>
        <summary class="soft small">{words.cannotScan}</summary>
        <CodeBlock code={secret.secret} />
      </details>
      <Form state={form} action={t().common.continue} cancel={close}>
        <Field
          name="code"
          label={words.firstCode}
          hint={words.firstCodeHint}
          autoComplete="one-time-code"
          inputMode="numeric"
          isFocused
          required
        />
      </Form>
    </Dialog>
  );
}
