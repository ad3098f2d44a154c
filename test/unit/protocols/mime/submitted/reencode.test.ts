import { describe, expect, test } from "bun:test";
import { decodeTransfer } from "../../../../../src/protocols/mime/submitted/transfer-encoding.ts";
import { accept, lines, sent, utf8 } from "../../../../support/mime/submitted.ts";

const FROM = "From: ana@example.com";
const multipart = (type = "mixed") => `Content-Type: multipart/${type}; boundary=b`;
const CTE = "Content-Transfer-Encoding:";
const latin1 = (octets: Uint8Array) => Buffer.from(octets).toString("latin1");

describe("texts with octets above 127", () => {
  test("become quoted-printable or base64, whatever is shorter", () => {
    const text = (body: string) =>
      sent(lines(FROM, "MIME-Version: 1.0", "Content-Type: text/plain; charset=utf-8", `${CTE} 8bit`, "", utf8(body)));
    expect(text("the order = a ação, with more words")).toBe(
      lines(
        FROM,
        "MIME-Version: 1.0",
        "Content-Type: text/plain; charset=utf-8",
        `${CTE} quoted-printable`,
        "",
        "the order =3D a a=C3=A7=C3=A3o, with more words",
      ),
    );
    expect(text("你好，世界")).toEndWith(lines(`${CTE} base64`, "", "5L2g5aW977yM5LiW55WMDQo="));
  });

  test("a message without MIME fields gets them", () => {
    expect(sent(lines(FROM, "", utf8("olá, como está hoje?")))).toBe(
      lines(
        FROM,
        "MIME-Version: 1.0",
        "Content-Type: text/plain; charset=utf-8",
        `${CTE} quoted-printable`,
        "",
        "ol=C3=A1, como est=C3=A1 hoje?",
      ),
    );
    expect(sent(lines(FROM, "", "ol\u00e1, hoje"))).toContain("charset=windows-1252\r\n");
  });

  test("a charset that lies stays, and so do the octets", () => {
    const message = accept(
      lines(FROM, "Content-Type: text/plain; charset=us-ascii", "", "ol\u00e1, como est\u00e1 hoje"),
    );
    expect(message.header).toContain("Content-Type: text/plain; charset=us-ascii\r\n");
    expect(latin1(decodeTransfer(message.body, "quoted-printable"))).toBe("ol\u00e1, como est\u00e1 hoje\r\n");
    expect(message.hasEightBit).toBe(false);
  });

  test("doubled encoding fields become one", () => {
    expect(
      sent(
        lines(
          FROM,
          "MIME-Version: 1.0",
          "Content-Type: text/html",
          `${CTE} 8BIT (x)`,
          `${CTE} 7bit`,
          "",
          "\u00e9 abcdef",
        ),
      ),
    ).toBe(lines(FROM, "MIME-Version: 1.0", "Content-Type: text/html", `${CTE} quoted-printable`, "", "=E9 abcdef"));
  });

  test("decoded they are the same, with line ends and spaces at their ends", () => {
    for (const body of [
      "\u00e9",
      "\u00e9 ",
      "\u00e9\r\n",
      "\u00e9\t\r\n\r\n",
      "\r\n\u00e9 x  ",
      `${"x y".repeat(400)}\u00e9`,
      "From \u00e9\r\nFrom x",
    ]) {
      const message = accept(`${lines(FROM, multipart(), "", "--b", `${CTE} 8bit`, "")}${body}\r\n--b--\r\n`);
      const text = latin1(message.body);
      const start = text.indexOf("\r\n\r\n") + 4;
      const encoded = text.slice(start, text.lastIndexOf("\r\n--b--"));
      const encoding = text.includes("quoted-printable") ? "quoted-printable" : "base64";
      expect(latin1(decodeTransfer(Buffer.from(encoded), encoding))).toBe(body);
      expect(encoded).toMatch(/^[\t\r\n -~]*$/);
    }
  });
});

