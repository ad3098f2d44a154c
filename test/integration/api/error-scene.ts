// A workspace that has one of everything, for the table of errors.

import {
  type Client,
  type Instance,
  type InstanceOptions,
  startInstance,
  useAbsentAuthority,
  useAlerts,
} from "../../support/fakes/instance.ts";
import { mail } from "../../support/dsn/mails.ts";
import { inboundMessage } from "../../support/inbound/messages.ts";
import { signUpOperator } from "../../support/people/browser.ts";
import { addPerson } from "../../support/people/member.ts";

export interface Scene extends AsyncDisposable {
  pombo: Instance;
  owner: Client;
  workspaceId: string;
  /** A key restricted to the workspace's domain. */
  domainKey: string;
  domainId: string;
  /** Delivered, with an attachment. */
  emailId: string;
  /** It waits. */
  smsId: string;
  /** Put off: it could be canceled and tried again. */
  waitingId: string;
  /** Its time is far away. */
  scheduledId: string;
  /** The only key for the whole workspace, and the one of the domain. */
  lastKeyId: string;
  /** Called once, in vain: nobody listens there. */
  hookId: string;
  deliveryId: string;
  keyId: string;
  memberId: string;
  memberEmail: string;
  /** A request of the only owner about themselves. */
  asLastOwner: { path: string; key: null; headers: Record<string, string> };
  invitationId: string;
  /** Of a person. */
  userId: string;
  /** Came for the operator. */
  mailId: string;
}

export const TEXT = { to: "+258841234567", body: "Olá" };

export const tomorrow = () => ({ sendAt: new Date(Date.now() + 86_400_000).toISOString() });

export async function startScene(options: Omit<InstanceOptions, "mx"> = {}): Promise<Scene> {
  const pombo = await startInstance({
    ...options,
    configure(config) {
      useAbsentAuthority(config);
      useAlerts(config);
      config.webhooks.allowHttp = true;
      config.webhooks.allowPrivateRanges = ["127.0.0.0/8"];
      options.configure?.(config);
    },
    mx: { rcpt: (command) => (command.includes("later") ? "450 4.2.0 Later" : "250 Ok") },
  });
  const owner = pombo.workspace;
  const headers = { "Idempotency-Key": "used" };
  const body = pombo.email({ attachments: [{ filename: "a.txt", content: "YQ==" }] });
  const sent = await owner.call("POST", "/api/v1/emails", { body, headers });
  await owner.call("POST", "/api/v1/emails/batch", { body: { emails: [pombo.email()] }, headers });
  await pombo.enableSms(pombo.workspace);
  const text = await owner.call("POST", "/api/v1/sms", { body: TEXT, headers });
  const waiting = await owner.call("POST", "/api/v1/emails", { body: pombo.email({ to: "later@example.com" }) });
  const scheduled = await owner.call("POST", "/api/v1/emails", { body: pombo.email(tomorrow()) });
  const domains = await owner.call("GET", "/api/v1/domains");
  const domainId = domains.body.data[0].id;
  const key = await owner.call("POST", "/api/v1/auth/keys", { body: { name: "one domain", domainId } });
  const keys = await owner.call("GET", "/api/v1/auth/keys");
  await owner.call("POST", "/api/v1/suppressions", { body: { address: "listed@example.com" } });
  const hook = await owner.call("POST", "/api/v1/webhooks", {
    body: { url: "http://127.0.0.1:9/", events: ["webhook.disabled"] },
  });
  const hookId = hook.body.data.id;
  await owner.call("POST", `/api/v1/webhooks/${hookId}/test`);
  await pombo.app.webhooks.worker.idle();
  const deliveries = await owner.call("GET", `/api/v1/webhooks/${hookId}/deliveries`);
  await pombo.mx.until(() => pombo.mx.messages.length === 2);
  await pombo.app.worker.idle();
  await pombo.app.receive(inboundMessage(mail({ text: "Hello" })));
  const lastOwner = addPerson(pombo, { role: "owner" });
  const member = addPerson(pombo, { role: "member" });
  // Its time is over, so that a new link counts towards the plan.
  const invitation = await owner.call("POST", "/api/v1/workspace/invitations", {
    body: { email: "rui@example.com", role: "viewer" },
  });
  pombo.app.db.sqlite.run("UPDATE invitation SET expires_at = 1");
  const { me } = await signUpOperator(pombo);
  const inbox = await pombo.operator.call("GET", "/api/v1/operator/inbox");
  return {
    ...{
      pombo,
      owner,
      workspaceId: pombo.workspace.id,
      domainId,
      emailId: sent.body.data.id,
      smsId: text.body.data.id,
      waitingId: waiting.body.data.id,
      scheduledId: scheduled.body.data.id,
    },
    ...{ domainKey: key.body.data.key, keyId: key.body.data.id, lastKeyId: keys.body.data.at(-1).id },
    asLastOwner: {
      path: `/api/v1/workspace/members/${lastOwner.id}`,
      key: null,
      headers: {
        cookie: `pombo-session=${lastOwner.cookies.get("pombo-session")}`,
        "sec-fetch-site": "same-origin",
        "pombo-workspace": pombo.workspace.id,
      },
    },
    ...{ memberId: member.id, memberEmail: member.email, invitationId: invitation.body.data.id },
    ...{ hookId, deliveryId: deliveries.body.data[0].id, mailId: inbox.body.data[0].id },
    ...{ userId: me.user.id, hookId, deliveryId: deliveries.body.data[0].id, mailId: inbox.body.data[0].id },
    [Symbol.asyncDispose]: () => pombo[Symbol.asyncDispose](),
  };
}
