"""openapi-generator for Python. The package `openapi_client` beside it is generated."""
import os
from base64 import b64encode
from datetime import datetime, timedelta, timezone

from openapi_client import ApiClient, ApiException, Configuration, EmailsApi, SMSApi, SuppressionsApi, WebhooksApi
from openapi_client.models import (
    AttachmentSend,
    EmailBatch,
    EmailChange,
    EmailSend,
    EmailSendBcc,
    EmailSendCc,
    EmailSendReplyTo,
    EmailSendTo,
    SmsSend,
    SuppressionCreate,
    UnsubscribeSend,
    WebhookCreate,
)

sender, to = os.environ["POMBO_FROM"], os.environ["POMBO_TO"]
client = ApiClient(Configuration(host=os.environ["POMBO_URL"], api_key={"apiKey": os.environ["POMBO_KEY"]}))
emails, texts, webhooks = EmailsApi(client), SMSApi(client), WebhooksApi(client)
suppressions = SuppressionsApi(client)


def check(holds, step, seen):
    if not holds:
        raise SystemExit(f"{step}: {seen}")
    print(f"step: {step}", flush=True)


def email(subject, **parts):
    return EmailSend(**{"from": sender, "to": EmailSendTo(to), "subject": subject, **parts})


sent = emails.send_email(email("One", html="<p>Olá"))
check(sent.data.status == "queued", "send", sent)
batch = emails.send_email_batch(EmailBatch(emails=[email("Two", text="x"), email("Three", text="x")]))
check(len(batch.data) == 2, "batch", batch)

read = emails.get_email(sent.data.id)
check(read.data.subject == "One" and read.data.bounce is None, "read", read)
pages = [emails.list_emails(to=to, page=page, limit=2, include="status") for page in (1, 2)]
check(pages[0].meta.total == 3 and pages[1].data[0].id == sent.data.id, "pages", pages)

host = to.split("@")[1]
in_days = lambda days: datetime.now(timezone.utc).replace(microsecond=0) + timedelta(days=days)
whole = EmailSend(
    **{
        "from": sender,
        "to": EmailSendTo([f"Ana <ana@{host}>", f"rui@{host}"]),
        "cc": EmailSendCc(f"contas@{host}"),
        "bcc": EmailSendBcc([f"arquivo@{host}"]),
        "replyTo": EmailSendReplyTo([f"Ajuda <ajuda@{host}>", f"outra@{host}"]),
        "subject": "Whole",
        "text": "{{unsubscribe_url}}",
        "headers": {"X-Order": "4711"},
        "attachments": [AttachmentSend(filename="recibo.txt", content=b64encode(b"Recibo").decode())],
        "tag": "receipt",
        "metadata": {"order": "4711"},
        "unsubscribe": UnsubscribeSend(list="news"),
        "sendAt": in_days(1),
    }
)
group = emails.send_email(whole).data
check([one.kind for one in group.recipients] == ["to", "to", "cc", "bcc"] and group.status == "scheduled", "group", group)

later = in_days(2)
moved = emails.update_email(group.id, EmailChange(sendAt=later)).data
check(moved.send_at == later, "change", moved)

record = emails.get_email(group.id).data
check(
    record.group_id == group.id
    and record.to_name == "Ana"
    and len(record.recipients) == 4
    and len(record.reply_to_all) == 2
    and record.headers["X-Order"] == "4711"
    and record.metadata["order"] == "4711"
    and record.tag == "receipt"
    and record.unsubscribe.list == "news"
    and record.attachments[0].bytes == 6,
    "record",
    record,
)
file = emails.get_email_attachment(group.id, "0")
check(file == b"Recibo", "file", file)
grouped = emails.list_emails(tag="receipt", group_id=group.id)
check(grouped.meta.total == 4, "filters", grouped)
suppressions.create_suppression(SuppressionCreate(address=f"ana@{host}", list="news"))
suppressed = suppressions.list_suppressions()
check((f"ana@{host}", "news") in [(one.address, one.list) for one in suppressed.data], "list", suppressed)
canceled = emails.cancel_email(group.id, group="true").data
check({one.status for one in canceled.recipients} == {"canceled"}, "cancel", canceled)

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
    emails.send_email(EmailSend(**{"from": "a@unverified.example", "to": EmailSendTo(to), "subject": "x", "text": "x"}))
    refused = None
except ApiException as error:
    refused = error
fault = refused and refused.data.errors[0]
check(fault and fault.code == "VALIDATION_ERROR" and fault.var_field == "from", "error", refused)
