// The browser's side of the API: addresses of calls, events of a stream, the language of a stranger.

import { describe, expect, test } from "bun:test";
import { buildTarget } from "../../../src/dashboard/web/api/client.ts";
import { parseEvent, readEvents } from "../../../src/dashboard/web/api/event-stream.ts";
import { findLanguage } from "../../../src/dashboard/web/i18n/find-language.ts";

describe("calls", () => {
  test("put their parameters into the path and their query behind it", () => {
    const name = "GET /api/v1/emails/:id/events";
    expect(buildTarget(name, { params: { id: "a/b" }, query: { limit: 5, cursor: undefined, q: "" } })).toEqual({
      method: "GET",
      url: "/api/v1/emails/a%2Fb/events?limit=5",
    });
  });
});

describe("the live stream", () => {
  test("a comment is no event", () => {
    expect(parseEvent(": open")).toBeNull();
    expect(parseEvent('event: changed\ndata: {"emails":2}')).toEqual({ name: "changed", data: { emails: 2 } });
  });

  test("events are read whole, wherever the network cuts them", async () => {
    const text =
      ': open\n\nevent: changed\ndata: {"keys":1}\n\nevent: email\ndata: {"id":"ã","status":"delivered"}\n\n';
    const bytes = new TextEncoder().encode(text);
    const body = new ReadableStream<Uint8Array>({
      start(controller) {
        for (const byte of bytes) controller.enqueue(Uint8Array.of(byte));
        controller.close();
      },
    });
    expect(await Array.fromAsync(readEvents(body))).toEqual([
      { name: "changed", data: { keys: 1 } },
      { name: "email", data: { id: "ã", status: "delivered" } },
    ]);
  });
});

describe("the language", () => {
  test.each([
    [["pt-BR", "en"], "pt-BR"],
    [["pt-MZ"], "pt-PT"],
    [["fr", "PT"], "pt-PT"],
    [["en-GB", "pt"], "en"],
    [["fr"], "en"],
  ] as const)("of a browser that wants %p is %p", (wanted, language) => {
    expect(findLanguage(wanted)).toBe(language);
  });
});
