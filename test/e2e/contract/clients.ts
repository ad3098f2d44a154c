// Clients that generators make of the document, and what people use to judge such documents. Each client is compiled
// and does the same against a sandbox: a send, a batch, a read, both kinds of pages, an email with all
// that it may have, webhooks, an SMS and an error.
// What it did is looked up in the sandbox afterwards. And the docs' own code to verify a webhook's call is run.

import { cpSync, mkdirSync, readdirSync, readFileSync, symlinkSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { buildSignatureHeaders } from "../../../src/modules/webhooks/sign.ts";
import type { Checks } from "../interop/checks.ts";
import { mustRun, run, type Cleanup } from "../../support/peers/process.ts";
import { type Sandbox, startSandbox } from "../../support/peers/sandbox.ts";
import { generatorJar, javaLibraries, npmPackages, npmTool, oapiCodegen, python, SOURCES } from "./tools.ts";

/** JSON whose shape the caller knows from the interface. */
// oxlint-disable-next-line no-explicit-any
type Json = any;

const STEPS = [
  "send",
  "batch",
  "read",
  "pages",
  "group",
  "change",
  "record",
  "file",
  "filters",
  "list",
  "cancel",
  "cursor",
  "webhook",
  "sms",
  "error",
];

/** One client a language: those of openapi-generator take a Java machine each. */
const IS_SHORT = process.env["CONTRACT_CLIENTS"] === "short";

interface Place {
  /** An empty folder. */
  folder: string;
  /** The document's file. */
  document: string;
}

interface Kind {
  name: string;
  /** Programs that the machine must have. */
  needs: string[];
  /** Generates and compiles. @returns the client's command, to be run in the folder */
  build(place: Place): Promise<string[]>;
}

const KINDS: Kind[] = [
  {
    name: "openapi-fetch",
    needs: [],
    async build({ folder, document }) {
      symlinkSync(await npmPackages(), join(folder, "node_modules"));
      cpSync(join(SOURCES, "fetch-client.ts"), join(folder, "client.ts"));
      await mustRun([...(await npmTool("openapi-typescript/bin/cli.js")), document, "-o", join(folder, "api.d.ts")]);
      await mustRun([
        ...[...(await npmTool("typescript/bin/tsc")), join(folder, "client.ts"), "--noEmit", "--strict"],
        ...["--allowImportingTsExtensions", "--exactOptionalPropertyTypes", "--target", "esnext"],
        ...["--module", "preserve", "--moduleResolution", "bundler", "--lib", "esnext,dom", "--skipLibCheck"],
      ]);
      return [process.execPath, "client.ts"];
    },
  },
  {
    name: "openapi-python-client",
    needs: ["python3"],
    async build({ folder, document }) {
      cpSync(join(SOURCES, "attrs_client.py"), join(folder, "main.py"));
      const said = await mustRun([
        ...[await python(), "-m", "openapi_python_client", "generate", "--path", document, "--meta", "none"],
        ...["--output-path", join(folder, "client"), "--overwrite", "--fail-on-warning"],
        ...["--config", writtenTo(join(folder, "config.yaml"), "post_hooks: []\n")],
      ]);
      if (/warning/i.test(said)) throw new Error(said);
      return [await python(), "main.py"];
    },
  },
  {
    name: "openapi-generator for Python",
    needs: ["python3", "java"],
    async build({ folder, document }) {
      cpSync(join(SOURCES, "pydantic_client.py"), join(folder, "main.py"));
      await generate("python", { folder, document });
      return [await python(), "main.py"];
    },
  },
  {
    name: "openapi-generator for Java",
    needs: ["python3", "java", "javac", "mvn"],
    async build({ folder, document }) {
      await generate("java", { folder, document });
      const libraries = await javaLibraries(join(folder, "pom.xml"));
      const main = join(folder, "src/main/java");
      const files = readdirSync(main, { recursive: true, encoding: "utf8" }).filter((file) => file.endsWith(".java"));
      const sources = [join(SOURCES, "Client.java"), ...files.map((file) => join(main, file))];
      const list = writtenTo(join(folder, "sources.txt"), sources.join("\n"));
      const classes = join(folder, "classes");
      await mustRun([
        "javac",
        "-encoding",
        "UTF-8",
        "-proc:none",
        "-nowarn",
        "-d",
        classes,
        "-cp",
        libraries,
        `@${list}`,
      ]);
      return ["java", "-cp", `${classes}:${libraries}`, "Client"];
    },
  },
  {
    name: "oapi-codegen",
    needs: ["go"],
    async build({ folder, document }) {
      for (const file of ["go.mod", "go.sum"]) cpSync(join(SOURCES, file), join(folder, file));
      cpSync(join(SOURCES, "client.go"), join(folder, "main.go"));
      const output = join(folder, "generated.go");
      await mustRun([await oapiCodegen(), "-package", "main", "-generate", "types,client", "-o", output, document]);
      await mustRun(["go", "build", "-C", folder, "-o", "client", "."]);
      return [join(folder, "client")];
    },
  },
];

function writtenTo(file: string, text: string): string {
  writeFileSync(file, text);
  return file;
}

async function generate(language: string, { folder, document }: Place): Promise<void> {
  const jar = await generatorJar();
  const said = await mustRun(["java", "-jar", jar, "generate", "-i", document, "-g", language, "-o", folder]);
  // Two files of one name: what was generated first is gone.
  if (said.includes("COLLISION")) throw new Error(said.slice(-2_000));
}

interface Options {
  folder: string;
  checks: Checks;
  cleanup: Cleanup;
}

export async function checkClients({ folder, checks, cleanup }: Options): Promise<void> {
  mkdirSync(folder);
  const sandbox = await startSandbox(join(folder, "sandbox.log"), cleanup);
  const served: Json = await (await fetch(`${sandbox.url}/api/v1/openapi.json`)).json();
  const document = writtenTo(join(folder, "openapi.json"), JSON.stringify(served));
  const wanted = KINDS.filter(({ name }) => !IS_SHORT || !name.startsWith("openapi-generator"));
  const able = wanted.filter(({ name, needs }) => {
    const lacking = needs.filter((program) => Bun.which(program) === null);
    if (lacking.length > 0) console.log(`not run: ${name}: this machine lacks ${lacking.join(", ")}`);
    return lacking.length === 0;
  });
  await Promise.all([
    ...able.map((kind, index) => checkClient(kind, join(folder, `client${index}`), { document, sandbox, checks })),
    checkLint(document, checks),
    checkVerifying(served.info.description, checks),
    checkReadme(sandbox, checks),
  ]);
}

interface World {
  document: string;
  sandbox: Sandbox;
  checks: Checks;
}

async function checkClient(kind: Kind, folder: string, { document, sandbox, checks }: World): Promise<void> {
  mkdirSync(folder);
  let command: string[];
  try {
    command = await kind.build({ folder, document });
  } catch (error) {
    checks.claim(`${kind.name}: compiles`, false, () => (error as Error).message.slice(-3_000));
    return;
  }
  checks.claim(`${kind.name}: compiles`, true);
  const host = `${folder.split("/").at(-1)}.example`;
  const to = `maria@${host}`;
  const env = {
    POMBO_URL: sandbox.url,
    POMBO_KEY: sandbox.apiKey,
    POMBO_FROM: `Loja <loja@${sandbox.domain}>`,
    POMBO_TO: to,
    PYTHONPATH: folder,
  };
  const finished = await run(["env", "-C", folder, ...command], env);
  const done = [...finished.output.matchAll(/^step: (\w+)$/gm)].map(([, step]) => step);
  checks.claim(`${kind.name}: does ${STEPS.join(", ")}`, finished.exitCode === 0 && done.join() === STEPS.join(), () =>
    finished.output.slice(-3_000),
  );
  const get = async (path: string): Promise<Json> =>
    (await fetch(sandbox.url + path, { headers: { "x-api-key": sandbox.apiKey } })).json();
  const emails = (await get(`/api/v1/emails?to=${to}`)).data.map((email: Json) => email.subject);
  const hooks = (await get("/api/v1/webhooks?limit=100")).data.map((hook: Json) => hook.url);
  const texts = (await get("/api/v1/sms?limit=100")).data.filter((text: Json) => text.body === to);
  checks.equal(
    `${kind.name}: pombo has what it sent`,
    [emails, hooks.filter((url: string) => url.includes(host)), texts.length],
    [["Three", "Two", "One"], [`https://b.${host}/hook`], 1],
  );
}

async function checkLint(document: string, checks: Checks): Promise<void> {
  const redocly = await npmTool("@redocly/cli/bin/cli.js");
  const spectral = await npmTool("@stoplight/spectral-cli/dist/index.js");
  const quiet = { REDOCLY_TELEMETRY: "off", REDOCLY_SUPPRESS_UPDATE_NOTICE: "true" };
  const config = ["--config", join(SOURCES, "redocly.yaml"), "--max-problems", "20"];
  const [ofRedocly, ofSpectral] = await Promise.all([
    run([...redocly, "lint", document, ...config], quiet),
    run([...spectral, "lint", document, "--ruleset", join(SOURCES, "spectral.yaml"), "--fail-severity", "hint"]),
  ]);
  const isValid =
    ofRedocly.exitCode === 0 &&
    ofRedocly.output.includes("is valid") &&
    !/warning/i.test(ofRedocly.output.split("validating").at(-1) ?? "");
  checks.claim("Redocly has no error and no warning", isValid, () => ofRedocly.output.slice(-3_000));
  checks.claim("Spectral has no error and no warning", ofSpectral.exitCode === 0, () =>
    ofSpectral.output.slice(-3_000),
  );
}

const KEY = Buffer.alloc(32, 7);
const SECRET = `whsec_${KEY.toString("base64")}`;
const BODY = '{"type":"webhook.test","data":{"url":"https://example.com/ç"}}';

/** The README's programs, each as it stands there but for the address. */
async function checkReadme(sandbox: Sandbox, checks: Checks): Promise<void> {
  const readme = readFileSync(new URL("../../../README.md", import.meta.url), "utf8");
  const programs = {
    js: ["node", "--input-type=module", "-e"],
    python: ["python3", "-c"],
    php: ["php", "-r"],
  };
  const foreignSender = "loja@foreign.test";
  const answer = await fetch(`${sandbox.url}/api/v1/emails`, {
    method: "POST",
    headers: { "x-api-key": sandbox.apiKey, "content-type": "application/json" },
    body: JSON.stringify({ from: foreignSender, to: "maria@example.com", subject: "Olá", html: "<h1>Olá!</h1>" }),
  });
  const { errors }: Json = await answer.json();
  const { message, hint } = errors[0];
  for (const [language, command] of Object.entries(programs)) {
    const [, code = ""] = new RegExp(`\`\`\`${language}\n(?:<\\?php\n)?(.*?)\`\`\``, "s").exec(readme) ?? [];
    if (Bun.which(command[0] ?? "") === null) {
      console.log(`not run: the README's ${language}: this machine lacks ${command[0]}`);
      continue;
    }
    const here = code.replaceAll("http://127.0.0.1:8080", sandbox.url);
    const { output } = await run([...command, here], { POMBO_KEY: sandbox.apiKey });
    const path = `/api/v1/emails/${output.trim()}`;
    const sent: Json = await (await fetch(sandbox.url + path, { headers: { "x-api-key": sandbox.apiKey } })).json();
    checks.equal(`the README's ${language} sends an email`, sent.data?.subject, "Olá");
    const foreign = here.replaceAll("loja@sandbox.test", foreignSender);
    const refused = await run([...command, foreign], { POMBO_KEY: sandbox.apiKey });
    checks.claim(
      `the README's ${language} says why an email is refused, and what to do`,
      refused.exitCode !== 0 && [message, hint].every((words) => refused.output.includes(words)),
      () => refused.output,
    );
  }
}

/** How the docs' functions are called from outside: headers, body and secret as JSON; they say yes or no. */
const CALLERS: Record<string, { program: string; caller: string }> = {
  python: {
    program: "python3",
    caller: "import json, sys\nprint('yes' if is_genuine(*json.loads(sys.argv[1])) else 'no')",
  },
  php: { program: "php", caller: "echo is_genuine(...json_decode($argv[1], true)) ? 'yes' : 'no';" },
};

async function checkVerifying(description: string, checks: Checks): Promise<void> {
  const signed = (ago: number, keys = [KEY]) =>
    buildSignatureHeaders({ id: "evt", timestampS: Math.floor(Date.now() / 1_000) - ago, body: BODY }, keys);
  const other = Buffer.alloc(32, 1);
  const calls: [headers: object, body: string, expected: string][] = [
    [signed(0), BODY, "yes"],
    [signed(0, [other, KEY]), BODY, "yes"],
    [signed(0), `${BODY} `, "no"],
    [signed(0, [other]), BODY, "no"],
    [signed(400), BODY, "no"],
    [{}, BODY, "no"],
  ];
  for (const [language, { program, caller }] of Object.entries(CALLERS)) {
    const [, code = ""] = new RegExp(`\`\`\`${language}\n(.*?)\`\`\``, "s").exec(description) ?? [];
    if (Bun.which(program) === null) {
      console.log(`not run: the docs' code in ${language}: this machine lacks ${program}`);
      continue;
    }
    const flag = language === "php" ? "-r" : "-c";
    const said = await Promise.all(
      calls.map(([headers, body]) =>
        run([program, flag, `${code}\n${caller}`, JSON.stringify([headers, body, SECRET])]),
      ),
    );
    const answers = said.map(({ output }) => output.trim());
    checks.equal(
      `the docs' code in ${language} verifies a webhook's call`,
      answers,
      calls.map(([, , expected]) => expected),
    );
  }
}
