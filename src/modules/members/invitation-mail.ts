// The words of the mail that carries an invitation, in English and Portuguese: nobody knows yet what the person reads.

import type { SystemMail } from "../emails/system-mail.ts";
import type { ListedInvitation } from "./invitation-store.ts";

export interface InvitationMail {
  invitation: ListedInvitation;
  url: string;
  workspaceName: string;
  /** Of the server. */
  hostname: string;
}

export function writeInvitation({ invitation, url, workspaceName, hostname }: InvitationMail): SystemMail {
  const { email, inviterName, expiresAt } = invitation;
  const day = new Date(expiresAt).toISOString().slice(0, 10);
  const text = `\
${inviterName ?? hostname} invites you to the workspace "${workspaceName}" on ${hostname}.
Open this link to join. It works once, until ${day}:

${url}

If you did not expect this, ignore it: nothing happens.

--

${inviterName ?? hostname} convida para o espaço de trabalho "${workspaceName}" em ${hostname}.
Abra a ligação acima para entrar. Funciona uma vez, até ${day}.
Se não esperava este convite, ignore-o: nada acontece.
`;
  return { to: email, subject: `${workspaceName}: invitation / convite`, text, until: expiresAt };
}
