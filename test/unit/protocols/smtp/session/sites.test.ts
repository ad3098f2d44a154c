import { describe, expect, test } from "bun:test";
import { systemClock } from "../../../../../src/platform/clock.ts";
import { openSession } from "../../../../../src/protocols/smtp/session/session.ts";
import { DEFAULT_TIMEOUTS } from "../../../../../src/protocols/smtp/session/timeouts.ts";
import { HOUR, MINUTE, SHOP, SITE, start, transmission } from "../../../../support/smtp/sites-kit.ts";

describe("sessions (R31)", () => {
  test("a site starts with 5 and grows by one for each round of successes, up to its limit", () => {
    const on = start(8);
    expect(on.sites.sessionLimit(SITE)).toBe(5);
    for (let i = 0; i < 6; i++) on.accept();
    expect(on.sites.sessionLimit(SITE)).toBe(6);
    for (let i = 0; i < 200; i++) on.accept();
    expect(on.sites.sessionLimit(SITE)).toBe(8);
  });

  test("each connection that fails takes one away, down to one", () => {
    const on = start();
    on.fail();
    expect(on.sites.sessionLimit(SITE)).toBe(4);
    for (let i = 0; i < 10; i++) on.fail();
    expect(on.sites.sessionLimit(SITE)).toBe(1);
  });

  test("a provider's own limits hold, whatever the successes", () => {
    const on = start();
    const orange = "smtp-in.orange.fr";
    expect(on.sites.sessionLimit(orange)).toBe(2);
    for (let i = 0; i < 200; i++) on.accept(orange);
    expect(on.sites.sessionLimit(orange)).toBe(2);
    expect(on.sites.messagesPerSession("mx01.mail.icloud.com,mx02.mail.icloud.com")).toBe(5);
    expect(on.sites.messagesPerSession(SITE)).toBeNull();
  });

  test("a name that only ends like a provider's is not the provider", () => {
    const on = start();
    expect(on.sites.sessionLimit("mx.notorange.fr")).toBe(5);
  });
});

describe("a site that cannot be reached (R33)", () => {
  test("is blocked after five failures in a row, longer each time, and opened by a success", () => {
    const on = start();
    for (let i = 0; i < 4; i++) on.fail();
    expect(on.blockedFor()).toBe(0);
    on.fail();
    expect(on.blockedFor()).toBe(MINUTE);
    expect(on.told).toMatchObject([[SITE, { reason: expect.stringContaining("connection refused") }]]);
    const lengths: number[] = [];
    for (let i = 0; i < 5; i++) {
      on.advance(on.blockedFor());
      expect(on.blockedFor()).toBe(0);
      expect(on.sites.sessionLimit(SITE)).toBe(1);
      // One probe is enough to know.
      on.fail();
      lengths.push(on.blockedFor() / MINUTE);
    }
    expect(lengths).toEqual([5, 10, 15, 30, 30]);
    on.advance(HOUR);
    on.accept();
    expect(on.blockedFor()).toBe(0);
    expect(on.told.at(-1)).toEqual([SITE, null]);
    for (let i = 0; i < 4; i++) on.fail();
    expect(on.blockedFor()).toBe(0);
  });

  test("is left alone as long as was meant when the clock is set back, and its end is told by that clock", () => {
    const on = start();
    for (let failure = 0; failure < 5; failure += 1) on.fail();
    const until = on.sites.findBlock(SITE, null)?.until ?? 0;
    on.setBack(24 * HOUR);
    expect(on.sites.findBlock(SITE, null)?.until).toBe(until - 24 * HOUR);
    on.advance(MINUTE - 1);
    expect(on.sites.findBlock(SITE, null)).not.toBeNull();
    on.advance(1);
    expect(on.sites.findBlock(SITE, null)).toBeNull();
  });

  test("failures that come side by side are one block", () => {
    const on = start();
    for (let i = 0; i < 20; i++) on.fail();
    expect(on.blockedFor()).toBe(MINUTE);
    expect(on.told).toHaveLength(1);
  });

  test("a success between them starts the count anew", () => {
    const on = start();
    for (let i = 0; i < 4; i++) on.fail();
    on.accept();
    for (let i = 0; i < 4; i++) on.fail();
    expect(on.blockedFor()).toBe(0);
  });

  test("refused greetings count, refused recipients and connections lost in a message do not", () => {
    const on = start();
    for (let i = 0; i < 5; i++) on.refuse(450, "not now", "greeting");
    expect(on.blockedFor()).toBe(MINUTE);
    const other = start();
    for (let i = 0; i < 50; i++) {
      other.refuse(550, "5.1.1 no such user");
      other.refuse(451, "4.7.1 greylisted, try again");
      other.fail(SITE, "block");
      other.fail(SITE, "dot");
    }
    expect(other.blockedFor()).toBe(0);
  });

  test("one site's trouble is not another's", () => {
    const on = start();
    for (let i = 0; i < 9; i++) on.fail();
    expect(on.blockedFor("mx.example.org")).toBe(0);
    expect(on.sites.sessionLimit("mx.example.org")).toBe(5);
    expect(on.sites.blocked().map(({ site }) => site)).toEqual([SITE]);
  });

  test("our own refusals count for nothing", () => {
    const on = start();
    const reason = "too large; exceeded the maximum number of connections";
    for (let i = 0; i < 9; i++)
      on.sites.learn(SITE, SHOP, transmission({ kind: "unfit", stage: "mail", enhanced: "5.3.4", reason }));
    expect([on.blockedFor(), on.sites.sessionLimit(SITE)]).toEqual([0, 5]);
  });
});

