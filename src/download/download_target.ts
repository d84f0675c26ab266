import { guarded, reasonOf, refused, THERE } from "./disk_errors.ts";
import { type DownloadTarget, openLocked, PartFile } from "./part_file.ts";
import { realPath } from "../files/regular_file.ts";
import { filePath, fileUrl } from "../files/paths.ts";

/**
 * Opens what a download writes to: a private part file beside the file, which a later call for the
 * same address finds. What is no regular file, such as a pipe, is written into.
 *
 * @param resume Whether to look at what an earlier call left.
 * @throws {ConfigError} `INVALID_SETTING`, `PERMISSION` if nothing can be saved there.
 */
export async function openTarget(
  path: string,
  address: string,
  { overwrite, resume }: { overwrite: boolean; resume: boolean },
): Promise<DownloadTarget> {
  const hash = await crypto.subtle.digest("SHA-256", new TextEncoder().encode(address));
  const name = new Uint8Array(hash).toHex().slice(0, 8);
  return guarded(path, () => {
    const whole = filePath(fileUrl(path));
    const found = lookAtTarget(whole);
    if (found?.isDirectory) throw refused(path, "it is a folder; name a file");
    if (found && !found.isFile) return new Outlet(path, Deno.openSync(whole, { write: true }));
    if (found && !overwrite) throw refused(path, THERE);
    // The file that a link leads to is replaced, and the link stays.
    const target = realPath(whole);
    const file = openLocked(`${target}.${name}.part`);
    if (file === "busy" && !overwrite) {
      throw refused(path, "another download is saving it; wait for that one, or name another file");
    }
    if (typeof file === "object") {
      return new PartFile(
        { path, target, part: `${target}.${name}.part`, overwrite },
        file,
        resume,
      );
    }
    const part = `${target}.${crypto.randomUUID().slice(0, 8)}.part`;
    const own = Deno.openSync(part, { read: true, write: true, createNew: true, mode: 0o600 });
    return new PartFile({ path, target, part, overwrite, isOnce: true }, own, false);
  });
}

function lookAtTarget(path: string): Deno.FileInfo | undefined {
  try {
    return Deno.statSync(path);
  } catch (error) {
    if (error instanceof Deno.errors.NotFound) return undefined;
    throw error;
  }
}

/** A device or a pipe: what was written is gone. */
class Outlet implements DownloadTarget {
  size = 0;
  readonly of = {};
  readonly isKept = false;
  readonly #path: string;
  readonly #file: Deno.FsFile;
  #isOpen = true;

  constructor(path: string, file: Deno.FsFile) {
    this.#path = path;
    this.#file = file;
  }

  begin(): void {}

  learn(): void {}

  async write(bytes: Uint8Array): Promise<void> {
    try {
      for (let at = 0; at < bytes.length;) at += await this.#file.write(bytes.subarray(at));
    } catch (error) {
      throw reasonOf(this.#path, error);
    }
    this.size += bytes.length;
  }

  matches(): Promise<boolean> {
    return Promise.resolve(true);
  }

  finish(): Promise<void> {
    this.release();
    return Promise.resolve();
  }

  release(): void {
    if (this.#isOpen) this.#file.close();
    this.#isOpen = false;
  }

  discard(): void {
    this.release();
  }
}