describe("other parts with octets above 127", () => {
  const part = (...header: string[]) => lines(FROM, multipart(), "", "--b", ...header, "", "\u00ff\u00feabc", "--b--");

  test("files become base64", () => {
    const { attachments, body } = accept(part("Content-Type: application/x", `${CTE} binary`));
    expect(attachments[0]).toMatchObject({ transferEncoding: "base64", bytes: 5 });
    expect(latin1(attachments[0]?.encoded ?? new Uint8Array())).toBe("//5hYmM=");
    expect(latin1(body)).toBe(lines("--b", "Content-Type: application/x", `${CTE} base64`, "") + lines("", "--b--"));
  });

  test("a file without the field gets it", () => {
    expect(sent(part("Content-Type: application/x"))).toContain(
      lines("Content-Type: application/x", `${CTE} base64`, "", "//5hYmM="),
    );
    expect(sent(lines(FROM, "Content-Type: application/x", "", "\u00ff"))).toBe(
      lines(FROM, "Content-Type: application/x", "MIME-Version: 1.0", `${CTE} base64`, "", "/w0K"),
    );
  });

  test("base64 and quoted-printable with such octets are encoded anew, as readers decode them", () => {
    const base64 = accept(part("Content-Type: application/x", `${CTE} base64`)).attachments[0];
    expect([latin1(base64?.encoded ?? new Uint8Array()), base64?.bytes]).toEqual(["abc=", 2]);
    expect(sent(part(`${CTE} quoted-printable`))).toContain(lines("", "=FF=FEabc", "--b--"));
    expect(sent(lines(FROM, `${CTE} quoted-printable`, "", "\u00e9=20 =", "=0A="))).toEndWith(lines("", "=E9  =0A="));
  });

  test("an encoding that nobody knows is left", () => {
    const message = part("Content-Type: application/x", `${CTE} x-uuencode`);
    expect(sent(message)).toBe(message);
    expect(accept(message)).toMatchObject({
      hasEightBit: true,
      attachments: [{ transferEncoding: "identity", bytes: 5 }],
    });
    expect(accept(message.replaceAll(/[\u00fe\u00ff]/g, "x")).hasEightBit).toBe(false);
  });

  test("a multipart that cannot be taken apart is left", () => {
    const message = lines(FROM, multipart(), "", "no delimiter \u00e9");
    expect(sent(message)).toBe(message);
    expect(accept(message).hasEightBit).toBe(true);
  });

  test("beside the parts each octet becomes a question mark", () => {
    expect(sent(lines(FROM, multipart(), "", "pr\u00e9", "--b", "", "x", "--b--", "p\u00f3s"))).toBe(
      lines(FROM, multipart(), "", "pr?", "--b", "", "x", "--b--", "p?s"),
    );
  });

  test("a container says 7bit when it has become so, and only then", () => {
    const nested = (text: string) =>
      lines(
        FROM,
        multipart(),
        `${CTE} 8bit`,
        "",
        "--b",
        "Content-Type: message/rfc822",
        `${CTE} binary`,
        "",
        "MIME-Version: 1.0",
        "Content-Type: text/plain",
        "",
        text,
        "--b--",
      );
    expect(sent(nested("x"))).toBe(nested("x"));
    expect(sent(nested("\u00e9 abcdef"))).toBe(
      lines(
        FROM,
        multipart(),
        `${CTE} 7bit`,
        "",
        "--b",
        "Content-Type: message/rfc822",
        `${CTE} 7bit`,
        "",
        "MIME-Version: 1.0",
        "Content-Type: text/plain",
        `${CTE} quoted-printable`,
        "",
        "=E9 abcdef",
        "--b--",
      ),
    );
  });

  test("headers of parts and of inner messages are made ASCII", () => {
    const message = lines(
      FROM,
      multipart(),
      "",
      "--b",
      utf8('Content-Type: message/rfc822; name="olá"'),
      utf8("Content-Description: olá"),
      "",
      utf8("From: José <josé@x.co>"),
      utf8("Subject: olá"),
      utf8("stray olá"),
      "",
      "text",
      "--b--",
    );
    const after = sent(message);
    expect(after).toMatch(/^[\t\r\n -~]*$/);
    expect(after).toContain("name*=utf-8''ol%C3%A1\r\n");
    expect(after).toContain("Subject: =?utf-8?Q?ol=C3=A1?=\r\n");
    expect(accept(message)).toMatchObject({ hasEightBit: false, needsSmtpUtf8: false });
  });
});

