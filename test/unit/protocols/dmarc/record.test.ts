// DMARC records as RFC 9989 has them, and as people write them.
import { expect, test } from "bun:test";
import { readDmarc, reportDomain } from "../../../../src/protocols/dmarc/record.ts";

function read(text: string) {
  const reading = readDmarc([text]);
  return reading.kind === "record" ? reading.record : reading.kind === "faulty" ? reading.fault : reading.kind;
}

test("the shortest record has the defaults", () => {
  expect(read("v=DMARC1; p=none")).toEqual({
    policy: "none",
    subdomainPolicy: "none",
    dkim: "relaxed",
    spf: "relaxed",
    isTest: false,
    reportTo: [],
    obsolete: [],
  });
});

test("all tags are read, whatever their case and white space, and strangers' passed over", () => {
  const text =
    " \tv=DMARC1;P = Reject ; sp=QUARANTINE;adkim=s; aspf=S;t=y;np=reject;x=y; rua=mailto:a@b.example!10m , mailto:c@d.example;";
  expect(readDmarc([text]).kind).toBe("faulty");
  expect(read(text.trim())).toEqual({
    policy: "reject",
    subdomainPolicy: "quarantine",
    dkim: "strict",
    spf: "strict",
    isTest: true,
    reportTo: ["mailto:a@b.example!10m", "mailto:c@d.example"],
    obsolete: [],
  });
});

test("what the older standard knew is told", () => {
  expect(read("v=DMARC1; p=quarantine; pct=50; ri=86400; rf=afrf")).toMatchObject({ obsolete: ["pct", "rf", "ri"] });
});

test.each([
  ["v=DMARC1", /no valid p=/],
  ["v=DMARC1; p=nonne", /no valid p=/],
  ["v=DMARC1; p=none; sp=x", /no valid sp=/],
  ["v=DMARC1; p=none; p=reject", /p= twice/],
  ["v=DMARC1; p=none; adkim=x", /adkim= or aspf=/],
  ["v=DMARC1; p=none; nonsense", /is no tag/],
  ["v=DMARC1; p=none; rua=dmarc@example.org", /in rua=/],
  ["v=dmarc1; p=none", /exactly/],
  ['"v=DMARC1; p=none"', /quotation marks/],
])("%s is faulty", (text, fault) => {
  expect(read(text)).toMatch(fault);
});

test("other records do not count, and two count as none", () => {
  expect(readDmarc(["v=spf1 -all", "hello"]).kind).toBe("none");
  expect(readDmarc(["v=DMARC12; p=none"]).kind).not.toBe("record");
  expect(readDmarc(["hello", "v=DMARC1; p=none"]).kind).toBe("record");
  expect(readDmarc(["v=DMARC1; p=none", "v=DMARC1;p=reject"]).kind).toBe("several");
});

test("whose reports they are", () => {
  expect(reportDomain("mailto:dmarc@Example.ORG!10m")).toBe("example.org");
  expect(reportDomain("https://example.org/report")).toBeNull();
});
