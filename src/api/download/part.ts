/** The file that a download writes to until the download is complete. */
import { isStrongTag, NO_VERSION, type Version } from "./version.ts";
import { fileExists, isFolder, notAFile } from "../save_errors.ts";
import { throwIfBug } from "../../errors/errors.ts";
import { checksum } from "../../files/checksum.ts";
import { closeLocked } from "../../files/lock.ts";
import { filePath, fileUrl, folderOf } from "../../files/paths.ts";
import { realPath, unlessMissing } from "../../files/file_info.ts";
import { remove, renameOver } from "../../files/replace_file.ts";
import { isOfAnotherUser } from "../../settings/env_location.ts";

/** How to treat a file that already exists. */
export type IfExists = "error" | "keep" | "replace";

const READ_BYTES = 1_048_576;

/**
 * Opens the part of a download, a file next to the target. The name of the part contains a hash of
 * the address, so that a later call for the same address finds the part. Creates a missing folder.
 *
 * @param resume Whether to resume the part of an earlier call, and to keep an incomplete part for a
 * later call.
 * @returns The opened part; the size of an existing file that is kept; `busy` if another download
 * is saving the file.
 * @throws {ConfigError} `FILE_EXISTS` if the file already exists; `FILE` if it cannot be saved.
 */
export function openPart(
  path: string,
  address: string,
  ifExists: IfExists,
  resume: boolean,
): Part | number | "busy" {
  const named = filePath(fileUrl(path));
  if (folderOf(named) === named) throw isFolder(path);
  const entry = infoOf(named);
  // If the target is a link, the download replaces the file that the link points to, and keeps the
  // link.
  const target = entry?.isSymlink ? realPath(named) : named;
  const found = entry?.isSymlink ? infoOf(target) : entry;
  const kept = keptSize(path, found, ifExists);
  if (kept !== undefined) return kept;
  Deno.mkdirSync(folderOf(target), { recursive: true });
  // A collision does no harm: a part is resumed only if its version is the one that the API sends.
  const shared = `${target}.${checksum(address)}.part`;
  const file = openLocked(shared);
  if (file === "busy") return file;
  const place = { path, target, ifExists, mode: found?.mode };
  if (file === "unusable") {
    const own = `${target}.${crypto.randomUUID().slice(0, 8)}.part`;
    return new Part({ ...place, part: own }, open(own, { createNew: true }), false);
  }
  const part = new Part({ ...place, part: shared }, file, resume);
  // Between `keptSize()` and the lock, another download may have renamed its part to the target.
  return part.keepFound() ?? part;
}

/** Information about a name, which may be a link. */
function infoOf(path: string): Deno.FileInfo | undefined {
  return unlessMissing(() => Deno.lstatSync(path));
}

function open(path: string, how: Deno.OpenOptions): Deno.FsFile {
  return Deno.openSync(path, { read: true, write: true, ...how });
}

/**
 * Returns the size of an existing file that is kept; `undefined` if no file exists, or if it is
 * replaced.
 *
 * @throws {ConfigError} `FILE_EXISTS` if the file exists and may be neither kept nor replaced;
 * `FILE` if it is not a regular file.
 */
function keptSize(
  path: string,
  found: Deno.FileInfo | undefined,
  ifExists: IfExists,
): number | undefined {
  if (found?.isDirectory) throw isFolder(path);
  if (found && !found.isFile) throw notAFile(path);
  if (found === undefined || ifExists === "replace") return undefined;
  if (ifExists === "keep") return found.size;
  throw fileExists(path);
}

/** Whether a file has no other name, and no other user could read what is written to it. */
function isOwnFile(info: Deno.FileInfo): boolean {
  return info.isFile && (info.nlink ?? 1) <= 1 && !isOfAnotherUser(info);
}

/**
 * Opens and locks the part that all downloads of one address share.
 *
 * @returns `busy` if another download holds the lock; `unusable` if the file system has no locks,
 * or if something else has this name, such as a link in a cloned project.
 */
function openLocked(part: string): Deno.FsFile | "busy" | "unusable" {
  let file: Deno.FsFile | undefined;
  try {
    const named = infoOf(part);
    if (named && !isOwnFile(named)) return "unusable";
    file = open(part, { create: true });
    const isLocked = file.tryLockSync(true);
    // Between the open and the lock, another download may have renamed this file to the target.
    // The name then no longer belongs to this file.
    if (isLocked && infoOf(part)?.ino === file.statSync().ino) return file;
    file.close();
    return isLocked ? "unusable" : "busy";
  } catch (error) {
    throwIfBug(error);
    if (file?.statSync().size === 0) remove(part);
    file?.close();
    return "unusable";
  }
}

/** Names and options of a part. */
interface PartPlace {
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
 * An incomplete file. A second file next to it, the note, holds its tag, so that a later process
 * can resume the download.
 */
export class Part {
  /** Number of bytes written so far. */
  size = 0;
  /** The version of the API's file to which the written bytes belong. */
  version: Version = NO_VERSION;
  /** Whether the note contains the tag of the written bytes. */
  #hasNote = false;

