import { expect, test } from "bun:test";
import { chmodSync, chownSync, lstatSync, mkdirSync, readdirSync, symlinkSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { writeConfig } from "../../../../src/cli/commands/setup/new-config.ts";
import { isRoot, ownerBesideRoot } from "../../../../src/cli/client/data-owner.ts";
import { readConfig } from "../../../../src/cli/client/settings.ts";
import { temporaryFolder } from "../../../support/db/temporary.ts";

const [POMBO, MARIA] = [4_001, 4_002];

interface Folder {
  uid: number;
  gid?: number;
  mode?: number;
}

test.skipIf(!isRoot())("root becomes the owner of a data directory only where nobody else chooses which it is", () => {
  using folder = temporaryFolder();
  let made = 0;
  const owned = (top: Folder, data: Folder) => {
    const at = join(folder.path, String(made++));
    for (const [path, { uid, gid = uid, mode = 0o755 }] of [
      [at, top],
      [join(at, "data"), data],
    ] as const) {
      mkdirSync(path);
      chownSync(path, uid, gid);
      chmodSync(path, mode);
    }
    return join(at, "data");
  };
  const [root, pombo, maria] = [{ uid: 0 }, { uid: POMBO }, { uid: MARIA }];
  expect(ownerBesideRoot(owned(root, root))).toBeNull();
  for (const top of [root, pombo, { uid: POMBO, mode: 0o775 }, { uid: 0, mode: 0o1777 }])
    expect(ownerBesideRoot(owned(top, pombo))).toEqual({ uid: POMBO, gid: POMBO });
  const open = [
    { uid: 0, mode: 0o777 },
    { uid: 0, gid: MARIA, mode: 0o775 },
  ];
  for (const [top, data] of [
    [maria, root],
    [maria, pombo],
    ...open.flatMap((each) => [
      [each, root],
      [each, pombo],
    ]),
  ])
    expect(() => ownerBesideRoot(owned(top ?? root, data ?? root))).toThrow("on the path to it");
  // Who owns a folder above it may lead root to another's.
  const links = join(owned(pombo, pombo), "sub");
  symlinkSync(join(owned(maria, maria), ".."), links);
  expect(() => ownerBesideRoot(join(links, "data"))).toThrow("on the path to it");
});

test.skipIf(!isRoot())(
  "links of root's on the way are followed one by one, and each folder that they lead through is looked at",
  () => {
    using folder = temporaryFolder();
    chmodSync(folder.path, 0o755);
    const at = (...names: string[]) => join(folder.path, ...names);
    for (const [name, uid] of [
      ["srv", 0],
      ["users", MARIA],
      ["users/maria", MARIA],
      ["users/maria/pombo", POMBO],
      ["pombo", POMBO],
    ] as const) {
      mkdirSync(at(name));
      chownSync(at(name), uid, uid);
    }
    // Maria can rename what it leads to, and what a link within her folder leads to.
    symlinkSync("../users/maria", at("srv/direct"));
    symlinkSync("../..", at("users/maria/up"));
    symlinkSync(at("users/maria/up"), at("srv/through"));
    for (const hidden of [at("srv/direct/pombo"), at("srv/through/pombo"), at("srv/direct/pombo/new")])
      expect(() => ownerBesideRoot(hidden)).toThrow(`${at("users")} on the path to it`);
    // Her link would be another one, when root looks again.
    chownSync(at("users"), 0, 0);
    expect(() => ownerBesideRoot(at("users/maria/up/pombo"))).toThrow("others can change");
    symlinkSync("..//./", at("srv/own"));
    expect(ownerBesideRoot(at("srv/own/pombo/new"))).toEqual({ uid: POMBO, gid: POMBO });
    symlinkSync("round", at("srv/round"));
    expect(() => ownerBesideRoot(at("srv/round/pombo"))).toThrow("is a symbolic link");
  },
);

test.skipIf(!isRoot())(
  "where others could make a folder before root does, or files in root's own, root does not go",
  () => {
    using folder = temporaryFolder();
    const [shared, below] = [join(folder.path, "shared"), join(folder.path, "shared/new")];
    mkdirSync(shared);
    chmodSync(shared, 0o1777);
    for (const place of [below, join(below, "deeper"), shared])
      expect(() => ownerBesideRoot(place)).toThrow(`Users other than root can write to ${shared}`);
    // A file there may be a folder, when root makes its own.
    writeFileSync(below, "");
    chownSync(below, MARIA, MARIA);
    expect(() => ownerBesideRoot(below)).toThrow("can write to");
    mkdirSync(join(shared, "mine"), { mode: 0o700 });
    expect(ownerBesideRoot(join(shared, "mine"))).toBeNull();
    expect(ownerBesideRoot(join(shared, "mine/new"))).toBeNull();
    // Below a device nothing can be made: whoever tries says so.
    expect(ownerBesideRoot("/dev/null/x")).toBeNull();
    // No configuration is left for a directory that is refused.
    const file = join(folder.path, "config.toml");
    expect(() => writeConfig(file, "", { dataDir: shared, terminal: { err: () => undefined } })).toThrow(
      "can write to",
    );
    expect(readdirSync(folder.path)).toEqual(["shared"]);
  },
);

test.skipIf(!isRoot())(
  "root takes no orders from a configuration that others can change, and leaves none there",
  () => {
    using folder = temporaryFolder();
    chmodSync(folder.path, 0o755);
    const at = (...names: string[]) => join(folder.path, ...names);
    const text = `hostname = "mail.pombo.test"\ndata_dir = "${at("data")}"\n`;
    for (const [name, uid, mode] of [
      ["etc", 0, 0o750],
      ["maria", MARIA, 0o755],
      ["shared", 0, 0o1777],
    ] as const) {
      mkdirSync(at(name));
      chownSync(at(name), uid, uid);
      chmodSync(at(name), mode);
    }
    for (const file of ["etc/good.toml", "etc/group.toml", "etc/all.toml", "maria/roots.toml"])
      writeFileSync(at(file), text, { mode: 0o640 });
    chownSync(at("etc/good.toml"), 0, MARIA);
    chownSync(at("etc/group.toml"), 0, MARIA);
    chmodSync(at("etc/group.toml"), 0o660);
    chmodSync(at("etc/all.toml"), 0o666);
    // Maria chooses which file of root's it is; or another, behind root's own link.
    symlinkSync(at("etc/all.toml"), at("maria/link.toml"));
    symlinkSync(at("maria/roots.toml"), at("etc/link.toml"));
    expect(readConfig(at("etc/good.toml"), {}).dataDir).toBe(at("data"));
    for (const file of ["etc/group.toml", "etc/all.toml", "maria/roots.toml", "maria/link.toml", "etc/link.toml"])
      expect(() => readConfig(at(file), {})).toThrow("others can change");

    const write = (...file: string[]) =>
      writeConfig(at(...file), text, { dataDir: at("data"), terminal: { err: () => undefined } });
    write("etc", "new", "config.toml");
    expect(lstatSync(at("etc/new/config.toml")).uid).toBe(0);
    for (const place of ["maria", "maria/new", "shared"])
      expect(() => write(place, "config.toml")).toThrow("Users other than root can write to");
    expect([readdirSync(at("maria")), readdirSync(at("shared"))]).toEqual([["link.toml", "roots.toml"], []]);
  },
);
