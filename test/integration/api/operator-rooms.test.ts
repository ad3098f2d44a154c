// Which routes are the operator's.
import { expect, test } from "bun:test";
import { alertRoutes } from "../../../src/modules/alerts/routes.ts";
import { operatorAccountRoutes } from "../../../src/modules/accounts/operator-routes.ts";
import { tlsRoutes } from "../../../src/modules/certificates/routes.ts";
import { doctorRoutes } from "../../../src/modules/doctor/routes.ts";
import { createDomains } from "../../../src/modules/domains/index.ts";
import { createInboundMail } from "../../../src/modules/inbound-mail/index.ts";
import { createRecipients } from "../../../src/modules/recipients/index.ts";
import { createSuppressions } from "../../../src/modules/suppressions/index.ts";
import { createWorkspaces } from "../../../src/modules/workspaces/index.ts";
import { createOperatorRoutes } from "../../../src/server/modules.ts";
import { linkRoutes, linkTestRoutes } from "../../../src/modules/sms/api/operator-routes.ts";
import { startInstance } from "../../support/fakes/instance.ts";

test("the operator's rooms are all that is under their path, and nothing else, for the commands that use them alone", async () => {
  await using pombo = await startInstance();
  const { paths } = (await pombo.operator.call("GET", "/api/v1/openapi.json")).body;
  const served = Object.keys(paths).filter((path) => path.startsWith("/api/v1/operator"));
  const none = {} as never;
  const config = { email: {}, inbound: {}, plans: {}, dns: {} } as never;
  const sms = { operatorRoutes: () => [linkRoutes(none), linkTestRoutes({ tests: none, numbering: none })] };
  const inboundMail = createInboundMail(none, none, config, { keyring: { hmacKey: () => null } } as never);
  const domains = createDomains(none, none, config, none);
  const workspaces = createWorkspaces(none, none, config, none);
  const [suppressions, recipients] = [createSuppressions(none, none, none), createRecipients(none, none, none)];
  const accounts = { operatorRoutes: () => operatorAccountRoutes(none) };
  const certificates = { operatorRoutes: () => [tlsRoutes(none, none)] };
  const alerts = { operatorRoutes: () => [alertRoutes(none)] };
  const doctor = { operatorRoutes: () => [doctorRoutes(none)] };
  const made = createOperatorRoutes(
    { accounts, workspaces, suppressions, recipients, domains, inboundMail, certificates, alerts, doctor, sms },
    none,
  );
  const routes = made.flatMap(({ routes: all }) => all.map(({ path }) => path.replaceAll(/:(\w+)/g, "{$1}")));
  expect([...new Set(routes)].toSorted()).toEqual(served.toSorted());
  const tags = served.flatMap((path) => Object.values<{ tags: string[] }>(paths[path]).flatMap(({ tags: own }) => own));
  expect(new Set(tags)).toEqual(new Set(["Operator"]));
});
