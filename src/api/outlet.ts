import type { Target } from "./target.ts";
import { explained } from "./save_errors.ts";
import { NO_VERSION, type Version } from "./version.ts";

/** A device or a pipe, whose bytes cannot be read again. */
export class Outlet implements Target {
  size = 0;
  version: Version = NO_VERSION;
  readonly canResume = false;
  readonly #path: string;
  readonly #file: Deno.FsFile;
  #isOpen = true;

  private constructor(path: string, file: Deno.FsFile) {
    this.#path = path;
    this.#file = file;
  }

  /** Waits, in the background, for the reader of a pipe. */
  static async open(path: string, target: string): Promise<Outlet> {
    try {
      return new Outlet(path, await Deno.open(target, { write: true }));
    } catch (error) {
      throw explained(path, error);
    }
  }

  begin(): void {}

  async write(bytes: Uint8Array): Promise<void> {
    try {
      for (let at = 0; at < bytes.length;) at += await this.#file.write(bytes.subarray(at));
    } catch (error) {
      throw explained(this.#path, error);
    }
    this.size += bytes.length;
  }

  matches(): Promise<boolean> {
    return Promise.resolve(true);
  }

  finish(): Promise<undefined> {
    this.release();
    return Promise.resolve(undefined);
  }

  release(): void {
    if (this.#isOpen) this.#file.close();
    this.#isOpen = false;
  }

  discard(): void {
    this.release();
  }
}
