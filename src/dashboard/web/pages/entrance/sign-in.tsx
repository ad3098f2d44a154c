// Signing in: a passkey from the address field, or address and password, and a code where one is set.

import { useEffect, useRef, useState } from "preact/hooks";
import { useLocation } from "preact-iso";
import { ApiError, call } from "../../api/client.ts";
import { t } from "../../i18n/index.ts";
import { askPasskey, canAutofill, hasPasskeys, type PasskeyAnswer } from "../../state/passkeys.ts";
import { me, takeMe } from "../../state/session.ts";
import { Button } from "../../ui/button.tsx";
import { Field } from "../../ui/field.tsx";
import { Form, useForm } from "../../ui/form.tsx";
import { ErrorNotice } from "../../ui/page.tsx";
import { Frame } from "./frame.tsx";
import { MagicLink } from "./magic.tsx";

/** Only our own pages are gone to; the token of a link stays behind the #. */
function findNext(next = "/dashboard"): string {
  const url = URL.parse(next, location.origin);
  const isOurs = url?.origin === location.origin && /^\/dashboard(\/|$)/.test(url.pathname);
  return isOurs ? url.pathname + url.search + location.hash : "/dashboard";
}

export function SignIn() {
  const { query, route } = useLocation();
  const [needsCode, setNeedsCode] = useState(false);
  const isSignedIn = Boolean(me.value);
  const next = findNext(query["next"]);
  useEffect(() => {
    if (isSignedIn) route(next, true);
  }, [isSignedIn]);
  const passkey = usePasskey();
  const form = useForm(async ({ email = "", password = "", code = "" }) => {
    try {
      const body = { email, password, ...(code === "" ? {} : { code: code.replaceAll(" ", "") }) };
      await takeMe((await call("POST /api/v1/auth/session", { body })).data);
    } catch (error) {
      // Asked for it for the first time, nothing is wrong yet.
      if (!(error instanceof ApiError) || error.code !== "SECOND_FACTOR_REQUIRED" || needsCode) throw error;
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
          <Field name="code" label={words.code} hint={words.codeHint} autoComplete="one-time-code" isFocused required />
        )}
        <Button type="submit" look="primary" isBusy={form.isBusy}>
          {words.signIn}
        </Button>
      </Form>
      {hasPasskeys() && (
        <>
          <p class="or">{words.or}</p>
          <Button icon="key" isBusy={passkey.isBusy} onClick={passkey.ask}>
            {words.signInByPasskey}
          </Button>
          {passkey.error !== null && <ErrorNotice error={passkey.error} />}
        </>
      )}
      <MagicLink />
      <details class="help">
        <summary>{words.lostTitle}</summary>
        <p>{words.lost}</p>
      </details>
    </Frame>
  );
}

/** Offered in the address field from the start, and by a button. */
function usePasskey() {
  const [error, setError] = useState<ApiError | null>(null);
  const [isBusy, setBusy] = useState(false);
  const offer = useRef<AbortController | null>(null);
  const signIn = async (answer: PasskeyAnswer | null) => {
    if (answer !== null) await takeMe((await call("POST /api/v1/auth/session/passkey", { body: answer })).data);
  };
  const offerInField = async () => {
    offer.current = new AbortController();
    if (await canAutofill())
      await signIn(await askPasskey("sign_in", { mediation: "conditional", signal: offer.current.signal }));
  };
  const ask = async () => {
    // A browser has one ceremony at a time.
    offer.current?.abort();
    setBusy(true);
    setError(null);
    await signIn(await askPasskey("sign_in"));
  };
  const show = (caught: unknown) => {
    if (!(caught instanceof ApiError)) throw caught;
    setError(caught);
  };
  // Not to somebody who is signed in and about to be led on.
  const isNobody = me.value === null;
  useEffect(() => {
    if (isNobody) void offerInField().catch(show);
    return () => offer.current?.abort();
  }, [isNobody]);
  return {
    error,
    isBusy,
    ask: () =>
      void ask()
        .catch(show)
        .finally(() => setBusy(false)),
  };
}
