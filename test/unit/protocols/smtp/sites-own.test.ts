import { describe, expect, test } from "bun:test";
import { BANK, HOUR, MINUTE, SHOP, SITE, start } from "../../../support/smtp/sites-kit.ts";

describe("what a site asks in answers to one workspace's mail", () => {
  const BLOCKED = "5.7.1 Service unavailable; Client host [192.0.2.1] blocked using zen.spamhaus.org";

  test("holds for that workspace, and for all once it is asked of two", () => {
    const on = start();
    for (let i = 0; i < 9; i++) on.refuse(554, BLOCKED);
    expect([on.blockedFor(SITE, SHOP), on.blockedFor(SITE, BANK), on.blockedFor(SITE, null)]).toEqual([HOUR, 0, 0]);
    expect(on.told).toMatchObject([[SITE, { reason: expect.stringContaining("spamhaus") }, SHOP]]);
    expect(on.sites.blocked()).toMatchObject([{ site: SITE, owner: SHOP }]);
    on.refuse(554, BLOCKED, "rcpt", { by: BANK });
    expect([on.blockedFor(SITE, BANK), on.blockedFor(SITE, null)]).toEqual([HOUR, HOUR]);
    expect(on.told.at(-1)).toHaveLength(2);
  });

  test("a message of another workspace that is taken meanwhile unsays it (R34)", () => {
    const on = start();
    for (let i = 0; i < 9; i++) {
      on.refuse(554, BLOCKED, "rcpt", { by: i % 2 === 0 ? SHOP : BANK });
      on.accept(SITE, BANK);
    }
    expect(on.sites.blocked()).toEqual([]);
  });

  test.each([
    [421, "4.3.2 shutting down", 5_000],
    [451, "4.7.650 The mail server has been temporarily deferred", MINUTE],
  ])("%d %s holds up its mail alone", (code, text, forMs) => {
    const on = start();
    on.refuse(code, text);
    expect([on.blockedFor(SITE, SHOP), on.blockedFor(SITE, BANK)]).toEqual([forMs, 0]);
    expect(on.sites.sessionLimit(SITE)).toBe(5);
    on.refuse(code, text, "rcpt", { by: BANK });
    expect(on.blockedFor(SITE, BANK)).toBeGreaterThan(0);
    expect(on.blockedFor(SITE, null)).toBeGreaterThan(0);
  });

  test("its pace and its fewer sessions are its own", () => {
    const on = start();
    for (let i = 0; i < 2; i++) on.refuse(451, "4.7.650 The mail server has been temporarily deferred");
    on.advance(MINUTE);
    expect([on.sites.ownerSessionLimit(SITE, SHOP), on.sites.ownerSessionLimit(SITE, BANK)]).toEqual([1, Infinity]);
    on.sites.begin(SITE, BANK);
    expect(on.blockedFor(SITE, SHOP)).toBe(0);
    on.sites.begin(SITE, SHOP);
    expect([on.blockedFor(SITE, SHOP), on.blockedFor(SITE, BANK)]).toEqual([MINUTE, 0]);
    const narrow = start();
    narrow.refuse(421, "4.3.2 Your IP exceeded the maximum number of connections");
    expect([narrow.sites.sessionLimit(SITE), narrow.sites.ownerSessionLimit(SITE, SHOP)]).toEqual([5, 1]);
    narrow.refuse(421, "4.3.2 Your IP exceeded the maximum number of connections", "rcpt", { by: BANK });
    expect(narrow.sites.sessionLimit(SITE)).toBe(1);
  });

  test("an answer to RCPT about an address asks nothing of anybody", () => {
    const on = start();
    for (const by of [SHOP, BANK]) {
      for (let i = 0; i < 9; i++) {
        on.refuse(550, "5.1.1 User unknown; blocked using spamhaus", "rcpt", { by });
        on.refuse(450, "4.1.1 Mailbox temporarily deferred, too many connections", "rcpt", { by });
      }
    }
    expect([on.sites.blocked(), on.sites.sessionLimit(SITE)]).toEqual([[], 5]);
  });

  test("an answer to MAIL may be about the sender's domain, named or not, and holds for its workspace", () => {
    for (const text of [
      "5.7.1 bounce.loja.test blocked using dbl.spamhaus.org",
      "5.1.8 Sender's domain blocked using dbl.spamhaus.org",
      BLOCKED,
    ]) {
      const on = start();
      for (let i = 0; i < 3; i++) on.refuse(554, text, "mail");
      expect([on.blockedFor(SITE, SHOP), on.blockedFor(SITE, BANK)]).toEqual([HOUR, 0]);
      on.refuse(554, text, "mail", { by: BANK });
      expect(on.blockedFor(SITE, null)).toBe(HOUR);
    }
  });

  test("an answer that quotes the content asks nothing of anybody", () => {
    const on = start();
    for (const by of [SHOP, BANK]) {
      for (let i = 0; i < 9; i++) {
        on.refuse(554, `5.7.1 "Your order is on its way today": blocked using spamhaus`, "dot", { by });
        on.refuse(451, "4.7.1 loja@loja.test is temporarily deferred, too many connections", "dot", { by });
      }
    }
    expect([on.sites.blocked(), on.sites.sessionLimit(SITE)]).toEqual([[], 5]);
  });
});
