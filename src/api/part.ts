import { type Digest, NO_VERSION, noteOf, type Version, versionIn } from "./version.ts";
import { cannotSave, explained, fileExists, isFolder, onDisk } from "./save_errors.ts";
import { Outlet } from "./outlet.ts";
import { filePath, fileUrl, folderOf } from "../platform/paths.ts";
import { realPath, unlessMissing } from "../platform/file_info.ts";
import { remove, renameOver } from "../platform/replace_file.ts";

/** What happens if the file exists already. */
export type IfExists = "error" | "keep" | "replace";

/** Where the bytes of a download go. */
export type Target = Part | Outlet;

/** Attempts to open a part that other processes rename or remove at the same time. */
const MAX_TRIES = 10;
const READ_BYTES = 1_048_576;

/**
 * Opens the file that a download writes to: a part next to the target, which a later call for the same
 * address finds. Creates a missing folder. Writes to a pipe or a device directly.
 *
 * @returns The size of a file that exists and is kept. `busy`: another download is saving a file that
 *   is then kept.
 * @throws {ConfigError} `FILE_EXISTS`, `FILE`, `PERMISSION` if the file cannot be saved.
 */
export function openTarget(
  path: string,
  address: string,
  ifExists: IfExists,
  resume: boolean,
  signal: AbortSignal | undefined,
): Part | Promise<Outlet> | number | "busy" {
  return onDisk(path, () => {
    const named = filePath(fileUrl(path));
    if (folderOf(named) === named) throw isFolder(path);
    const entry = unlessMissing(() => Deno.lstatSync(named));
    // A link stays, and the file that it leads to is replaced.
    const target = entry?.isSymlink ? realPath(named) : named;
    const found = entry?.isSymlink ? unlessMissing(() => Deno.statSync(named)) : entry;
    if (found?.isDirectory) throw isFolder(path);
    if (found && !found.isFile) return Outlet.open(path, target, signal);
    if (found && ifExists === "keep") return found.size;
    if (found && ifExists === "error") throw fileExists(path);
    const part = `${target}.${hashOf(address)}.part`;
    const opened = openLocked(part);
    if (opened === "busy" && ifExists === "keep") return "busy";
    if (opened === "busy" && ifExists === "error") {
      throw cannotSave(
        path,
        "another download is saving it",
        "wait until it ends, or name another file",
      );
    }
    const place = { path, target, part, ifExists, mode: found?.mode };
    if (typeof opened === "string") return Part.once(place);
    const shared = new Part(place, opened, resume);
    // Another download may have finished since the first look, and its part is gone.
    return shared.keepFound() ?? shared;
  });
}

/** FNV-1a: short and synchronous. Versions are compared before a part is resumed. */
function hashOf(address: string): string {
  let hash = 0x811c9dc5;
  for (const byte of new TextEncoder().encode(address)) {
    hash = Math.imul(hash ^ byte, 0x01000193) >>> 0;
  }
  return hash.toString(16).padStart(8, "0");
}

/** An open part file. */
interface OpenFile {
  readonly file: Deno.FsFile;
  readonly isNew: boolean;
}

/**
 * Opens and locks the part that all downloads of one address share.
 *
 * @returns `busy` if another download has the lock; `unusable` if the file system has no locks, or if
 *   something else has the name, such as a link that came along with a cloned project.
 */
function openLocked(part: string): OpenFile | "busy" | "unusable" {
  for (let tries = 0; tries < MAX_TRIES; tries++) {
    const opened = openShared(part);
    if (opened === "unusable") return "unusable";
    if (opened === undefined) continue;
    const { file, isNew } = opened;
    const lock = tryLock(file);
    // The download that had the lock may have given this file its final name.
    if (lock === "held" && isNameOf(part, file)) return opened;
    file.close();
    if (lock === "held") continue;
    if (lock === "unusable" && isNew) remove(part);
    return lock;
  }
  return "unusable";
}

/** @returns `undefined` if another process made or removed the part in the meantime. */
function openShared(part: string): OpenFile | "unusable" | undefined {
  try {
    return { file: create(part), isNew: true };
  } catch (error) {
    if (error instanceof Deno.errors.NotFound) {
      Deno.mkdirSync(folderOf(part), { recursive: true });
      return undefined;
    }
    if (!(error instanceof Deno.errors.AlreadyExists)) throw error;
  }
  const found = unlessMissing(() => Deno.lstatSync(part));
  if (found && !found.isFile) return "unusable";
  const file = unlessMissing(() => Deno.openSync(part, { read: true, write: true }));
  return file && { file, isNew: false };
}

/** Fails if the name is taken, even by a link that leads nowhere. */
function create(part: string): Deno.FsFile {
  return Deno.openSync(part, { read: true, write: true, createNew: true });
}

function tryLock(file: Deno.FsFile): "held" | "busy" | "unusable" {
  try {
    return file.tryLockSync(true) ? "held" : "busy";
  } catch {
    return "unusable";
  }
}

/** Whether a name is that of an open file itself. A link to it has its own inode, so it is not. */
function isNameOf(path: string, file: Deno.FsFile): boolean {
  return unlessMissing(() => Deno.lstatSync(path))?.ino === file.statSync().ino;
}

/** Names and options of a part. */
interface Place {
  /** The target as the user wrote it. */
  readonly path: string;
  readonly target: string;
  readonly part: string;
  readonly ifExists: IfExists;
  /** Mode of the file that is replaced. */
  readonly mode?: number | null | undefined;
}

/** The open parts of this process: a Stop or a signal closes one at any moment. */
const openParts = new Set<Part>();

