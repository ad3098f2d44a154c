import { expect, test } from "bun:test";
import { domainRecords } from "../../../../src/modules/domains/records.ts";

const source = {
  domain: "example.com",
  dkim: { rsa: "v=DKIM1; k=rsa; p=AAA", ed25519: "v=DKIM1; k=ed25519; p=BBB" },
  bounceHost: "mx.operator.example",
  dmarcRua: null,
};

test("a domain has two DKIM keys, one CNAME for the return path and a DMARC policy (R62)", () => {
  expect(domainRecords(source)).toEqual({
    dkim: [
      { type: "TXT", name: "pombo1._domainkey.example.com", value: "v=DKIM1; k=rsa; p=AAA" },
      { type: "TXT", name: "pombo2._domainkey.example.com", value: "v=DKIM1; k=ed25519; p=BBB" },
    ],
    spf: { type: "CNAME", name: "bounce.example.com", value: "mx.operator.example" },
    dmarc: { type: "TXT", name: "_dmarc.example.com", value: "v=DMARC1; p=none" },
  });
});

test("DMARC names a place for reports only when the operator has one", () => {
  for (const dmarcRua of ["dmarc@operator.example", "mailto:dmarc@operator.example"]) {
    expect(domainRecords({ ...source, dmarcRua }).dmarc.value).toBe(
      "v=DMARC1; p=none; rua=mailto:dmarc@operator.example",
    );
  }
});
