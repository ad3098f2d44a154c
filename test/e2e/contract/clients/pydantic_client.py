"""openapi-generator for Python. The package `openapi_client` beside it is generated."""
import os

from openapi_client import ApiClient, ApiException, Configuration, EmailsApi, SMSApi, WebhooksApi
from openapi_client.models import EmailBatch, EmailSend, SmsSend, WebhookCreate

sender, to = os.environ["POMBO_FROM"], os.environ["POMBO_TO"]
client = ApiClient(Configuration(host=os.environ["POMBO_URL"], api_key={"apiKey": os.environ["POMBO_KEY"]}))
emails, texts, webhooks = EmailsApi(client), SMSApi(client), WebhooksApi(client)


def check(holds, step, seen):
    if not holds:
        raise SystemExit(f"{step}: {seen}")
    print(f"step: {step}", flush=True)


def email(subject, **parts):
    return EmailSend(**{"from": sender, "to": to, "subject": subject, **parts})


sent = emails.send_email(email("One", html="<p>Olá"))
check(sent.data.status == "queued", "send", sent)
batch = emails.send_email_batch(EmailBatch(emails=[email("Two", text="x"), email("Three", text="x")]))
check(len(batch.data) == 2, "batch", batch)

read = emails.get_email(sent.data.id)
check(read.data.subject == "One" and read.data.bounce is None, "read", read)
pages = [emails.list_emails(to=to, page=page, limit=2, include="status") for page in (1, 2)]
check(pages[0].meta.total == 3 and pages[1].data[0].id == sent.data.id, "pages", pages)

urls = [f"https://{name}.{to.split('@')[1]}/hook" for name in ("a", "b")]
made = [webhooks.create_webhook(WebhookCreate(url=url, events=["email.delivered"])) for url in urls]
found, cursor = [], None
while True:
    hooks = webhooks.list_webhooks(limit=1, cursor=cursor)
    found += [hook.url for hook in hooks.data]
    cursor = hooks.meta.next_cursor
    if cursor is None:
        break
check(set(urls) <= set(found), "cursor", found)
check(webhooks.delete_webhook(made[0].data.id).data.deleted, "webhook", made)

text = texts.send_sms(SmsSend(to="+258841234567", body=to))
sms = texts.get_sms(text.data.id)
check(sms.data.body == to and sms.data.segments == 1, "sms", sms)

try:
    emails.send_email(EmailSend(**{"from": "a@unverified.example", "to": to, "subject": "x", "text": "x"}))
    refused = None
except ApiException as error:
    refused = error
fault = refused and refused.data.errors[0]
check(fault and fault.code == "VALIDATION_ERROR" and fault.var_field == "from", "error", refused)
