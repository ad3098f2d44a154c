// The generators of clients and the judges of the document, of exact versions, under .tools/contract of this checkout.
// Each is brought when it is first needed or its version changes.

import { cpSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { bring } from "../../support/peers/bring.ts";
import { mustRun } from "../../support/peers/process.ts";

const FOLDER = join(import.meta.dir, "../../.tools/contract");
/** What is compiled with a generated client, and the versions of the tools. */
export const SOURCES = join(import.meta.dir, "clients");
const OAPI_CODEGEN = "github.com/oapi-codegen/oapi-codegen/v2/cmd/oapi-codegen@v2.8.2";

function brought(name: string, version: string, install: (folder: string) => Promise<unknown>): Promise<string> {
  return bring({ root: FOLDER, name, version, install });
}

/** The command of a program that a package of npm has; it runs on Bun, whatever Node the machine has. */
export async function npmTool(script: string): Promise<string[]> {
  const lock = readFileSync(join(SOURCES, "bun.lock"), "utf8");
  const folder = await npm(lock);
  return [process.execPath, "--bun", join(folder, "node_modules", script)];
}

let npmFolder: Promise<string> | null = null;

function npm(lock: string): Promise<string> {
  npmFolder ??= brought("npm", lock, async (folder) => {
    for (const file of ["package.json", "bun.lock"]) cpSync(join(SOURCES, file), join(folder, file));
    await mustRun([process.execPath, "install", "--frozen-lockfile", "--cwd", folder]);
  });
  return npmFolder;
}

/** Where the packages of npm are, for a client that imports one. */
export async function npmPackages(): Promise<string> {
  return join(await npm(readFileSync(join(SOURCES, "bun.lock"), "utf8")), "node_modules");
}

let pythonFolder: Promise<string> | null = null;

/** A Python that has the generators, and what clients made by them import. */
export async function python(): Promise<string> {
  const requirements = join(SOURCES, "requirements.txt");
  pythonFolder ??= brought("generators", readFileSync(requirements, "utf8"), async (folder) => {
    await mustRun(["python3", "-m", "venv", folder]);
    await mustRun([join(folder, "bin/python"), "-m", "pip", "install", "--quiet", "-r", requirements]);
  });
  return join(await pythonFolder, "bin/python");
}

/** The jar of openapi-generator, which its package on PyPI holds. */
export async function generatorJar(): Promise<string> {
  const program = "import openapi_generator_cli as it, os; print(os.path.dirname(it.__file__))";
  return join((await mustRun([await python(), "-c", program])).trim(), "openapi-generator.jar");
}

export async function oapiCodegen(): Promise<string> {
  const folder = await brought("oapi-codegen", OAPI_CODEGEN, (place) =>
    mustRun(["go", "install", OAPI_CODEGEN], { GOBIN: place, GOFLAGS: "" }),
  );
  return join(folder, "oapi-codegen");
}

/** The libraries that the generated `pom` names, for a class path. */
export async function javaLibraries(pom: string): Promise<string> {
  const folder = await brought("java", readFileSync(pom, "utf8"), (place) =>
    mustRun([
      ...["mvn", "--quiet", "--batch-mode", "--file", pom, "dependency:copy-dependencies"],
      ...["-DincludeScope=compile", `-DoutputDirectory=${place}`],
    ]),
  );
  return join(folder, "*");
}
