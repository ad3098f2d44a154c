import { expect, test } from "bun:test";
import { type Instance, startInstance } from "../../support/fakes/instance.ts";

// What one workspace's mail makes a server say keeps nobody else's back.

async function sendTo(pombo: Instance, to: string, workspace = pombo.workspace, from?: string): Promise<string> {
  const body = pombo.email({ to, ...(from === undefined ? {} : { from }) });
  return (await workspace.call("POST", "/api/v1/emails", { body })).body.data.id;
}

async function stateOf(pombo: Instance, id: string, workspace = pombo.workspace) {
  await pombo.app.worker.idle();
  return (await workspace.call("GET", `/api/v1/emails/${id}`)).body.data;
}

const blockedIn = ({ events }: Instance) => events.filter(({ name }) => name === "site.blocked");

test("three recipients whose names sound like a blocklist's answer are three unknown users", async () => {
  await using pombo = await startInstance({
    mx: {
      // As Postfix writes a quoted local part: without its quotes.
      rcpt: (command) =>
        command.includes('"')
          ? `550 5.1.1 ${command.slice(8).replace(/"/g, "")}: Recipient address rejected: User unknown`
          : "250 2.1.5 Ok",
    },
  });
  for (const nth of [1, 2, 3]) {
    const id = await sendTo(pombo, `"blocked using spamhaus ${nth}"@example.com`);
    const { bounce } = await stateOf(pombo, id);
    expect(bounce).toMatchObject({ category: "invalid_recipient", enhancedCode: "5.1.1" });
  }
  expect(await stateOf(pombo, await sendTo(pombo, "maria@example.com"))).toMatchObject({ status: "delivered" });
  expect(blockedIn(pombo)).toEqual([]);
});

test("a site that blocks one workspace's mail goes on getting another's", async () => {
  const said = "554 5.7.1 Service unavailable; Client host [192.0.2.1] blocked using zen.spamhaus.org";
  await using pombo = await startInstance({
    mx: {
      rcpt: (_, { commands }) =>
        commands.findLast((each) => each.startsWith("MAIL"))?.includes("loja.test") ? said : "250 Ok",
    },
  });
  const other = await pombo.newWorkspace();
  await pombo.addDomain(other, "banco.test");
  for (const nth of [1, 2, 3]) await stateOf(pombo, await sendTo(pombo, `maria${nth}@example.com`));
  const [late, theirs] = [
    await sendTo(pombo, "maria4@example.com"),
    await sendTo(pombo, "maria5@example.com", other, "banco@banco.test"),
  ];
  expect(await stateOf(pombo, theirs, other)).toMatchObject({ status: "delivered" });
  expect(await stateOf(pombo, late)).toMatchObject({ status: "queued", attempts: 0 });
  expect(blockedIn(pombo)).toMatchObject([{ fields: { site: "mx.example.com", workspace: pombo.workspace.id } }]);
  const status = (await pombo.operator.call("GET", "/api/v1/operator/status")).body.data;
  expect(status.blockedSites).toMatchObject({ count: 1, sites: [{ workspaceId: pombo.workspace.id }] });
});
