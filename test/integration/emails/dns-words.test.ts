import { expect, test } from "bun:test";
import { startInstance } from "../../support/fakes/instance.ts";

test("customers are told of DNS servers by their number, and never where they are", async () => {
  await using pombo = await startInstance();
  const domain = await pombo.workspace.call("POST", "/api/v1/domains", { body: { domain: "outra.test" } });
  const { id: domainId } = domain.body.data;
  const port = pombo.dns.address.split(":")[1] ?? "";
  pombo.dns.faults["*"] = "servfail";
  const sent = await pombo.workspace.call("POST", "/api/v1/emails", { body: pombo.email({ to: "maria@later.test" }) });
  await pombo.app.worker.idle();
  const answers = [];
  const path = `/api/v1/emails/${sent.body.data.id}`;
  for (const [method, at] of [
    ["GET", path],
    ["GET", `${path}/events`],
    ["POST", `/api/v1/domains/${domainId}/verification-checks`],
    ["GET", `/api/v1/domains/${domainId}`],
    ["GET", "/ready"],
  ] as const)
    answers.push((await pombo.workspace.call(method, at)).text);
  expect(answers[0]).toContain("MX later.test: DNS server 1 answered SERVFAIL");
  for (const text of answers) expect(text).not.toContain(`:${port}`);
});
