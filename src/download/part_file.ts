import { type Digest, isRepresentation, type Representation } from "./representation.ts";
import { guarded, reasonOf, refused, THERE } from "./disk_errors.ts";
import { isForeign, lookAt } from "../files/regular_file.ts";
import { renameOver } from "../files/replace_file.ts";

/** Where a download goes while it is not whole. */
export interface DownloadTarget {
  /** How many bytes are there. */
  readonly size: number;
  /** What they are the beginning of. */
  readonly of: Representation;
  /** Whether a later call finds them and goes on. */
  readonly isKept: boolean;
  /** Begins again, with the first byte of a file. */
  begin(of: Representation): void;
  /** Notes the length where only a part tells it: an answer in chunks has none. */
  learn(total: number | undefined): void;
  write(bytes: Uint8Array): void | Promise<void>;
  /** Whether what is there has the digest. */
  matches(digest: Digest): Promise<boolean>;
  /** Makes it the file that was asked for. */
  finish(): Promise<void>;
  /** Ends it as it is: kept if a later call can go on with it. Does nothing after `finish()`. */
  release(): void;
  /** Ends it, and nothing is kept. */
  discard(): void;
}

/** How often a part file may be renamed or removed by others while it is opened. */
const TRIES = 10;
const READ_BYTES = 1_048_576;

const open = new Set<PartFile>();

/** Removes what downloads under way could not go on with: for a process that is about to end. */
export function discardUseless(): void {
  for (const part of open) part.release();
}

/**
 * Opens the part file that downloads of one address share, if no other uses it.
 *
 * @returns `unusable` for one that somebody else put there, or where files have no locks.
 */
export function openLocked(part: string): Deno.FsFile | "busy" | "unusable" {
  for (let tries = 0; tries < TRIES; tries++) {
    const there = lookAt(part, Deno.lstatSync);
    if (there && (!there.isFile || isForeign(part, there))) return "unusable";
    let file: Deno.FsFile;
    try {
      file = Deno.openSync(part, { read: true, write: true, createNew: !there, mode: 0o600 });
    } catch (error) {
      // Made, or taken away, just now.
      if (error instanceof Deno.errors.AlreadyExists) continue;
      if (error instanceof Deno.errors.NotFound && there) continue;
      throw error;
    }
    try {
      if (!file.tryLockSync(true)) {
        file.close();
        return "busy";
      }
    } catch {
      file.close();
      return "unusable";
    }
    // Whoever held it may have given it its final name meanwhile.
    if (lookAt(part, Deno.lstatSync)?.ino === file.statSync().ino) return file;
    file.close();
  }
  return "unusable";
}

/** Where a part file stands, and what it is to become. */
export interface Place {
  /** As the user wrote it. */
  readonly path: string;
  /** The file itself. */
  readonly target: string;
  readonly part: string;
  readonly overwrite: boolean;
  /** Whether no later call can know the name of the part. */
  readonly isOnce?: boolean;
}

export class PartFile implements DownloadTarget {
  readonly #place: Place;
  readonly #file: Deno.FsFile;
  #of: Representation = {};
  #size = 0;

  constructor(place: Place, file: Deno.FsFile, resume: boolean) {
    this.#place = place;
    this.#file = file;
    const of = resume ? this.#noted() : undefined;
    const size = file.statSync().size;
    if (of?.validator !== undefined && size <= (of.total ?? Infinity)) {
      this.#of = of;
      this.#size = size;
      file.seekSync(0, Deno.SeekMode.End);
    } else {
      file.truncateSync(0);
    }
    open.add(this);
  }

  get size(): number {
    return this.#size;
  }

  get of(): Representation {
    return this.#of;
  }

  get isKept(): boolean {
    return !this.#place.isOnce && this.#of.validator !== undefined && this.#size > 0;
  }

  /** Where it is noted what the part is the beginning of. */
  get #note(): string {
    return `${this.#place.part}.json`;
  }

  #noted(): Representation | undefined {
    try {
      const info = Deno.lstatSync(this.#note);
      if (!info.isFile || isForeign(this.#note, info)) return undefined;
      const noted: unknown = JSON.parse(Deno.readTextFileSync(this.#note));
      return isRepresentation(noted) ? noted : undefined;
    } catch {
      return undefined;
    }
  }

  begin(of: Representation): void {
    guarded(this.#place.path, () => {
      this.#file.truncateSync(0);
      this.#file.seekSync(0, Deno.SeekMode.Start);
      this.#size = 0;
      this.#of = of;
      remove(this.#note);
      Deno.writeTextFileSync(this.#note, JSON.stringify(of), { createNew: true });
    });
  }

  learn(total: number | undefined): void {
    this.#of = { ...this.#of, total: this.#of.total ?? total };
  }

  /** Synchronous, so that nothing is still being written when a Stop ends the call. */
  write(bytes: Uint8Array): void {
    if (!open.has(this)) throw ended();
    guarded(this.#place.path, () => {
      for (let at = 0; at < bytes.length;) {
        const count = this.#file.writeSync(bytes.subarray(at));
        at += count;
        this.#size += count;
      }
    });
  }

  async matches({ algorithm, value }: Digest): Promise<boolean> {
    const { createHash } = await import("node:crypto");
    const hash = createHash(algorithm);
    const buffer = new Uint8Array(READ_BYTES);
    this.#file.seekSync(0, Deno.SeekMode.Start);
    for (let count; (count = await this.#file.read(buffer)) !== null;) {
      hash.update(buffer.subarray(0, count));
    }
    return hash.digest("base64") === value;
  }

  async finish(): Promise<void> {
    const { path, target, part, overwrite } = this.#place;
    try {
      // Only waiting for the disk is asynchronous: the other calls are faster synchronous.
      await this.#file.syncData();
    } catch (error) {
      throw reasonOf(path, error);
    }
    if (!open.has(this)) throw ended();
    guarded(path, () => {
      const replaced = lookAt(target)?.mode ?? lookAt(this.#note)?.mode;
      if (replaced && Deno.build.os !== "windows") Deno.chmodSync(part, replaced & 0o777);
      if (!overwrite) moveUnlessThere(path, part, target);
    });
    if (overwrite) {
      const isMoved = await renameOver(part, target, () => open.has(this)).catch((error) => {
        throw reasonOf(path, error);
      });
      if (!isMoved) throw ended();
    }
    this.#end();
    remove(this.#note);
  }

  release(): void {
    if (open.has(this) && !this.isKept) this.discard();
    this.#end();
  }

  discard(): void {
    if (!open.has(this)) return;
    remove(this.#place.part);
    remove(this.#note);
    this.#end();
  }

  #end(): void {
    if (open.delete(this)) this.#file.close();
  }
}

function ended(): DOMException {
  return new DOMException("The download was ended", "AbortError");
}

/** A link is refused where there is a file already; a new name in place of the old one would replace it. */
function moveUnlessThere(path: string, part: string, target: string): void {
  try {
    Deno.linkSync(part, target);
  } catch {
    if (lookAt(target, Deno.lstatSync)) throw refused(path, THERE);
    // Not every file system has links.
    return Deno.renameSync(part, target);
  }
  remove(part);
}

function remove(path: string): void {
  try {
    Deno.removeSync(path);
  } catch {
    // not there
  }
}
