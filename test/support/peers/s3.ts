// The S3 service of scenarios with several machines: moto, or with S3_SERVICE=minio a MinIO, which script/minio builds.

import { mkdirSync, mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { bringMoto, HERE, type Place, startMoto } from "./moto.ts";
import { freePort, waitUntil } from "./process.ts";

const LIMIT_MS = 60_000;
const MINIO_SCRIPT = join(import.meta.dir, "../../../script/minio");

export const S3_REGION = "eu-1";
export const S3_KEY = { id: "AKIDPOMBO", secret: "s3cr3t-of-the-bucket" };

export type S3Service = Awaited<ReturnType<typeof startMoto>>;

const isMinio = process.env["S3_SERVICE"] === "minio";

/** Starts one with an empty bucket "copies"; null: this machine can bring none. */
export function bringS3(): ((place?: Place) => Promise<S3Service>) | null {
  const program = isMinio ? findMinio() : bringMoto();
  if (program === null) return null;
  return (place = HERE) => (isMinio ? startMinio(program, place) : startMoto(program, place));
}

function findMinio(): string | null {
  const built = Bun.spawnSync(["bash", MINIO_SCRIPT], { stderr: "inherit" });
  return built.exitCode === 0 ? built.stdout.toString().trim() : null;
}

async function startMinio(program: string, { prefix, address }: Place): Promise<S3Service> {
  const folder = mkdtempSync(join(tmpdir(), "pombo-minio-"));
  // A folder of its drive is a bucket.
  mkdirSync(join(folder, "copies"));
  const port = await freePort();
  const listen = `${prefix.length > 0 ? "" : address}:${port}`;
  const child = Bun.spawn([...prefix, program, "server", folder, "--address", listen, "--quiet"], {
    stdout: "ignore",
    stderr: "ignore",
    env: {
      ...process.env,
      MINIO_ROOT_USER: S3_KEY.id,
      MINIO_ROOT_PASSWORD: S3_KEY.secret,
      MINIO_SITE_REGION: S3_REGION,
      MINIO_BROWSER: "off",
    },
  });
  const url = `http://${address}:${port}`;
  await waitUntil("MinIO is ready", LIMIT_MS, () =>
    fetch(`${url}/minio/health/ready`).then(
      ({ ok }) => ok,
      () => false,
    ),
  );
  return {
    url,
    signal: (name) => child.kill(name),
    async [Symbol.asyncDispose]() {
      child.kill("SIGKILL");
      await child.exited;
      rmSync(folder, { recursive: true, force: true });
    },
  };
}
