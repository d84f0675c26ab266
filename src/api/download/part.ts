/** The file that a download writes to until the download is complete. */
import { type Digest, NO_VERSION, type Version, versionOf } from "./version.ts";
import { fileExists, isFolder } from "../save_errors.ts";
import { Outlet } from "./outlet.ts";
import { throwIfBug } from "../../errors/errors.ts";
import { checksum } from "../../platform/checksum.ts";
import { closeLocked } from "../../platform/lock.ts";
import { filePath, fileUrl, folderOf } from "../../platform/paths.ts";
import { realPath, unlessMissing } from "../../platform/file_info.ts";
import { remove, renameOver } from "../../platform/replace_file.ts";

/** How to treat a file that already exists. */
export type IfExists = "error" | "keep" | "replace";

/** The target of a download's bytes. */
export type Target = Part | Outlet;

/** Maximum number of attempts to open a part while other processes rename or remove it. */
const MAX_TRIES = 10;
const READ_BYTES = 1_048_576;
/** Maximum length of a note. */
const NOTE_BYTES = 65_536;

/**
 * Opens the file that a download writes to: a part, which is a file next to the target. The name of
 * the part contains a hash of the address, so that a later call for the same address finds the
 * part. Creates a missing folder. If the target is a pipe or a device, opens the target itself.
 *
 * @param resume Whether to resume the part of an earlier call, and to keep an incomplete part for a
 * later call.
 * @returns The opened file; the size of an existing file that is kept; `busy` if another download
 * is saving the file.
 * @throws {ConfigError} `FILE_EXISTS` if the file already exists; `FILE` if it cannot be saved.
 */
export async function openTarget(
  path: string,
  address: string,
  ifExists: IfExists,
  resume: boolean,
  signal: AbortSignal | undefined,
): Promise<Part | Outlet | number | "busy"> {
  const named = filePath(fileUrl(path));
  if (folderOf(named) === named) throw isFolder(path);
  const entry = unlessMissing(() => Deno.lstatSync(named));
  // If the target is a link, the download replaces the file that the link points to, and keeps the
  // link.
  const target = entry?.isSymlink ? realPath(named) : named;
  const found = entry?.isSymlink ? unlessMissing(() => Deno.statSync(named)) : entry;
  if (found && !found.isFile && !found.isDirectory) return await Outlet.open(target, signal);
  const kept = keptSize(path, found, ifExists);
  if (kept !== undefined) return kept;
  // A collision does no harm: a part is resumed only if its version is the one that the API sends.
  const part = `${target}.${checksum(address)}.part`;
  const opened = openLocked(part);
  if (opened === "busy" && ifExists !== "replace") return "busy";
  const place = { path, target, part, ifExists, mode: found?.mode };
  if (typeof opened === "string") {
    const own = randomName(part);
    return new Part({ ...place, part: own }, { file: create(own), isNew: true }, false);
  }
  const shared = new Part(place, opened, resume);
  // Between `keptSize()` and the lock, another download may have renamed its part to the target.
  return shared.keepFound() ?? shared;
}

/**
 * Returns the size of an existing file that is kept; `undefined` if no file exists, or if it is
 * replaced.
 *
 * @throws {ConfigError} `FILE_EXISTS` if the file exists and may be neither kept nor replaced;
 * `FILE` if it is a folder.
 */
function keptSize(
  path: string,
  found: Deno.FileInfo | undefined,
  ifExists: IfExists,
): number | undefined {
  if (found?.isDirectory) throw isFolder(path);
  if (found === undefined || ifExists === "replace") return undefined;
  if (found.isFile && ifExists === "keep") return found.size;
  throw fileExists(path);
}

/** A name for a part that no other download uses and no other user can guess. */
function randomName(part: string): string {
  return part.replace(/[^.]+\.part$/, `${crypto.randomUUID().slice(0, 8)}.part`);
}

/** An open part file. */
interface OpenFile {
  readonly file: Deno.FsFile;
  readonly isNew: boolean;
}

/**
 * Opens and locks the part that all downloads of one address share.
 *
 * @returns `busy` if another download holds the lock; `unusable` if the file system has no locks,
 * or if something other than a part of this user has this name, such as a link in a cloned project
 * or the part of another user in a shared folder.
 */
