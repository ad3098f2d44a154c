"""Reads messages of any program with Python's email package and prints their content as JSON, one a line."""

import hashlib
import json
import sys
from email import message_from_binary_file
from email.header import decode_header, make_header
from email.utils import getaddresses


def decode(value):
    # One with 8-bit octets is an object, whose text has none of them.
    return str(make_header(decode_header(str(value).replace("\r\n", "").replace("\n", ""))))


def addresses(message, name):
    pairs = getaddresses([message[name]] if name in message else [])
    return [{"name": decode(name), "address": address} for name, address in pairs]


def attachment(part):
    return {
        "filename": decode(part.get_filename() or ""),
        "contentType": part.get_content_type(),
        "sha256": hashlib.sha256(part.get_payload(decode=True)).hexdigest(),
    }


def text_of(leaves, kind):
    for part in leaves:
        if part.get_content_type() == kind:
            return part.get_payload(decode=True).decode(part.get_content_charset("us-ascii"))
    return None


for path in sys.argv[1:]:
    with open(path, "rb") as file:
        message = message_from_binary_file(file)
    leaves = [part for part in message.walk() if not part.is_multipart()]
    bodies = [part for part in leaves if part.get_filename() is None]
    files = [part for part in leaves if part.get_filename() is not None]
    content = {
        "subject": decode(message["Subject"]),
        "from": addresses(message, "From"),
        "to": addresses(message, "To"),
        "cc": addresses(message, "Cc"),
        "text": text_of(bodies, "text/plain"),
        "html": text_of(bodies, "text/html"),
        "attachments": [attachment(part) for part in files],
    }
    print(json.dumps(content))
