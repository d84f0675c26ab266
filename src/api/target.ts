import type { Digest, Version } from "./version.ts";

/** What happens if the file exists already. */
export type IfExists = "error" | "keep" | "replace";

/** Where the bytes of a download go: a part file, or a device. */
export interface Target {
  /** Bytes written so far. */
  readonly size: number;
  /** What they are the beginning of. */
  version: Version;
  /** Whether a later call can resume from them. */
  readonly canResume: boolean;
  /** Starts over with the first byte of a version. */
  begin(version: Version): void;
  write(bytes: Uint8Array): void | Promise<void>;
  matches(digest: Digest): Promise<boolean>;
  /**
   * Gives the complete file its name.
   *
   * @returns The size of a file that another program made meanwhile and that is kept instead.
   */
  finish(): Promise<number | undefined>;
  /** Stops writing; what a later call can resume stays. Does nothing after `finish()`. */
  release(): void;
  /** Stops writing, and removes what was written. */
  discard(): void;
}