function openLocked(part: string): OpenFile | "busy" | "unusable" {
  for (let tries = 0; tries < MAX_TRIES; tries++) {
    const opened = openShared(part);
    if (opened === undefined) continue;
    if (opened === "unusable") return opened;
    const { file, isNew } = opened;
    const lock = tryLock(file);
    // Between the open and the lock, another download may have renamed this file to the target. The
    // name then no longer belongs to this file.
    if (lock === "held" && isNameOf(part, file)) {
      if (isNew || isOwn(file, userOfNewFiles(part))) return opened;
      file.close();
      return "unusable";
    }
    file.close();
    if (lock === "unusable" && isNew) remove(part);
    if (lock !== "held") return lock;
  }
  return "unusable";
}

/**
 * Creates or opens a part.
 *
 * @returns `undefined` if the caller has to try again: this call has created the missing folder, or
 * another process has just removed the part. `unusable` if this user cannot open it.
 */
function openShared(part: string): OpenFile | "unusable" | undefined {
  try {
    return { file: create(part), isNew: true };
  } catch (error) {
    if (error instanceof Deno.errors.NotFound) {
      Deno.mkdirSync(folderOf(part), { recursive: true });
    } else if (!(error instanceof Deno.errors.AlreadyExists)) throw error;
  }
  try {
    const file = unlessMissing(() => openExisting(part));
    return file && { file, isNew: false };
  } catch (error) {
    throwIfBug(error);
    return "unusable";
  }
}

/** Opens a file. Opened for reading alone, a named pipe would wait for a writer. */
function openExisting(path: string): Deno.FsFile {
  return Deno.openSync(path, { read: true, write: true });
}

/**
 * Whether an open file is a regular file of this user, without a second name. Another user may have
 * put anything else there, to read or change the download, or to have it overwrite another file.
 */
function isOwn(file: Deno.FsFile, user: number | null): boolean {
  const { isFile, nlink, uid } = file.statSync();
  return isFile && (nlink ?? 1) <= 1 && uid === user;
}

