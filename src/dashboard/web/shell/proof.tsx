// The dialog that asks once more who it is, before a dangerous act.

import { signal } from "@preact/signals";
import { useState } from "preact/hooks";
import { call, hooks } from "../api/client.ts";
import { t } from "../i18n/index.ts";
import { askPasskey, hasPasskeys } from "../state/passkeys.ts";
import { loadMe, me } from "../state/session.ts";
import { Button } from "../ui/button.tsx";
import { Dialog } from "../ui/dialog.tsx";
import { Field } from "../ui/field.tsx";
import { Form, useForm } from "../ui/form.tsx";

/** Called with whether the person proved it; null: nothing is asked. */
const waiting = signal<((isProved: boolean) => void) | null>(null);

hooks.prove = () =>
  new Promise((resolve) => {
    waiting.value?.(false);
    waiting.value = (isProved) => {
      waiting.value = null;
      resolve(isProved);
    };
  });

export function ProofDialog() {
  const answer = waiting.value;
  if (answer === null || !me.value) return null;
  return <Ask answer={answer} factors={me.value.factors} />;
}

function Ask({
  answer,
  factors,
}: {
  answer: (isProved: boolean) => void;
  factors: { password: boolean; totp: boolean; passkeys: number };
}) {
  const canPasskey = factors.passkeys > 0 && hasPasskeys();
  const [isByPassword, setByPassword] = useState(!canPasskey);
  const form = useForm(async ({ password = "", code = "" }) => {
    const body = isByPassword
      ? { password, ...(code === "" ? {} : { code: code.replaceAll(" ", "") }) }
      : await askPasskey("proof");
    if (body === null) return;
    await call("POST /api/v1/auth/proof", { body });
    void loadMe();
    answer(true);
  });
  const words = t();
  return (
    <Dialog title={words.shell.proofTitle} close={() => answer(false)}>
      <p class="soft">{words.shell.proof}</p>
      <Form state={form}>
        {isByPassword && (
          <Field
            name="password"
            type="password"
            label={words.entrance.password}
            autoComplete="current-password"
            isFocused
            required
          />
        )}
        {isByPassword && factors.totp && (
          <Field
            name="code"
            label={words.entrance.code}
            hint={words.entrance.codeHint}
            autoComplete="one-time-code"
            required
          />
        )}
        <div class="form-actions">
          {canPasskey && factors.password && (
            <Button look="bare" onClick={() => setByPassword(!isByPassword)}>
              {isByPassword ? words.entrance.rather.passkey : words.entrance.rather.password}
            </Button>
          )}
          <Button type="submit" look="primary" isBusy={form.isBusy}>
            {isByPassword ? words.shell.confirm : words.shell.confirmByPasskey}
          </Button>
        </div>
      </Form>
    </Dialog>
  );
}
