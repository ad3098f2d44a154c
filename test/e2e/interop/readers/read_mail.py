"""Reads messages with Python's email package and prints them as JSON, one a line."""

import hashlib
import json
import sys
from email import message_from_binary_file, policy
from email.header import decode_header, make_header
from email.utils import getaddresses

own_fields = json.loads(sys.argv[1])


def addresses(plain, message, name):
    """The newer interface puts a space between adjacent encoded-words of a name, so only its addresses count."""
    if plain[name] is None:
        return []
    pairs = getaddresses([plain[name]])
    assert [address for _, address in pairs] == [each.addr_spec for each in message[name].addresses], name
    return [{"name": decode(name), "address": address} for name, address in pairs]


def attachment(part):
    return {
        "filename": part.get_filename() or "",
        "contentType": part.get_content_type(),
        "contentId": part["Content-ID"].strip("<>") if part["Content-ID"] else None,
        "isInline": part.get_content_disposition() == "inline",
        "sha256": hashlib.sha256(part.get_payload(decode=True)).hexdigest(),
    }


def text_of(parts, kind):
    found = [part for part in parts if part.get_content_type() == kind]
    return found[0].get_payload(decode=True).decode("utf-8") if found else None


def decode(value):
    return None if value is None else str(make_header(decode_header(value.replace("\r\n", "").replace("\n", ""))))


for path in sys.argv[2:]:
    with open(path, "rb") as file:
        message = message_from_binary_file(file, policy=policy.default)
    with open(path, "rb") as file:
        plain = message_from_binary_file(file)
    leaves = [part for part in message.walk() if not part.is_multipart()]
    bodies = [part for part in leaves if part.get_content_disposition() is None]
    files = [part for part in leaves if part.get_content_disposition() is not None]
    # The older interface, which most programs use, reads the same names.
    older = [part.get_filename() for part in plain.walk() if part.get_content_disposition() is not None]
    assert [part.get_filename() for part in files] == older, (path, older)
    print(
        json.dumps(
            {
                "subject": str(message["Subject"]),
                "from": addresses(plain, message, "From"),
                "to": addresses(plain, message, "To"),
                "cc": addresses(plain, message, "Cc"),
                "replyTo": addresses(plain, message, "Reply-To"),
                "headers": [decode(plain[name]) for name in own_fields],
                "text": text_of(bodies, "text/plain"),
                "html": text_of(bodies, "text/html"),
                "attachments": [attachment(part) for part in files],
            }
        )
    )