/** The owner of a file that this process creates. `Deno.uid()` would need another permission. */
function userOfNewFiles(part: string): number | null {
  const path = randomName(part);
  using file = create(path);
  remove(path);
  return file.statSync().uid;
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

/** Whether the path names the open file itself, and not a link to it. A link has its own inode. */
function isNameOf(path: string, file: Deno.FsFile): boolean {
  return unlessMissing(() => Deno.lstatSync(path))?.ino === file.statSync().ino;
}

/** Names and options of a part. */
interface PartPaths {
  /** The path of the target as the user wrote it, for messages. */
  readonly path: string;
  readonly target: string;
  readonly part: string;
  readonly ifExists: IfExists;
  /** Mode of the file that is replaced. */
  readonly mode?: number | null | undefined;
}

/** The open parts of this process. Stop or a signal can close a part at any time. */
const openParts = new Set<Part>();

/**
 * An incomplete file. A second file next to it, the note, holds its version, so that a later
 * process can resume the download.
 */
class Part {
  /** Number of bytes written so far. */
  size = 0;
  /** The version of the API's file to which the written bytes belong. */
  version: Version = NO_VERSION;
  #hasNote: boolean;
  /** Whether a later call may resume this part. */
  #resume: boolean;

  constructor(readonly place: PartPaths, readonly opened: OpenFile, resume: boolean) {
    this.#resume = resume;
    this.#hasNote = !opened.isNew;
    openParts.add(this);
    // The file that the part replaces may be private, so the part is private, too.
    this.#chmod(0o600);
    if (!opened.isNew) this.#takeOver();
  }

  /**
   * Sets the mode of the part if it will replace a file. If no file exists at the target, the part
   * keeps the default mode.
   */
  #chmod(mode: number): void {
    const { part, mode: replaced } = this.place;
    if (!replaced || Deno.build.os === "windows") return;
    try {
      Deno.chmodSync(part, mode);
    } catch (error) {
      // Some file systems refuse this, for example because all their files have one mode.
      throwIfBug(error);
    }
  }

  /** Resumes the part of an earlier call, or starts over. */
  #takeOver(): void {
    const { file } = this.opened;
    const { size } = file.statSync();
    const version = this.#resume ? this.#readNote() : NO_VERSION;
    if (version.validator !== undefined) {
      const { total = size } = this.version = version;
      // Only the API knows whether a complete part is still the current version. To ask the API,
      // the download requests the last byte again. Without a length, any part may be complete.
      this.size = Math.max(0, Math.min(size, total - 1));
    }
    file.truncateSync(this.size);
    file.seekSync(0, Deno.SeekMode.End);
  }

  /**
   * The path of the note. It is as long as the path of the part: if a path is too long, opening the
   * part fails, and no request is sent.
   */
  get #note(): string {
    return this.place.part.replace(/part$/, "note");
  }

  /** Reads the version from the note, by the rules for the headers of a response. */
  #readNote(): Version {
    try {
      using note = openExisting(this.#note);
      if (!isOwn(note, this.opened.file.statSync().uid)) return NO_VERSION;
      const bytes = new Uint8Array(NOTE_BYTES);
      const text = new TextDecoder().decode(bytes.subarray(0, note.readSync(bytes) ?? 0));
      return versionOf(new Headers(JSON.parse(text)));
    } catch {
      // The note is missing or damaged.
      return NO_VERSION;
    }
  }

  #writeNote(): void {
    // The old note is removed first: if it were a link, this call would overwrite the file that the
    // link points to.
    remove(this.#note);
    try {
      const text = JSON.stringify(this.version.headers);
      Deno.writeTextFileSync(this.#note, text, { createNew: true });
      this.#hasNote = true;
    } catch (error) {
      // For example, another user has put a file there. This download cannot be resumed later.
      throwIfBug(error);
      remove(this.#note);
      this.#resume = false;
    }
  }

  #removeNote(): void {
    if (this.#hasNote) remove(this.#note);
    this.#hasNote = false;
  }

  /** Starts over at the first byte of a version. */
  begin(version: Version): void {
    this.#removeNote();
    if (this.size > 0) {
      this.opened.file.truncateSync(0);
      this.opened.file.seekSync(0, Deno.SeekMode.Start);
    }
    this.size = 0;
    this.version = version;
  }

  /**
   * Appends bytes. Writes synchronously, so that no write is in progress when Stop ends the call.
   */
  write(bytes: Uint8Array): void {
    const { file } = this.opened;
    for (let at = 0; at < bytes.length;) at += file.writeSync(bytes.subarray(at));
    this.size += bytes.length;
    const { validator, total } = this.version;
    const canResume = this.#resume && validator !== undefined && this.size !== total;
    if (canResume && !this.#hasNote) this.#writeNote();
  }

  async matches({ algorithm, value }: Digest): Promise<boolean> {
    const { createHash } = await import("node:crypto");
    const hash = createHash(algorithm);
    const buffer = new Uint8Array(READ_BYTES);
    const { file } = this.opened;
    file.seekSync(0, Deno.SeekMode.Start);
    for (let count; (count = await file.read(buffer)) !== null;) {
      hash.update(buffer.subarray(0, count));
    }
    return hash.digest("base64") === value;
  }

  /**
   * Removes the part if a file exists at the target and must not be replaced.
   *
   * @returns The size of the existing file if it is kept.
   * @throws {ConfigError} `FILE_EXISTS` if the existing file may be neither kept nor replaced;
   * `FILE` if it is a folder.
   */
  keepFound(): number | undefined {
    const { path, target, ifExists } = this.place;
    if (ifExists === "replace") return undefined;
    const found = unlessMissing(() => Deno.lstatSync(target));
    if (found) this.discard();
    return keptSize(path, found, ifExists);
  }

  /**
   * Renames the complete part to the name of the target.
   *
   * @returns The size of a file that another program created in the meantime and that is kept
   * instead.
   */
  async finish(): Promise<number | undefined> {
    // Waiting for the disk takes long, so only this call is asynchronous. The other file operations
    // are faster as synchronous calls.
    await this.opened.file.syncData();
    // After a release, another download may have opened the part.
    if (!openParts.has(this)) throw ended();
    const kept = this.keepFound();
    if (kept !== undefined) return kept;
    const { part, target, mode } = this.place;
    this.#chmod((mode ?? 0) & 0o777);
    if (!await renameOver(part, target, () => openParts.has(this))) throw ended();
    this.#removeNote();
    this.#close();
    return undefined;
  }

  /** Closes the part, and keeps it if a later call can resume it. Does nothing after `finish()`. */
  release(): void {
    if (this.size > 0 && this.#hasNote) this.#close();
    else this.discard();
  }

  /** Closes and removes the part. */
  discard(): void {
    if (!openParts.has(this)) return;
    this.#removeNote();
    remove(this.place.part);
    this.#close();
  }

  #close(): void {
    if (openParts.delete(this)) closeLocked(this.opened.file);
  }
}

function ended(): DOMException {
  return new DOMException("The download was canceled before it was complete", "AbortError");
}

/** Closes all parts before the process ends. Removes the parts that no later call could resume. */
export function discardUseless(): void {
  for (const part of openParts) part.release();
}