describe("signed and encrypted messages are sent octet for octet", () => {
  const signed = (type: string, parts: string[], top: string[] = []) =>
    lines(
      FROM,
      ...top,
      `Content-Type: multipart/${type}; boundary=b`,
      "",
      "This is signed \u00e9",
      "--b",
      ...parts,
      "--b--",
      "\u00e9",
    );
  const CASES: [string, string, boolean, number][] = [
    [
      "PGP/MIME",
      signed('signed; micalg=pgp-sha256; protocol="application/pgp-signature"', [
        utf8('Content-Type: text/plain; charset=utf-8; x="é"'),
        `${CTE} 8bit`,
        "",
        utf8("olá "),
        "--b",
        'Content-Type: application/pgp-signature; name="signature.asc"',
        "",
        "-----BEGIN PGP SIGNATURE-----",
        "abc",
        "-----END PGP SIGNATURE-----",
      ]),
      true,
      1,
    ],
    [
      "S/MIME, detached",
      signed('signed; protocol="application/pkcs7-signature"', [
        "Content-Type: multipart/mixed; boundary=in",
        "",
        "--in",
        "",
        "text  ",
        "--in",
        "Content-Type: image/png",
        `${CTE} base64`,
        "",
        "QUJD",
        "--in--",
        "",
        "--b",
        "Content-Type: application/pkcs7-signature; name=smime.p7s",
        `${CTE} base64`,
        "",
        "QUJD",
      ]),
      true,
      2,
    ],
    [
      "PGP, encrypted",
      signed("encrypted", [
        "Content-Type: application/pgp-encrypted",
        "",
        "Version: 1",
        "--b",
        "Content-Type: application/octet-stream",
        "",
        "-----BEGIN PGP MESSAGE-----",
      ]),
      true,
      2,
    ],
    [
      "S/MIME, opaque",
      lines(
        FROM,
        "Content-Type: application/pkcs7-mime; smime-type=signed-data; name=smime.p7m",
        `${CTE} base64`,
        "",
        "QUJD",
      ),
      false,
      1,
    ],
  ];
  for (const [name, message, hasEightBit, attachments] of CASES)
    test(name, () => {
      expect(sent(message)).toBe(message);
      expect(accept(message).hasEightBit).toBe(hasEightBit);
      expect(accept(message).attachments.length).toBe(attachments);
    });

  test("a signed part in a multipart keeps the 8bit of what it is in", () => {
    const inner = signed("signed", ["", utf8("olá")]).slice(FROM.length + 2);
    const message = `${lines(FROM, "Content-Type: multipart/mixed; boundary=out", `${CTE} 8bit`, "", "--out")}${inner}${lines("--out--")}`;
    expect(sent(message)).toBe(message);
  });
});

describe("nothing becomes a delimiter that was none", () => {
  const HEAD = [FROM, 'Content-Type: multipart/mixed; boundary="b?"', ""];

  test("beside the parts, and in lines that are no fields", () => {
    expect(
      sent(
        lines(...HEAD, "--b\u00e9", "--b?", "Content-Type: message/rfc822", "", "--b\u00e9", "X: y", "", "x", "--b?--"),
      ),
    ).toBe(lines(...HEAD, "?-b?", "--b?", "Content-Type: message/rfc822", "", "?-b?", "X: y", "", "x", "--b?--"));
  });

  test("by a soft line break or an escape", () => {
    const text = `\u00e9${"x".repeat(72)}--b?`;
    expect(sent(lines(...HEAD, "--b?", "", text, "--b?--"))).toContain(lines(`${CTE} base64`, ""));
    expect(sent(lines(...HEAD, "--b?", `${CTE} quoted-printable`, "", "\u00e9", "=2D=2Db?", "--b?--"))).toContain(
      lines(`${CTE} base64`, ""),
    );
  });
});

test("in a field of tokens each octet is a question mark, so that it means the same", () => {
  expect(sent(lines(FROM, multipart(), "", "--b", `${CTE} base64 (\u00e9)`, "", "QUJD", "--b--"))).toContain(
    lines(`${CTE} base64 (?)`, "", "QUJD"),
  );
});
