"""Sends the messages of a file with Django's mail."""

import json
import os
import ssl
import sys
from email.utils import formataddr
from pathlib import Path

import django
from django.conf import settings
from django.core.mail import EmailMultiAlternatives, get_connection
from django.core.mail.backends.smtp import EmailBackend

env = os.environ
settings.configure(
    EMAIL_HOST=env["SMTP_HOST"],
    EMAIL_PORT=int(env["SMTP_PORT"]),
    EMAIL_HOST_USER=env["SMTP_USER"],
    EMAIL_HOST_PASSWORD=env["SMTP_PASSWORD"],
    EMAIL_USE_TLS=env["SMTP_TLS"] == "starttls",
    EMAIL_USE_SSL=env["SMTP_TLS"] == "implicit",
)
django.setup()
# It trusts what the machine trusts, and has no setting for another authority.
EmailBackend.ssl_context = ssl.create_default_context(cafile=env["SMTP_CA"])


def listed(people):
    return [formataddr((each["name"], each["address"])) for each in people]


connection = get_connection()
for fields in json.loads(Path(sys.argv[1]).read_text("utf-8")):
    message = EmailMultiAlternatives(
        fields["subject"],
        fields["text"],
        *listed([fields["from"]]),
        to=listed(fields["to"]),
        cc=listed(fields["cc"]),
        bcc=listed(fields["bcc"]),
        headers={"X-Sample": fields["key"]},
        connection=connection,
    )
    if fields["html"] is not None:
        message.attach_alternative(fields["html"], "text/html")
    for each in fields["attachments"]:
        message.attach(each["filename"], Path(each["path"]).read_bytes(), each["contentType"])
    message.send()
    print(f"sent {fields['key']}")