/** An incomplete file, with a note next to it from which a later process resumes. */
class Part {
  /** Bytes written so far. */
  size = 0;
  /** What they are the beginning of. */
  version: Version = NO_VERSION;
  readonly #file: Deno.FsFile;
  #mayHaveNote: boolean;

  constructor(
    readonly place: Place,
    { file, isNew }: OpenFile,
    resume: boolean,
    readonly isShared = true,
  ) {
    this.#file = file;
    this.#mayHaveNote = !isNew;
    openParts.add(this);
    // The file that is replaced may be private.
    if (place.mode && Deno.build.os !== "windows") Deno.chmodSync(place.part, 0o600);
    if (!isNew) this.#takeOver(resume);
  }

  /** A part with a random name, which no other download can find. */
  static once(place: Place): Part {
    const part = `${place.target}.${crypto.randomUUID().slice(0, 8)}.part`;
    return new Part({ ...place, part }, { file: create(part), isNew: true }, false, false);
  }

  /** Resumes from what an earlier call left, or starts over. */
  #takeOver(resume: boolean): void {
    const { size } = this.#file.statSync();
    const version = resume ? this.#readNote() : undefined;
    if (version?.validator !== undefined) {
      const { total = Infinity } = this.version = version;
      // The last byte of a complete part is requested again, because only the API knows whether it is
      // still the file.
      this.size = Math.max(0, Math.min(size, total - 1));
    }
    this.#file.truncateSync(this.size);
    this.#file.seekSync(0, Deno.SeekMode.End);
  }

  /** Whether a later call can resume from them. */
  get #canResume(): boolean {
    return this.isShared && this.version.validator !== undefined && this.size > 0;
  }

  /** As long as the name of the part, so that a name too long fails before anything is sent. */
  get #note(): string {
    return this.place.part.replace(/part$/, "note");
  }

  #readNote(): Version | undefined {
    const isFile = unlessMissing(() => Deno.lstatSync(this.#note))?.isFile;
    return isFile ? versionIn(Deno.readTextFileSync(this.#note)) : undefined;
  }

  #writeNote(): void {
    // Never through a link.
    remove(this.#note);
    Deno.writeTextFileSync(this.#note, noteOf(this.version), { createNew: true });
    this.#mayHaveNote = true;
  }

  #removeNote(): void {
    if (this.#mayHaveNote) remove(this.#note);
    this.#mayHaveNote = false;
  }

  /** Starts over with the first byte of a version. */
  begin(version: Version): void {
    onDisk(this.place.path, () => {
      this.#removeNote();
      if (this.size > 0) {
        this.#file.truncateSync(0);
        this.#file.seekSync(0, Deno.SeekMode.Start);
      }
      this.size = 0;
      this.version = version;
    });
  }

  /** Synchronous, so that no write is in progress when a Stop ends the call. */
  write(bytes: Uint8Array): void {
    this.#checkOpen();
    onDisk(this.place.path, () => {
      for (let at = 0; at < bytes.length;) at += this.#file.writeSync(bytes.subarray(at));
      this.size += bytes.length;
      const isUnfinished = this.size !== this.version.total;
      if (isUnfinished && this.#canResume && !this.#mayHaveNote) this.#writeNote();
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

  /**
   * If an existing file at the target is kept, removes the part and returns the file's size.
   *
   * @throws {ConfigError} `FILE_EXISTS`, `FILE` if the target may be neither kept nor replaced.
   */
  keepFound(): number | undefined {
    const { path, target, ifExists } = this.place;
    if (ifExists === "replace") return undefined;
    const found = unlessMissing(() => Deno.lstatSync(target));
    if (found === undefined) return undefined;
    if (found.isFile && ifExists === "keep") {
      this.discard();
      return found.size;
    }
    this.release();
    throw found.isDirectory ? isFolder(path) : fileExists(path);
  }

  /**
   * Gives the complete file its name.
   *
   * @returns The size of a file that another program made meanwhile and that is kept instead.
   */
  async finish(): Promise<number | undefined> {
    const { path, target, part, mode } = this.place;
    try {
      // Waiting for the disk is asynchronous; the other calls are faster synchronous.
      await this.#file.syncData();
      this.#checkOpen();
      const kept = this.keepFound();
      if (kept !== undefined) return kept;
      if (mode && Deno.build.os !== "windows") Deno.chmodSync(part, mode & 0o777);
      // Before the part: a note alone would describe the next part.
      this.#removeNote();
      const isMoved = await renameOver(part, target, () => openParts.has(this));
      if (!isMoved) throw ended();
      this.#close();
      return undefined;
    } catch (error) {
      throw explained(path, error);
    }
  }

  /** Stops writing; what a later call can resume stays. Does nothing after `finish()`. */
  release(): void {
    if (!openParts.has(this)) return;
    if (!this.#canResume) return this.discard();
    try {
      if (!this.#mayHaveNote) this.#writeNote();
    } catch {
      // The disk is full: a later call starts over.
    }
    this.#close();
  }

  /** Stops writing, and removes what was written. */
  discard(): void {
    if (!openParts.has(this)) return;
    this.#removeNote();
    remove(this.place.part);
    this.#close();
  }

  #checkOpen(): void {
    if (!openParts.has(this)) throw ended();
  }

  #close(): void {
    openParts.delete(this);
    this.#file.close();
  }
}

function ended(): DOMException {
  return new DOMException("The download was ended", "AbortError");
}

/** Removes what later downloads could not resume: for a process that is about to end. */
export function discardUseless(): void {
  for (const part of openParts) part.release();
}
