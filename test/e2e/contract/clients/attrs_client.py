"""openapi-python-client. The package `client` beside it is generated."""
import os

from client import AuthenticatedClient
from client.api.emails import get_email, list_emails, send_email, send_email_batch
from client.api.sms import get_sms, send_sms
from client.api.webhooks import create_webhook, delete_webhook, list_webhooks
from client.models import EmailBatch, EmailSend, Errors, SmsSend, WebhookCreate
from client.models.list_emails_include import ListEmailsInclude
from client.models.webhook_create_events_item import WebhookCreateEventsItem
from client.types import UNSET

sender, to = os.environ["POMBO_FROM"], os.environ["POMBO_TO"]
pombo = AuthenticatedClient(
    base_url=os.environ["POMBO_URL"], token=os.environ["POMBO_KEY"], prefix="", auth_header_name="X-API-Key"
)


def check(holds, step, seen):
    if not holds:
        raise SystemExit(f"{step}: {seen}")
    print(f"step: {step}", flush=True)


sent = send_email.sync(client=pombo, body=EmailSend(from_=sender, to=to, subject="One", html="<p>Olá"))
check(not isinstance(sent, Errors) and sent.data.status == "queued", "send", sent)

emails = [EmailSend(from_=sender, to=to, subject=subject, text="x") for subject in ("Two", "Three")]
batch = send_email_batch.sync(client=pombo, body=EmailBatch(emails=emails))
check(not isinstance(batch, Errors) and len(batch.data) == 2, "batch", batch)

email = get_email.sync(sent.data.id, client=pombo)
check(email.data.subject == "One" and email.data.bounce is None, "read", email)

pages = [
    list_emails.sync(client=pombo, to=to, page=page, limit=2, include=ListEmailsInclude.STATUS) for page in (1, 2)
]
check(pages[0].meta.total == 3 and pages[1].data[0].id == sent.data.id, "pages", pages)

urls = [f"https://{name}.{to.split('@')[1]}/hook" for name in ("a", "b")]
events = [WebhookCreateEventsItem("email.delivered")]
made = [create_webhook.sync(client=pombo, body=WebhookCreate(url=url, events=events)) for url in urls]
found, cursor = [], UNSET
while cursor is not None:
    hooks = list_webhooks.sync(client=pombo, limit=1, cursor=cursor)
    found += [hook.url for hook in hooks.data]
    cursor = hooks.meta.next_cursor
check(set(urls) <= set(found), "cursor", found)
check(delete_webhook.sync(made[0].data.id, client=pombo).data.deleted, "webhook", made)

text = send_sms.sync(client=pombo, body=SmsSend(to="+258841234567", body=to))
sms = get_sms.sync(text.data.id, client=pombo)
check(sms.data.body == to and sms.data.segments == 1, "sms", sms)

refused = send_email.sync(client=pombo, body=EmailSend(from_="a@unverified.example", to=to, subject="x", text="x"))
check(
    isinstance(refused, Errors) and refused.errors[0].code == "VALIDATION_ERROR" and refused.errors[0].field == "from",
    "error",
    refused,
)
