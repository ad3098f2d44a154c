import { expect, test } from "bun:test";
import { chmodSync, chownSync, mkdirSync, symlinkSync } from "node:fs";
import { join } from "node:path";
import { isRoot, ownerBesideRoot } from "../../src/cli/owner.ts";
import { temporaryFolder } from "../db/temporary.ts";

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
    expect(() => ownerBesideRoot(owned(top ?? root, data ?? root))).toThrow(
      "on the way to it can be changed by others",
    );
  // Who owns a folder above it may lead root to another's.
  const links = join(owned(pombo, pombo), "sub");
  symlinkSync(join(owned(maria, maria), ".."), links);
  expect(() => ownerBesideRoot(join(links, "data"))).toThrow("on the way to it");
});
