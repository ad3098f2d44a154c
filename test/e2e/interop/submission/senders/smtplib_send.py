"""Sends the messages of a file with Python's smtplib; with "--write FOLDER" it only writes them, 8 bits wide."""

import json
import os
import smtplib
import ssl
import sys
from email.headerregistry import Address
from email.message import EmailMessage
from email.policy import default
from email.utils import formatdate, make_msgid
from pathlib import Path


def address(each):
    return Address(each["name"], addr_spec=each["address"])


def compose(fields, policy=default):
    message = EmailMessage(policy=policy)
    message["From"] = address(fields["from"])
    for name in ("to", "cc", "bcc"):
        if fields[name]:
            message[name.capitalize()] = [address(each) for each in fields[name]]
    message["Subject"] = fields["subject"]
    message["Date"] = formatdate()
    message["Message-ID"] = make_msgid(domain="loja.test")
    message["X-Sample"] = fields["key"]
    message.set_content(fields["text"])
    if fields["html"] is not None:
        message.add_alternative(fields["html"], subtype="html")
    for each in fields["attachments"]:
        maintype, subtype = each["contentType"].split("/")
        content = Path(each["path"]).read_bytes()
        message.add_attachment(content, maintype=maintype, subtype=subtype, filename=each["filename"])
    return message


def connect():
    env = os.environ
    context = ssl.create_default_context(cafile=env["SMTP_CA"])
    place = (env["SMTP_HOST"], int(env["SMTP_PORT"]))
    if env["SMTP_TLS"] == "implicit":
        server = smtplib.SMTP_SSL(*place, context=context)
    else:
        server = smtplib.SMTP(*place)
        server.starttls(context=context)
    server.login(env["SMTP_USER"], env["SMTP_PASSWORD"])
    return server


messages = json.loads(Path(sys.argv[1]).read_text("utf-8"))
if sys.argv[2:3] == ["--write"]:
    for fields in messages:
        message = compose(fields, default.clone(cte_type="8bit"))
        (Path(sys.argv[3]) / f"{fields['key']}.eml").write_bytes(message.as_bytes())
else:
    with connect() as server:
        for fields in messages:
            server.send_message(compose(fields))
            print(f"sent {fields['key']}")
