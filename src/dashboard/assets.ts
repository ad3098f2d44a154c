// The dashboard's files: those in the executable, or built from source when they are first asked for and when one changed.

import { readdirSync, statSync } from "node:fs";
import { join } from "node:path";

import type { Assets } from "./asset.ts";

/** The file that script/build gives to the executable, which puts a hash into its name. */
const PACKED_NAME = /^dashboard(-[a-z0-9]+)?\.assets$/;

/** Each asset as raw, br and gzip bytes, one after the other behind a line of JSON. */
export function packAssets({ version, files }: Assets): Blob {
  const index = files.map(({ name, type, raw, br, gzip }) => ({
    name,
    type,
    sizes: [raw, br, gzip].map((each) => each.byteLength),
  }));
  const bytes = files.flatMap(({ raw, br, gzip }) => [raw, br, gzip]) as Uint8Array<ArrayBuffer>[];
  return new Blob([`${JSON.stringify({ version, index })}\n`, ...bytes]);
}

export function unpackAssets(packed: Uint8Array): Assets {
  const end = packed.indexOf("\n".charCodeAt(0));
  const { version, index } = JSON.parse(new TextDecoder().decode(packed.subarray(0, end))) as {
    version: string;
    index: { name: string; type: string; sizes: [number, number, number] }[];
  };
  let at = end + 1;
  const take = (size: number) => packed.subarray(at, (at += size));
  const files = index.map(({ name, type, sizes: [raw, br, gzip] }) => ({
    name,
    type,
    raw: take(raw),
    br: take(br),
    gzip: take(gzip),
  }));
  return { version, files };
}

/** Finds the assets whenever they are asked for. */
export function openAssets(): () => Promise<Assets> {
  const embedded = Bun.embeddedFiles.find((file) => PACKED_NAME.test((file as Blob & { name: string }).name));
  if (embedded !== undefined) {
    let unpacked: Promise<Assets> | null = null;
    return () => (unpacked ??= embedded.bytes().then(unpackAssets));
  }
  let built: { changedAt: number; assets: Promise<Assets> } | null = null;
  return async () => {
    const { buildAssets, SOURCE_FOLDERS } = await import("./build.ts");
    const changedAt = Math.max(...SOURCE_FOLDERS.map(findLastChange));
    if (built?.changedAt !== changedAt) built = { changedAt, assets: buildAssets() };
    return built.assets;
  };
}

function findLastChange(folder: string): number {
  const names = readdirSync(folder, { recursive: true, encoding: "utf8" });
  return Math.max(...names.map((name) => statSync(join(folder, name)).mtimeMs));
}
