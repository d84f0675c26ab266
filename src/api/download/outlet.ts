/** Writes a download to a pipe or a device. */
import { NO_VERSION, type Version } from "./version.ts";
import { unlessAborted } from "../../platform/abort.ts";

/**
 * A device or a pipe that a download writes to. An outlet has the methods of a `Part`, but written
 * bytes cannot be read back.
 */
export class Outlet {
  size = 0;
  version: Version = NO_VERSION;
  #isOpen = true;

  private constructor(readonly file: Deno.FsFile) {}

  /**
   * Opens the target. Waits until a pipe has a reader. If the signal ends the download first,
   * closes the pipe as soon as a reader opens it.
   */
  static async open(target: string, signal: AbortSignal | undefined): Promise<Outlet> {
    const opening = Deno.open(target, { write: true }).then((file) => {
      const outlet = new Outlet(file);
      if (signal?.aborted) outlet.release();
      return outlet;
    });
    return await unlessAborted(signal, opening);
  }

  /** Bytes written to a pipe can be neither resumed nor checked, so the version is ignored. */
  begin(): void {}

  async write(bytes: Uint8Array): Promise<void> {
    for (let at = 0; at < bytes.length;) at += await this.file.write(bytes.subarray(at));
    this.size += bytes.length;
  }

  finish(): Promise<undefined> {
    this.release();
    return Promise.resolve(undefined);
  }

  release(): void {
    if (this.#isOpen) this.file.close();
    this.#isOpen = false;
  }

  /** Written bytes cannot be taken back. */
  discard(): void {}
}
