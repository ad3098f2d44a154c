import { expect, test } from "bun:test";
import { defaultSmsRoute } from "../../../src/config/config.ts";
import { openRoutes } from "../../../src/modules/sms/gateway/route-settings.ts";
import { findUnboundRoutes } from "../../../src/modules/sms/gateway/route-health.ts";
import { linkConfig } from "../../support/texting/world.ts";

test("a route is a trouble since its link is gone; where no links are opened nothing is said of them", () => {
  const routes = openRoutes([{ ...defaultSmsRoute("vodacom"), links: [linkConfig(2775)] }]);
  const issues = (unboundMs: number) =>
    findUnboundRoutes(routes, { unboundMs: () => unboundMs, views: () => [] }, { hasWaiting: () => true }, 1_000_000);
  expect(issues(600_000)).toMatchObject([{ component: "sms", about: "vodacom", since: 400_000, isAdvisory: true }]);
  expect(issues(0)).toEqual([]);
  expect(issues(Infinity)).toEqual([]);
});
