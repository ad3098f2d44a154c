"""openapi-python-client. The package `client` beside it is generated."""
import os
from base64 import b64encode
from datetime import datetime, timedelta, timezone

from client import AuthenticatedClient
from client.api.emails import (
    cancel_email,
    get_email,
    get_email_attachment,
    list_emails,
    send_email,
    send_email_batch,
    update_email,
)
from client.api.sms import get_sms, send_sms
from client.api.suppressions import create_suppression, list_suppressions
from client.api.webhooks import create_webhook, delete_webhook, list_webhooks
from client.models import (
    AttachmentSend,
    EmailBatch,
    EmailChange,
    EmailSend,
    EmailSendHeaders,
    EmailSendMetadata,
    Errors,
    SmsSend,
    SuppressionCreate,
    UnsubscribeSend,
    WebhookCreate,
)
from client.models.cancel_email_group import CancelEmailGroup
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

host = to.split("@")[1]
in_days = lambda days: datetime.now(timezone.utc).replace(microsecond=0) + timedelta(days=days)
whole = EmailSend(
    from_=sender,
    to=[f"Ana <ana@{host}>", f"rui@{host}"],
    cc=f"contas@{host}",
    bcc=[f"arquivo@{host}"],
    reply_to=[f"Ajuda <ajuda@{host}>", f"outra@{host}"],
    subject="Whole",
    text="{{unsubscribe_url}}",
    headers=EmailSendHeaders.from_dict({"X-Order": "4711"}),
    attachments=[AttachmentSend(filename="recibo.txt", content=b64encode(b"Recibo").decode())],
    tag="receipt",
    metadata=EmailSendMetadata.from_dict({"order": "4711"}),
    unsubscribe=UnsubscribeSend(list_="news"),
    send_at=in_days(1),
)
group = send_email.sync(client=pombo, body=whole)
kinds = not isinstance(group, Errors) and [one.kind for one in group.data.recipients]
check(kinds == ["to", "to", "cc", "bcc"] and group.data.status == "scheduled", "group", group)

later = in_days(2)
moved = update_email.sync(group.data.id, client=pombo, body=EmailChange(send_at=later))
check(not isinstance(moved, Errors) and moved.data.send_at == later, "change", moved)

record = get_email.sync(group.data.id, client=pombo).data
check(
    record.group_id == group.data.id
    and record.to_name == "Ana"
    and len(record.recipients) == 4
    and len(record.reply_to_all) == 2
    and record.headers["X-Order"] == "4711"
    and record.metadata["order"] == "4711"
    and record.tag == "receipt"
    and record.unsubscribe.list_ == "news"
    and record.attachments[0].bytes_ == 6,
    "record",
    record,
)
file = get_email_attachment.sync(group.data.id, "0", client=pombo)
check(not isinstance(file, Errors) and file.payload.read() == b"Recibo", "file", file)
grouped = list_emails.sync(client=pombo, tag="receipt", group_id=group.data.id)
check(grouped.meta.total == 4, "filters", grouped)
create_suppression.sync(client=pombo, body=SuppressionCreate(address=f"ana@{host}", list_="news"))
suppressed = list_suppressions.sync(client=pombo)
check((f"ana@{host}", "news") in [(one.address, one.list_) for one in suppressed.data], "list", suppressed)
canceled = cancel_email.sync(group.data.id, client=pombo, group=CancelEmailGroup.TRUE)
check({one.status for one in canceled.data.recipients} == {"canceled"}, "cancel", canceled)

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
