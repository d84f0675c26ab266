/** Disks and folders in the states that a session may meet. Each gives `false` where this machine cannot make one. */

async function run(command: string, ...args: string[]): Promise<boolean> {
  const quiet = { stdin: "null", stdout: "null", stderr: "null" } as const;
  const child = new Deno.Command(command, { args, ...quiet });
  return await child.output().then(({ success }) => success, () => false);
}

/** Works in a folder that is a disk of 16 kilobytes. */
export async function onTinyDisk(work: (folder: string) => Promise<void>): Promise<boolean> {
  const folder = await Deno.realPath(await Deno.makeTempDir({ prefix: "tiny-disk-" }));
  const there = await run("mount", "-t", "tmpfs", "-o", "size=16k", "tmpfs", folder);
  try {
    if (there) await work(folder);
  } finally {
    if (there) await run("umount", folder);
    await Deno.remove(folder, { recursive: true });
  }
  return there;
}

/** Takes what is left of a disk. */
export function fill(path: string): void {
  try {
    for (;;) Deno.writeFileSync(path, new Uint8Array(1_024), { append: true });
  } catch {
    // Full: that is what was wanted.
  }
}

/** Makes a file or folder that nobody can change, not even root, while the work is done. */
export async function frozen(path: string, work: () => Promise<void>): Promise<boolean> {
  if (!await run("chattr", "+i", path)) return false;
  try {
    await work();
  } finally {
    await run("chattr", "-i", path);
  }
  return true;
}
