import { describe, expect, test } from "bun:test";
import { readByMailparser, readByPostalMime } from "../../../../support/mime/readers.ts";
import { accept, lines, reassemble, sent, toOctets, utf8 } from "../../../../support/mime/submitted.ts";

const FROM = "From: ana@example.com";
const multipart = (type = "mixed") => `Content-Type: multipart/${type}; boundary=b`;
const CTE = "Content-Transfer-Encoding:";

/** Both readers make of what is sent what they make of what came. */
async function expectSameMail(message: string): Promise<void> {
  const after = reassemble(accept(message));
  expect(await readByMailparser(after)).toEqual(await readByMailparser(toOctets(message)));
  // It ends files in 8bit and binary with a LF of its own.
  const withoutHashes = async (octets: Uint8Array) => {
    const mail = await readByPostalMime(octets);
    return { ...mail, attachments: mail.attachments.map((attachment) => ({ ...attachment, sha256: "" })) };
  };
  expect(await withoutHashes(after)).toEqual(await withoutHashes(toOctets(message)));
}

describe("readers see the same as before", () => {
  const HEAD = ["To: Rui <rui@example.com>", utf8("Subject: Olá, está tudo bem? 😀"), "MIME-Version: 1.0"];

  test("PHPMailer's default: utf-8 in 8bit, text and html", () =>
    expectSameMail(
      lines(
        utf8("From: José Ação <ana@example.com>"),
        ...HEAD,
        multipart("alternative"),
        `${CTE} 8bit`,
        "",
        "This is a multi-part message in MIME format.",
        "",
        "--b",
        "Content-Type: text/plain; charset=utf-8",
        `${CTE} 8bit`,
        "",
        utf8("Olá, Rui\n.\n\naté já  "),
        "",
        "--b",
        "Content-Type: text/html; charset=utf-8",
        `${CTE} 8bit`,
        "",
        utf8("<p>Olá, Rui 😀</p>"),
        "",
        "",
        "--b--",
      ),
    ));

  test("Django's default: utf-8 in 8bit", () =>
    expectSameMail(
      lines(
        'Content-Type: text/plain; charset="utf-8"',
        `${CTE} 8bit`,
        FROM,
        ...HEAD,
        "",
        utf8("Olá,\n\nEncomenda nº 42 está a caminho.\n"),
      ),
    ));

  test("names and files in 8bit", () =>
    expectSameMail(
      lines(
        FROM,
        ...HEAD,
        multipart(),
        "",
        "--b",
        "Content-Type: text/plain; charset=iso-8859-1",
        "",
        "ol\u00e1",
        "--b",
        utf8('Content-Type: application/x; name="ação.bin"'),
        utf8('Content-Disposition: attachment; filename="ação.bin"'),
        `${CTE} binary`,
        "",
        "\u00ff\u00fe\u0001\u0002",
        "--b",
        utf8("Content-Type: text/csv; charset=utf-8; name=preços.csv"),
        utf8("Content-Disposition: attachment; filename=preços.csv"),
        "",
        utf8("preço;1"),
        "--b--",
      ),
    ));

  test("a calendar invitation", async () => {
    const invitation = (text: string) =>
      lines(
        FROM,
        "Subject: x",
        "MIME-Version: 1.0",
        multipart("alternative"),
        "",
        "--b",
        "Content-Type: text/plain; charset=utf-8",
        "",
        text,
        "--b",
        'Content-Type: text/calendar; charset="utf-8"; method=REQUEST',
        `${CTE} 8bit`,
        "",
        "BEGIN:VCALENDAR",
        `SUMMARY:${text}`,
        "END:VCALENDAR",
        "--b--",
      );
    expect(sent(invitation("x"))).toBe(invitation("x"));
    expect(accept(invitation("x")).attachments).toEqual([]);
    await expectSameMail(invitation(utf8("Reunião às três")));
  });

  test("a message in the message", () =>
    expectSameMail(
      lines(
        FROM,
        ...HEAD,
        multipart(),
        "",
        "--b",
        "",
        "see below",
        "--b",
        "Content-Type: message/rfc822",
        "Content-Disposition: attachment; filename=x.eml",
        "",
        "From: x@y.co",
        "Subject: in",
        "",
        "plain",
        "--b--",
      ),
    ));
});

describe("octets beyond ASCII where none may stand: what is sent is read as what came was", () => {
  const part = (...header: string[]) => ["--b", ...header, "", "x", "--b--"];
  const cases: Record<string, string> = {
    "a charset": lines(FROM, multipart(), "", ...part("Content-Type: image/png; charset=utf-8From: Jos\u00e9")),
    "the middle of a charset": lines(
      ...[FROM, "Content-Type: \u00e9iext/plain; charset=utf\u00908", `${CTE} 8bit`, "", "x"],
    ),
    "an id": lines(FROM, multipart("related"), "", ...part("Content-Type: image/png", "Content-ID: <tri\u00e2.png>")),
    "a boundary": lines(
      ...[FROM, multipart(), "", "--b", 'Content-Type: multipart/related; boundary="c\u009dx"', ""],
      ...["--c x", `${CTE}\u009d7bit`, "", "y", "--c x--", "--b--"],
    ),
    "a second boundary": lines(
      ...[FROM, "Content-Type: multipart/mixed; boundary=b; boundary*=utf-8''\u00e9; name=\u00e9", ""],
      ...part("Content-Type: image/png"),
    ),
    "pieces of a boundary": lines(
      ...[FROM, "Content-Type: multipart/mixed; boundary*0=b; boundary*1=\u00e9", ""],
      ...part("Content-Type: image/png"),
    ),
  };
  for (const [name, message] of Object.entries(cases))
    test(name, () => {
      const first = accept(message);
      const after = reassemble(first);
      const second = accept(after);
      expect(second.attachments).toEqual(first.attachments);
      expect(reassemble(second)).toEqual(after);
    });

  test("the boundary that was read stays", () => {
    expect(accept(cases["a second boundary"] ?? "").header).toContain('boundary="b"');
    expect(accept(cases["pieces of a boundary"] ?? "").header).not.toContain("boundary");
  });
});