describe("what a site asks for", () => {
  test("421 gives it a rest of seconds, longer while it repeats itself, and halves its sessions (R25)", () => {
    const on = start();
    const rests: number[] = [];
    for (let i = 0; i < 6; i++) {
      on.refuse(421, "4.3.2 shutting down", "ehlo");
      rests.push(on.blockedFor() / 1_000);
      on.advance(on.blockedFor());
    }
    expect(rests).toEqual([5, 15, 30, 60, 120, 120]);
    expect(on.sites.sessionLimit(SITE)).toBe(1);
    on.accept();
    on.refuse(421, "4.3.2 shutting down", "ehlo");
    expect(on.blockedFor()).toBe(5_000);
  });

  test("421 about the content of one message is that message's", () => {
    const on = start();
    on.refuse(421, "4.7.0 this message is suspicious due to the nature of the content", "dot");
    expect(on.blockedFor()).toBe(0);
  });

  test.each([
    ["[TS04] Messages from 192.0.2.1 temporarily deferred due to user complaints", 421, 2 * HOUR],
    ["4.7.0 [TSS04] Messages from 192.0.2.1 temporarily deferred", 421, 2 * HOUR],
    ["[IPTS04] Messages from 192.0.2.1 temporarily deferred", 421, 2 * HOUR],
    ["5.7.0 Blocked - see https://support.apple.com/en-us/HT204137 [HCM1]", 550, 15 * MINUTE],
    ["4.7.1 [BS02] try later", 450, 15 * MINUTE],
  ])("%s suspends it (R32), of the provider whose words these are", (text, code, forMs) => {
    const on = start();
    const site = text.includes("TS") || text.includes("TSS") ? "mta5.am0.yahoodns.net" : "mx01.mail.icloud.com";
    on.refuse(code, text, "rcpt", { site });
    expect(on.blockedFor(site)).toBe(forMs);
    // In anybody else's refusal they may be a recipient's.
    on.refuse(550, text);
    expect(on.blockedFor()).toBe(0);
  });

  test("what everybody may say is believed of passing refusals only", () => {
    const on = start();
    on.refuse(550, "5.1.1 too many connections");
    expect(on.sites.sessionLimit(SITE)).toBe(5);
  });

  test("a site that takes mail meanwhile has not blocked our address (R34)", () => {
    const on = start();
    for (let i = 0; i < 20; i++) {
      on.refuse(550, "5.7.1 blocked using dbl.spamhaus.org", "dot");
      on.accept();
    }
    expect(on.blockedFor()).toBe(0);
  });

  test("this machine's own trouble is not the site's", () => {
    const on = start();
    for (let i = 0; i < 20; i++)
      on.sites.learn(
        SITE,
        SHOP,
        transmission({ kind: "broken", stage: "connect", reason: "connect ENETUNREACH", isDotSent: false }),
      );
    expect([on.blockedFor(), on.sites.sessionLimit(SITE)]).toEqual([0, 5]);
  });

  test("a connection that fails for want of a source address is told in the words that this is known by", async () => {
    const opened = await openSession({
      host: "mx.example.net",
      address: "127.0.0.1",
      port: 25,
      localAddress: "203.0.113.9",
      heloName: "mail.example.net",
      tls: "never",
      timeouts: DEFAULT_TIMEOUTS,
      clock: systemClock,
    });
    if (opened.kind !== "broken") throw new Error("connected from an address that this machine does not have");
    const on = start();
    for (let i = 0; i < 9; i++)
      on.sites.learn(
        SITE,
        SHOP,
        transmission({ kind: "broken", stage: "connect", reason: opened.reason, isDotSent: false }),
      );
    expect(on.blockedFor()).toBe(0);
  });

  test("a suspension outlasts the visits of many other sites", () => {
    const on = start();
    const site = "mta5.am0.yahoodns.net";
    on.refuse(421, "[TSS04] temporarily deferred", "greeting", { site });
    for (let i = 0; i < 25_000; i++) on.accept(`mx${i}.example.org`);
    expect(on.blockedFor(site)).toBe(2 * HOUR);
  });

  test("too many connections: one session for an hour, then as before (R32)", () => {
    const on = start();
    on.refuse(421, "4.3.2 Your IP exceeded the maximum number of connections", "greeting");
    expect(on.sites.sessionLimit(SITE)).toBe(1);
    on.advance(HOUR + 1);
    expect(on.sites.sessionLimit(SITE)).toBe(5);
  });

  test("temporarily deferred: a rest at first, the second time a message a minute for 90 minutes (R32)", () => {
    const on = start();
    const deferred = () => on.refuse(451, "4.7.650 The mail server has been temporarily deferred", "ehlo");
    deferred();
    expect(on.blockedFor()).toBe(MINUTE);
    on.advance(MINUTE);
    expect([on.blockedFor(), on.sites.sessionLimit(SITE)]).toEqual([0, 5]);
    deferred();
    expect(on.blockedFor()).toBe(MINUTE);
    on.advance(MINUTE);
    expect([on.blockedFor(), on.sites.sessionLimit(SITE)]).toEqual([0, 1]);
    on.sites.begin(SITE, SHOP);
    expect(on.blockedFor()).toBe(MINUTE);
    on.advance(90 * MINUTE);
    expect(on.blockedFor()).toBe(0);
    expect(on.sites.sessionLimit(SITE)).toBe(5);
  });

  test("five messages in a row that were welcome end the pace, and the site grows again from one session", () => {
    const on = start();
    for (let i = 0; i < 2; i++) on.refuse(451, "4.7.650 The mail server has been temporarily deferred", "ehlo");
    for (let i = 0; i < 5; i++) {
      on.advance(MINUTE);
      expect(on.blockedFor()).toBe(0);
      on.sites.begin(SITE, SHOP);
      on.accept();
    }
    expect(on.blockedFor()).toBe(0);
    expect(on.told.at(-1)).toEqual([SITE, null]);
    on.accept();
    expect(on.sites.sessionLimit(SITE)).toBe(2);
  });

  test("our address is blocked: at the greeting at once, else when it is said three times in an hour (R34)", () => {
    const blocked = "5.7.1 Service unavailable, client host blocked using zen.spamhaus.org";
    const on = start();
    on.refuse(554, blocked, "greeting");
    expect(on.blockedFor()).toBe(HOUR);
    const later = start();
    later.refuse(550, blocked, "ehlo");
    later.advance(HOUR + 1);
    later.refuse(550, blocked, "ehlo");
    later.refuse(550, blocked, "ehlo");
    expect(later.blockedFor()).toBe(0);
    later.refuse(550, blocked, "ehlo");
    expect(later.blockedFor()).toBe(HOUR);
  });

  test("wrong credentials stop the relay at once: each try would count against the account", () => {
    const on = start();
    on.refuse(535, "5.7.8 authentication failed", "auth");
    expect(on.blockedFor()).toBe(MINUTE);
  });
});
