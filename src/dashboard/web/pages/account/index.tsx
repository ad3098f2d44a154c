// The person's own page: name, language, the ways to sign in, and where they are signed in.

import { Card, me, Notice, Page, t } from "../../kit.ts";
import { UnprovedAddress } from "./address.tsx";
import { Authenticator } from "./authenticator.tsx";
import { Passkeys } from "./passkeys.tsx";
import { Password } from "./password.tsx";
import { Profile } from "./profile.tsx";
import { Sessions } from "./sessions.tsx";

export function Account() {
  const words = t().account;
  const person = me.value;
  if (!person) return null;
  return (
    <Page title={words.title} intro={person.user.email}>
      {person.session.needsSecondFactor && (
        <Notice tone="slow">
          <p>{words.needsSecondFactor}</p>
        </Notice>
      )}
      {!person.user.emailVerified && person.instance.canMail && <UnprovedAddress />}
      <Profile />
      <Card title={words.signInTitle} intro={words.signInIntro}>
        <Passkeys />
        <Password />
        <Authenticator />
      </Card>
      <Sessions />
    </Page>
  );
}
