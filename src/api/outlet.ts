import { explained } from "./save_errors.ts";
import { NO_VERSION, type Version } from "./version.ts";

/**
 * A device or a pipe, from which written bytes cannot be read back. It has the methods of a part.
 */
export class Outlet {
  size = 0;
  version: Version = NO_VERSION;
  #isOpen = true;

  private constructor(readonly path: string, readonly file: Deno.FsFile) {}

  /** Waits, in the background, for the reader of a pipe, who may come only after the download ended. */
  static async open(path: string, target: string, signal?: AbortSignal): Promise<Outlet> {
    try {
      const outlet = new Outlet(path, await Deno.open(target, { write: true }));
      if (signal?.aborted) outlet.release();
      return outlet;
    } catch (error) {
      throw explained(path, error);
    }
  }

  begin(): void {}

  async write(bytes: Uint8Array): Promise<void> {
    try {
      for (let at = 0; at < bytes.length;) at += await this.file.write(bytes.subarray(at));
    } catch (error) {
      throw explained(this.path, error);
    }
    this.size += bytes.length;
  }

  /** The digest of bytes that cannot be read again is not checked. */
  matches(): Promise<boolean> {
    return Promise.resolve(true);
  }

  finish(): Promise<undefined> {
    this.release();
    return Promise.resolve(undefined);
  }

  release(): void {
    if (this.#isOpen) this.file.close();
    this.#isOpen = false;
  }

  discard(): void {
    this.release();
  }
}
