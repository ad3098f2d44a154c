import { Elysia } from "elysia";
import { operatorCaller } from "../../platform/http/auth.ts";
import { answers, describe } from "../../platform/http/openapi.ts";
import { AlertSecrets, AlertStatus, AlertTest } from "./schema.ts";

const TAG = "Operator";

export interface AlertRouteDeps {
  status(): typeof AlertStatus.static;
  secrets(): typeof AlertSecrets.static;
  /** Begins one. Throws where nobody is to be told. */
  beginTest(): Promise<typeof AlertTest.static>;
  /** How the last one goes. */
  test(): typeof AlertTest.static;
}

export function alertRoutes(deps: AlertRouteDeps) {
  return new Elysia({ name: "operator alerts", prefix: "/api/v1/operator/alerts" })
    .get(
      "",
      ({ request }) => {
        operatorCaller(request);
        return { data: deps.status() };
      },
      {
        detail: describe({
          id: "getAlerts",
          tag: TAG,
          summary: "Get who is told of what, and what lasts",
          description: "The receivers of the configuration, and what was told to them and lasts.",
          responses: answers(200, AlertStatus, [401, 403]),
        }),
      },
    )
    .get(
      "/secrets",
      ({ request }) => {
        operatorCaller(request);
        return { data: deps.secrets() };
      },
      {
        detail: describe({
          id: "getAlertSecrets",
          tag: TAG,
          summary: "Get the secrets that calls of alerts are signed with",
          description: "By Standard Webhooks, one for each address; the same as long as the instance key is.",
          responses: answers(200, AlertSecrets, [401, 403]),
        }),
      },
    )
    .post(
      "/test",
      async ({ request, set }) => {
        operatorCaller(request);
        const data = await deps.beginTest();
        set.status = 202;
        return { data };
      },
      {
        detail: describe({
          id: "testAlerts",
          tag: TAG,
          summary: "Send a test to everybody who is told",
          description: "The answer comes at once; GET on the same path says what became of it.",
          responses: answers(202, AlertTest, [401, 403, 404, 429, 503]),
        }),
      },
    )
    .get(
      "/test",
      ({ request }) => {
        operatorCaller(request);
        return { data: deps.test() };
      },
      {
        detail: describe({
          id: "getAlertTest",
          tag: TAG,
          summary: "Get what became of the last test",
          description: "Empty if none was made since the start.",
          responses: answers(200, AlertTest, [401, 403]),
        }),
      },
    );
}
