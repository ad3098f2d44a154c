// The settings of a program that speaks SMTP.

import { Card, CopyButton, me, t } from "../../../kit.ts";
import { Fact } from "./fact.tsx";

/** Null: nothing can be handed in by SMTP here. */
function findPlace() {
  return me.value?.instance.submission ?? null;
}

export function SmtpSettings() {
  const place = findPlace();
  if (place === null) return null;
  const words = t().smtp;
  return (
    <Card
      title={words.title}
      intro={words.text}
      actions={<CopyButton text={place.host} label={words.copyHost} look="bare" />}
    >
      <dl class="facts">
        <Fact name={words.host}>
          <code>{place.host}</code>
        </Fact>
        <Fact name={words.port}>
          {place.ports.map(({ port, tls }) => (
            <div key={port}>
              <code>{port}</code> {words.tls[tls]}
            </div>
          ))}
        </Fact>
        <Fact name={words.user}>
          <code>pombo</code> {words.userHint}
        </Fact>
        <Fact name={words.password}>{words.passwordHint}</Fact>
        <Fact name={words.sender}>{words.senderHint}</Fact>
      </dl>
      <p>
        <a href="/docs#smtp">{words.how}</a>
      </p>
    </Card>
  );
}

/** Beside a new key. */
export function SmtpHint() {
  return findPlace() === null ? null : <p class="small soft">{t().smtp.made}</p>;
}
