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
 * Opens the file that a download writes to: a part next to the target, whose name a later call for
 * the same address derives again. Creates a missing folder. If the target is a pipe or a device,
 * opens the target itself.
 *
 * @returns The size of an existing file that is kept, or `busy` if another download is saving the
 * file, which is then kept.
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
    // A link is kept; the file that it points to is replaced.
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
        "wait until that download ends, or name another file",
      );
    }
    const place = { path, target, part, ifExists, mode: found?.mode };
    if (typeof opened === "string") return Part.once(place);
    const shared = new Part(place, opened, resume);
    // Another download may have finished and renamed its part since the first check.
    return shared.keepFound() ?? shared;
  });
}

/**
 * Returns the FNV-1a hash, which is synchronous. Collisions do no harm, because versions are
 * compared before a part is resumed.
 */
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
 * @returns `busy` if another download holds the lock; `unusable` if the file system has no locks or
 * the name belongs to something else, such as a link in a cloned project.
 */
function openLocked(part: string): OpenFile | "busy" | "unusable" {
  for (let tries = 0; tries < MAX_TRIES; tries++) {
    const opened = openShared(part);
    if (opened === "unusable") return "unusable";
    if (opened === undefined) continue;
    const { file, isNew } = opened;
    const lock = tryLock(file);
    // The download that held the lock may have renamed this file to the target.
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

/** Creates a file. Fails if the name exists, even as a dangling link. */
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

/**
 * Whether the name belongs to the open file itself. A link does not qualify, because it has its own
 * inode.
 */
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

/** The open parts of this process. Stop or a signal can close one at any time. */
const openParts = new Set<Part>();

/** An incomplete file. A note next to it lets a later process resume it. */
class Part {
  /** Bytes written so far. */
  size = 0;
  /** The version of the file to which these bytes belong. */
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
    // The part is private, because the file that it replaces may be private.
    if (place.mode && Deno.build.os !== "windows") Deno.chmodSync(place.part, 0o600);
    if (!isNew) this.#takeOver(resume);
  }

  /** Creates a part with a random name, which no other download can find. */
  static once(place: Place): Part {
    const part = `${place.target}.${crypto.randomUUID().slice(0, 8)}.part`;
    return new Part({ ...place, part }, { file: create(part), isNew: true }, false, false);
  }

  /** Resumes the part of an earlier call, or starts over. */
  #takeOver(resume: boolean): void {
    const { size } = this.#file.statSync();
    const version = resume ? this.#readNote() : undefined;
    if (version?.validator !== undefined) {
      const { total = Infinity } = this.version = version;
      // The last byte of a complete part is requested again, because only the API knows whether the
      // part is still the current version.
      this.size = Math.max(0, Math.min(size, total - 1));
    }
    this.#file.truncateSync(this.size);
    this.#file.seekSync(0, Deno.SeekMode.End);
  }

  /** Whether a later call can resume this part. */
  get #canResume(): boolean {
    return this.isShared && this.version.validator !== undefined && this.size > 0;
  }

  /**
   * The path of the note, as long as that of the part, so that a path that is too long fails before
   * anything is sent.
   */
  get #note(): string {
    return this.place.part.replace(/part$/, "note");
  }

  #readNote(): Version | undefined {
    const isFile = unlessMissing(() => Deno.lstatSync(this.#note))?.isFile;
    return isFile ? versionIn(Deno.readTextFileSync(this.#note)) : undefined;
  }

  #writeNote(): void {
    // The note is removed first, so that it is never written through a link.
    remove(this.#note);
    Deno.writeTextFileSync(this.#note, noteOf(this.version), { createNew: true });
    this.#mayHaveNote = true;
  }

  #removeNote(): void {
    if (this.#mayHaveNote) remove(this.#note);
    this.#mayHaveNote = false;
  }

  /** Starts over at the first byte of a version. */
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

  /** Writes synchronously, so that no write is in progress when Stop ends the call. */
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
   * If the target exists and is kept, removes the part and returns the size of the target.
   *
   * @throws {ConfigError} `FILE_EXISTS` or `FILE` if the target may be neither kept nor replaced.
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
   * @returns The size of a file that another program created in the meantime and that is kept
   * instead.
   */
  async finish(): Promise<number | undefined> {
    const { path, target, part, mode } = this.place;
    try {
      // Only the wait for the disk is asynchronous, because the other calls are faster when
      // synchronous.
      await this.#file.syncData();
      this.#checkOpen();
      const kept = this.keepFound();
      if (kept !== undefined) return kept;
      if (mode && Deno.build.os !== "windows") Deno.chmodSync(part, mode & 0o777);
      // The note is removed before the part, because a remaining note would describe the next part.
      this.#removeNote();
      const isMoved = await renameOver(part, target, () => openParts.has(this));
      if (!isMoved) throw ended();
      this.#close();
      return undefined;
    } catch (error) {
      throw explained(path, error);
    }
  }

  /** Closes the part, and keeps it if a later call can resume it. Does nothing after `finish()`. */
  release(): void {
    if (!openParts.has(this)) return;
    if (!this.#canResume) return this.discard();
    try {
      if (!this.#mayHaveNote) this.#writeNote();
    } catch {
      // The disk is full, so a later call starts over.
    }
    this.#close();
  }

  /** Closes and removes the part. */
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
  return new DOMException("The download was canceled before it was complete", "AbortError");
}

/** Removes the parts that no later call could resume. For a process that is about to end. */
export function discardUseless(): void {
  for (const part of openParts) part.release();
}
