// Signing in: a passkey from the address field, or address and password, and a code where one is set.

import { useEffect, useState } from "preact/hooks";
import { useLocation } from "preact-iso";
import { ApiError, call } from "../../api/client.ts";
import { t } from "../../i18n/index.ts";
import { me, takeMe } from "../../state/session.ts";
import { Button } from "../../ui/button.tsx";
import { Field } from "../../ui/field.tsx";
import { Form, useForm } from "../../ui/form.tsx";
import { Frame } from "./frame.tsx";

/** Only our own pages are gone to. */
function findNext(next = "/dashboard"): string {
  const url = URL.parse(next, location.origin);
  const isOurs = url?.origin === location.origin && /^\/dashboard(\/|$)/.test(url.pathname);
  return isOurs ? url.pathname + url.search : "/dashboard";
}

export function SignIn() {
  const { query, route } = useLocation();
  const [needsCode, setNeedsCode] = useState(false);
  useEffect(() => {
    if (me.value) route(findNext(query["next"]), true);
  }, [me.value]);
  const form = useForm(async ({ email = "", password = "", code = "" }) => {
    try {
      const body = { email, password, ...(code === "" ? {} : { code: code.replaceAll(" ", "") }) };
      takeMe((await call("POST /api/v1/auth/session", { body })).data);
    } catch (error) {
      if (!(error instanceof ApiError) || error.code !== "SECOND_FACTOR_REQUIRED") throw error;
      setNeedsCode(true);
    }
  });
  const words = t().entrance;
  return (
    <Frame title={words.signInTitle}>
      <Form state={form}>
        <Field name="email" type="email" label={words.email} autoComplete="username webauthn" isFocused required />
        <Field name="password" type="password" label={words.password} autoComplete="current-password" required />
        {needsCode && (
          <Field
            name="code"
            label={words.code}
            hint={words.codeHint}
            autoComplete="one-time-code"
            inputMode="text"
            isFocused
            required
          />
        )}
        <Button type="submit" look="primary" isBusy={form.isBusy}>
          {words.signIn}
        </Button>
      </Form>
    </Frame>
  );
}
