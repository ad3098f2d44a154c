/** Mounts that only one process and its children see. */

/** How this machine lets a process have mounts of its own; null: it does not. */
function findNamespace(): string[] | null {
  for (const flags of ["-m", "-rm"]) {
    const tried = Bun.spawnSync(["unshare", flags, "sh", "-c", "mount -t tmpfs -o size=1m tmpfs /mnt"], {
      stdin: "ignore",
      stdout: "ignore",
      stderr: "ignore",
    });
    if (tried.exitCode === 0) return ["unshare", flags];
  }
  return null;
}

/** The words that run a command in a mount namespace of its own; null: this machine does not permit it. */
export function canUnshare(): string[] | null {
  try {
    return findNamespace();
  } catch {
    return null; // there is no unshare
  }
}
