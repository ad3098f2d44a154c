import { expect, test } from "bun:test";
import { compareDkim, compareDmarc } from "../../../../src/modules/domains/compare.ts";

const KEY = `MIIBIjANBgkqhkiG9w0BAQEFAAOCAQ8A${"AbC9+/".repeat(60)}QAB`;
const WANTED = `v=DKIM1; k=rsa; p=${KEY}`;
const ED_WANTED = "v=DKIM1; k=ed25519; p=11qYAYKxCrfVS/7TyWQHOg7hcvPapiMlrwIaaPcHURo=";

test("a key record is found in every form that verifiers read alike (RFC 6376 §3.6.1)", () => {
  const forms = [
    WANTED,
    `v=DKIM1;k=rsa;p=${KEY};`,
    `v=DKIM1 ; p = ${KEY} ; k = rsa ; `,
    `k=rsa; p=${KEY}`,
    `p=${KEY}`,
    `v=DKIM1; k=rsa; p=${KEY.slice(0, 200)} ${KEY.slice(200)}`,
    `v=DKIM1; h=sha1:sha256; s=email; t=s; n=some note; p=${KEY}`,
    `v=DKIM1; k=RSA; p=${KEY}`,
  ];
  for (const form of forms) expect(compareDkim(WANTED, [form])).toEqual({ status: "found" });
  expect(compareDkim(ED_WANTED, [ED_WANTED])).toEqual({ status: "found" });
});

test("a key record that only lenient verifiers read is found, with advice", () => {
  const forms = [
    `V=DKIM1; K=rsa; P=${KEY}`,
    `v=dkim1; k=rsa; p=${KEY}`,
    `k=rsa; p=${KEY}; v=DKIM1`,
    `v=DKIM1; t=y; p=${KEY}`,
  ];
  for (const form of forms) {
    const judgement = compareDkim(WANTED, [form]);
    expect(judgement.status).toBe("found");
    expect(judgement.hint).toBeString();
  }
});

test("a key record that would fail is a mismatch, and the hint says why", () => {
  const cases: [value: string, hint: RegExp][] = [
    ["", /not a DKIM key/],
    ["v=spf1 -all", /not a DKIM key/],
    ["v=DKIM1; k=rsa", /not a DKIM key/],
    [`v=DKIM2; p=${KEY}`, /not a DKIM key/],
    [`v=DKIM1; p=${KEY}; p=${KEY}`, /not a DKIM key/],
    [`v=DKIM1; p=${KEY}; P=AAAA`, /not a DKIM key/],
    ["v=DKIM1; k=rsa; p=", /revoked/],
    ["v=DKIM1; k=rsa; p=AAAA", /another key/],
    [`v=DKIM1; k=rsa; p=${KEY.toLowerCase()}`, /another key/],
    [`v=DKIM1; k=rsa; p=${KEY.slice(0, 220)}`, /cut off/],
    [`v=DKIM1; k=ed25519; p=${KEY}`, /k=ed25519 instead of k=rsa/],
    [`v=DKIM1; h=sha1; p=${KEY}`, /forbids SHA-256/],
    [`v=DKIM1; s=other; p=${KEY}`, /for email/],
    [`"${WANTED}"`, /quotation marks/],
    [`v=DKIM1; k=rsa; p=${KEY.slice(0, 200)}" "${KEY.slice(200)}`, /quotation marks/],
    [WANTED.replaceAll(";", "\\;"), /backslashes/],
  ];
  for (const [value, hint] of cases) {
    const judgement = compareDkim(WANTED, [value]);
    expect(judgement.status).toBe("mismatch");
    expect(judgement.hint).toMatch(hint);
  }
  // k= left out means RSA, which an Ed25519 key is not.
  expect(compareDkim(ED_WANTED, [ED_WANTED.replace(" k=ed25519;", "")])).toMatchObject({ status: "mismatch" });
});

test("two records at one name are a mismatch even when one of them is right (RFC 6376 §3.6.2.2)", () => {
  for (const other of ["v=DKIM1; k=rsa; p=AAAA", "v=spf1 -all", `"${WANTED}"`]) {
    for (const found of [
      [WANTED, other],
      [other, WANTED],
    ]) {
      const judgement = compareDkim(WANTED, found);
      expect(judgement.status).toBe("mismatch");
      expect(judgement.hint).toMatch(/remove the others/);
    }
  }
  expect(compareDkim(WANTED, [WANTED, `${WANTED};`])).toEqual({ status: "found" });
});

test("among several wrong records the hint speaks of the one that is a key", () => {
  expect(compareDkim(WANTED, ["v=spf1 -all", "v=DKIM1; p=AAAA"]).hint).toMatch(/another key/);
});

test("any valid DMARC policy is found", () => {
  for (const value of [
    "v=DMARC1; p=none",
    "v=DMARC1;p=REJECT;",
    "v = DMARC1 ; p = quarantine; rua=mailto:a@b.example",
  ]) {
    expect(compareDmarc([value])).toEqual({ status: "found" });
    expect(compareDmarc(["other text", value])).toEqual({ status: "found" });
  }
});

test("a DMARC record that receivers would not count is a mismatch", () => {
  const cases: [found: string[], hint: RegExp][] = [
    [["hello"], /must begin with v=DMARC1/],
    [["p=none; v=DMARC1"], /must begin with v=DMARC1/],
    [["v=DMARC1"], /no valid policy/],
    [["v=DMARC1; p=maybe"], /no valid policy/],
    [["v=DMARC1; p=none", "v=DMARC1; p=reject"], /more than one/],
    [['"v=DMARC1; p=none"'], /quotation marks/],
  ];
  for (const [found, hint] of cases) {
    const judgement = compareDmarc(found);
    expect(judgement.status).toBe("mismatch");
    expect(judgement.hint).toMatch(hint);
  }
});