  /** @param resume Whether a later call may resume this part. */
  constructor(
    private readonly place: PartPlace,
    private readonly file: Deno.FsFile,
    private resume: boolean,
  ) {
    openParts.add(this);
    // The file that the part replaces may be private, so the part is private, too.
    this.#chmod(0o600);
    const { size } = file.statSync();
    if (size > 0) this.#takeOver(size);
  }

  /** Resumes the part of an earlier call, or starts over. */
  #takeOver(size: number): void {
    const tag = this.resume ? this.#readNote() : undefined;
    if (tag === undefined) {
      remove(this.#note);
      this.#clear();
    } else {
      // Only the API knows whether the part is complete and still the current version. To ask the
      // API, the download requests the last byte again.
      this.size = size - 1;
      this.version = { tag };
      this.#hasNote = true;
      this.file.seekSync(this.size, Deno.SeekMode.Start);
    }
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

  /**
   * The path of the note. It is as long as the path of the part. If the paths are too long, opening
   * the part fails before a request is sent.
   */
  get #note(): string {
    return this.place.part.replace(/part$/, "note");
  }

  /** Reads the tag in the note. Ignores a link: in a cloned project, it could lead to any file. */
  #readNote(): string | undefined {
    try {
      const text = infoOf(this.#note)?.isFile ? Deno.readTextFileSync(this.#note) : "";
      return isStrongTag(text) ? text : undefined;
    } catch (error) {
      throwIfBug(error);
      return undefined;
    }
  }

  #writeNote(tag: string): void {
    // The old note is removed first: if it were a link, this call would overwrite the file that the
    // link points to.
    remove(this.#note);
    try {
      Deno.writeTextFileSync(this.#note, tag, { createNew: true });
      this.#hasNote = true;
    } catch (error) {
      // For example, there is a folder with this name. This download cannot be resumed later.
      throwIfBug(error);
      this.resume = false;
    }
  }

  /** Starts over at the first byte of a version. */
  begin(version: Version): void {
    if (this.#hasNote) remove(this.#note);
    this.#hasNote = false;
    this.#clear();
    this.version = version;
  }

  #clear(): void {
    this.file.truncateSync(0);
    this.file.seekSync(0, Deno.SeekMode.Start);
    this.size = 0;
  }

  /**
   * Appends bytes. Writes synchronously, so that no write is in progress when Stop ends the call.
   */
  write(bytes: Uint8Array): void {
    for (let at = 0; at < bytes.length;) at += this.file.writeSync(bytes.subarray(at));
    this.size += bytes.length;
    const { tag, total } = this.version;
    if (this.resume && !this.#hasNote && tag !== undefined && this.size !== total) {
      this.#writeNote(tag);
    }
  }

  /** Whether the SHA-256 of the written bytes is this digest. */
  async matches(digest: string): Promise<boolean> {
    const { createHash } = await import("node:crypto");
    const hash = createHash("sha256");
    const buffer = new Uint8Array(READ_BYTES);
    this.file.seekSync(0, Deno.SeekMode.Start);
    for (let count; (count = await this.file.read(buffer)) !== null;) {
      hash.update(buffer.subarray(0, count));
    }
    return hash.digest("base64") === digest;
  }

  /**
   * Removes the part if a file exists at the target and must not be replaced.
   *
   * @returns The size of the existing file if it is kept.
   * @throws {ConfigError} `FILE_EXISTS` if the existing file may be neither kept nor replaced;
   * `FILE` if it is not a regular file.
   */
  keepFound(): number | undefined {
    const { path, target, ifExists } = this.place;
    if (ifExists === "replace") return undefined;
    const found = infoOf(target);
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
    await this.file.syncData();
    // After a release, another download may have opened the part.
    if (!openParts.has(this)) throw ended();
    const kept = this.keepFound();
    if (kept !== undefined) return kept;
    const { part, target, mode } = this.place;
    this.#chmod((mode ?? 0) & 0o777);
    if (!await renameOver(part, target, () => openParts.has(this))) throw ended();
    remove(this.#note);
    this.#close();
    return undefined;
  }

  /** Whether a later call can resume the part. */
  get isKept(): boolean {
    return this.size > 0 && this.#hasNote;
  }

  /** Closes the part, and keeps it if a later call can resume it. Does nothing after `finish()`. */
  release(): void {
    if (this.isKept) this.#close();
    else this.discard();
  }

  /** Closes and removes the part. */
  discard(): void {
    if (!openParts.has(this)) return;
    remove(this.#note);
    remove(this.place.part);
    this.#close();
  }

  #close(): void {
    if (openParts.delete(this)) closeLocked(this.file);
  }
}

function ended(): DOMException {
  return new DOMException("The download was canceled before it was complete", "AbortError");
}

/** Closes all parts before the process ends. Removes the parts that no later call could resume. */
export function discardUseless(): void {
  for (const part of openParts) part.release();
}
