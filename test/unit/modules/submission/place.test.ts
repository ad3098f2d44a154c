// What the settings of a program that hands in mail say: host and ports.

import { describe, expect, test } from "bun:test";
import { findSubmissionPlace } from "../../../../src/modules/submission/place.ts";

const find = (addresses: string[], tlsAddresses: string[] = [], mayAuthenticateInClear = false) =>
  findSubmissionPlace({ hostname: "mail.example.net", addresses, tlsAddresses, mayAuthenticateInClear });

describe("the place of submission", () => {
  test("is none where nothing listens", () => {
    expect(find([])).toBeNull();
  });

  test("is the server's name with each port once, however many addresses have it", () => {
    expect(find(["0.0.0.0:587", "[::]:587", "0.0.0.0:2587"], ["[::]:465"])).toEqual({
      host: "mail.example.net",
      ports: [
        { port: 587, tls: "starttls" },
        { port: 2587, tls: "starttls" },
        { port: 465, tls: "implicit" },
      ],
    });
  });

  test("leaves ports out that only the machine itself reaches", () => {
    expect(find(["127.0.0.1:2525"], ["203.0.113.7:465"])).toEqual({
      host: "mail.example.net",
      ports: [{ port: 465, tls: "implicit" }],
    });
  });

  test("is the loopback address where all are of the machine itself; in the sandbox without TLS", () => {
    expect(find(["[::1]:2587", "127.0.0.1:587"])).toEqual({ host: "::1", ports: [{ port: 2587, tls: "starttls" }] });
    expect(find(["127.0.0.1:2587"], [], true)).toEqual({ host: "127.0.0.1", ports: [{ port: 2587, tls: "none" }] });
  });
});
