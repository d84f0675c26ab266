/** Makes full disks, read-only files and pipes, and says what this machine lacks for them. */
import { type Lack, lackOf, NOT_ON_WINDOWS, runQuietly } from "./needs.ts";

async function must(command: string, ...args: string[]): Promise<void> {
  const outcome = await runQuietly(command, ...args);
  if (outcome !== "done") throw new Error(`Cannot run ${command} ${args.join(" ")}: ${outcome}`);
}

/** Tries a command before the tests, because it may need rights that this process lacks. */
async function tried(
  command: string,
  argsFor: (path: string) => string[],
  undo: (path: string) => Promise<void>,
): Promise<Lack | undefined> {
  if (NOT_ON_WINDOWS) return NOT_ON_WINDOWS;
  const folder = await Deno.makeTempDir({ prefix: "trial-" });
  const lack = await lackOf(command, ...argsFor(folder));
  if (!lack) await undo(folder);
  await Deno.remove(folder);
  return lack;
}

/** A small disk that already exists; `deno task windows` makes one. */
const TINY_DISK = Deno.env.get("TINY_DISK");

const mountArgs = (folder: string) => ["-t", "tmpfs", "-o", "size=16k", "tmpfs", folder];

/** The missing requirement of {@linkcode onTinyDisk}, if any. */
export const noTinyDisk: Lack | undefined = TINY_DISK === undefined
  ? await tried("mount", mountArgs, (folder) => must("umount", folder))
  : undefined;

/** The missing requirement of {@linkcode mounted}, if any. */
export const noMounts: Lack | undefined = await tried(
  "mount",
  (folder) => ["--bind", folder, folder],
  (folder) => must("umount", folder),
);

const MODELESS = ["-p", "a+rwX", "--chmod-ignore"];

/** The missing requirement of {@linkcode withoutModes}, if any. */
export const noModelessDisk: Lack | undefined = await tried(
  "bindfs",
  (folder) => [...MODELESS, folder, folder],
  (folder) => must("umount", folder),
);

/** The missing requirement of {@linkcode frozen}, if any. */
export const noFreezing: Lack | undefined = await tried(
  "chattr",
  (folder) => ["+i", folder],
  (folder) => must("chattr", "-i", folder),
);

/** Works in a folder on a disk of 16 kilobytes. */
export async function onTinyDisk(work: (folder: string) => Promise<void>): Promise<void> {
  if (TINY_DISK !== undefined) {
    await work(TINY_DISK);
    for (const { name } of Deno.readDirSync(TINY_DISK)) Deno.removeSync(`${TINY_DISK}/${name}`);
    return;
  }
  const folder = await Deno.realPath(await Deno.makeTempDir({ prefix: "tiny-disk-" }));
  try {
    await must("mount", ...mountArgs(folder));
    try {
      await work(folder);
    } finally {
      await must("umount", folder);
    }
  } finally {
    await Deno.remove(folder, { recursive: true });
  }
}

/** Mounts a copy of a file, on another disk, over the file during the work, as containers do. */
export async function mounted(path: string, work: () => Promise<void>): Promise<void> {
  await onTinyDisk(async (disk) => {
    await Deno.copyFile(path, `${disk}/copy`);
    await must("mount", "--bind", `${disk}/copy`, path);
    try {
      await work();
    } finally {
      await must("umount", path);
    }
  });
}

/** Makes all files in a folder readable for all users during the work, whatever their mode is. */
export async function withoutModes(folder: string, work: () => Promise<void>): Promise<void> {
  await must("bindfs", ...MODELESS, folder, folder);
  try {
    await work();
  } finally {
    // bindfs closes a file only some time after its last user did.
    await must("umount", "--lazy", folder);
  }
}

/** Appends to a file until the disk is full. */
export function fill(path: string): void {
  try {
    for (;;) Deno.writeFileSync(path, new Uint8Array(1_024), { append: true });
  } catch {
    // The disk is full.
  }
}

/** Makes a file or folder read-only during the work, even for root. */
export async function frozen(path: string, work: () => Promise<void>): Promise<void> {
  await must("chattr", "+i", path);
  try {
    await work();
  } finally {
    await must("chattr", "-i", path);
  }
}

/** Makes a named pipe. */
export async function makePipe(path: string): Promise<void> {
  await must("mkfifo", path);
}
