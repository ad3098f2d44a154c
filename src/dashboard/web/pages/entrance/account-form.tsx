// Who somebody is and how they will sign in: a passkey where the browser has them, or a password.

import { useState } from "preact/hooks";
import type { Body } from "../../api/calls.ts";
import { t } from "../../i18n/index.ts";
import { createPasskey, hasPasskeys } from "../../state/passkeys.ts";
import { Button } from "../../ui/button.tsx";
import { Field } from "../../ui/field.tsx";
import { Form, useForm } from "../../ui/form.tsx";

interface AccountFormProps {
  token: string;
  /** Of the person whom the link is meant for; "": anybody. */
  email: string;
  /** Address and name are asked for too. */
  hasPerson?: boolean;
  use: (given: Omit<Body<"POST /api/v1/auth/links/use">, "token">) => Promise<void>;
}

export function AccountForm({ token, email: meantFor, hasPerson = false, use }: AccountFormProps) {
  const [isByPassword, setByPassword] = useState(!hasPasskeys());
  const form = useForm(async ({ email = meantFor, name = "", password = "" }) => {
    const person = hasPerson ? { email, name } : {};
    if (isByPassword) return use({ ...person, password });
    const passkey = await createPasskey({ for: "link", token, ...(email === "" ? {} : { email }) });
    if (passkey !== null) await use({ ...person, passkey });
  });
  const words = t().entrance;
  return (
    <Form state={form}>
      {hasPerson && (
        <>
          <Field name="name" label={words.name} autoComplete="name" isFocused required />
          <Field
            name="email"
            type="email"
            label={words.email}
            autoComplete="username"
            defaultValue={meantFor}
            required
          />
        </>
      )}
      {isByPassword && (
        <Field
          name="password"
          type="password"
          label={words.newPassword}
          hint={words.newPasswordHint}
          autoComplete="new-password"
          isFocused={!hasPerson}
          required
        />
      )}
      <Button type="submit" look="primary" isBusy={form.isBusy} {...(isByPassword ? {} : { icon: "key" as const })}>
        {isByPassword ? words.continue : words.continueByPasskey}
      </Button>
      {hasPasskeys() && (
        <>
          {!isByPassword && <p class="hint">{words.passkeyHint}</p>}
          <Button look="bare" onClick={() => setByPassword(!isByPassword)}>
            {isByPassword ? words.rather.passkey : words.rather.password}
          </Button>
        </>
      )}
    </Form>
  );
}
