import { type Digest, isRepresentation, type Representation } from "./representation.ts";
import { ConfigError, missingPermission } from "../errors/errors.ts";
import type { Fix } from "../errors/advice.ts";
import { filePath, fileUrl, folderOf } from "../platform/paths.ts";
import {
  FOREIGN_LINK,
  hasForeignLink,
  isForeign,
  lookAt,
  mayRead,
  mayWrite,
  realPath,
  unlessMissing,
} from "../platform/look.ts";
import {
  filesBeside,
  namesIn,
  remove,
  removeAbandoned,
  renameOver,
} from "../platform/replace_file.ts";

/** Where the bytes of a download go while it is not whole. */
export interface DownloadTarget {
  /** How many bytes are there. */
  readonly size: number;
  /** What they are the beginning of. */
  readonly of: Representation;
  /** Whether a later call can resume them. */
  readonly isKept: boolean;
  /** Begins again, with the first byte of a file. */
  begin(of: Representation): void;
  /** Notes the length where only a part tells it: an answer in chunks has none. */
  learn(total: number | undefined): void;
  write(bytes: Uint8Array): void | Promise<void>;
  /** Whether what is there has the digest. */
  matches(digest: Digest): Promise<boolean>;
  /**
   * Makes it the file that was asked for.
   *
   * @returns `false` if somebody made that file meanwhile, and it is to be kept.
   */
  finish(): Promise<boolean>;
  /** Ends it as it is: kept if a later call can resume it. Does nothing after `finish()`. */
  release(): void;
  /** Ends it and keeps nothing. */
  discard(): void;
}

/** How often others may rename or remove a part file while it is opened. */
const MAX_TRIES = 10;
/**
 * From this size on a note is beside the part while it is written. A file is made in the time that a
 * small one takes to come, and what a killed process loses of that is little.
 */
const NOTED_FROM_BYTES = 1_048_576;
const READ_BYTES = 1_048_576;
/** In bytes: file systems have names of up to 255, and a note's is that of its file and 19 more. */
const LONGEST_NAME = 236;

/** What happens to a file that is there already. */
export type IfExists = "error" | "keep" | "replace";

/** How a target is opened. */
export interface TargetOptions {
  readonly ifExists: IfExists;
  /** Whether to look at what an earlier call left. */
  readonly resume: boolean;
  readonly parts: PartNames;
}

/**
 * Opens what a download writes to: a private part file beside the file, which a later call for the
 * same address finds. A folder that is missing is made. A pipe or a device is written to directly.
 *
 * @returns `kept`, with its length: the file is there and is to be kept. `busy`, with the length of its
 *   part: another download is saving a file that is to be kept.
 * @throws {ConfigError} `INVALID_SETTING`, `PERMISSION` if nothing can be saved there.
 */
export async function openTarget(
  path: string,
  address: string,
  { ifExists, resume, parts }: TargetOptions,
): Promise<DownloadTarget | { readonly kept: number } | { readonly busy: number }> {
  const [whole, named, found] = guarded(path, () => {
    const whole = filePath(fileUrl(path));
    if (folderOf(whole) === whole) throw isFolder(path);
    if (bytesOf(whole.slice(folderOf(whole).length)) > LONGEST_NAME) {
      throw refused(path, "its name is too long", `shorten it to ${LONGEST_NAME} bytes`);
    }
    // A look at nothing throws, which costs more than most calls: only a link needs a second look.
    const named = unlessMissing(() => Deno.lstatSync(whole));
    const found = named?.isSymlink ? unlessMissing(() => Deno.statSync(whole)) : named;
    if (found?.isFile) removeLinkedPart(named?.isSymlink ? realPath(whole) : whole, found, parts);
    return [whole, named, found] as const;
  });
  if (found?.isFile && ifExists === "keep") return { kept: found.size };
  const hash = await crypto.subtle.digest("SHA-256", new TextEncoder().encode(address));
  const name = new Uint8Array(hash).toHex().slice(0, 8);
  return guarded(path, () => {
    if (named && hasForeignLink(whole, found)) {
      throw refused(path, FOREIGN_LINK, "name another file");
    }
    if (found?.isDirectory) throw isFolder(path);
    if (found && !found.isFile) return new Outlet(path, Deno.openSync(whole, { write: true }));
    // The file that a link leads to is replaced, and the link stays.
    const target = named ? realPath(whole) : whole;
    const folder = folderOf(target);
    const shared = `${target}.${name}.part`;
    const isRefused = found !== undefined && ifExists === "error";
    removeOldParts(target, isRefused ? undefined : shared, parts.in(folder));
    if (isRefused) throw alreadyThere(path);
    const opened = openLocked(shared);
    if (opened === "busy" && ifExists === "keep") return { busy: lookAt(shared)?.size ?? 0 };
    if (opened === "busy" && ifExists === "error") {
      throw refused(
        path,
        "another download is saving it",
        "wait for that one, or name another file",
      );
    }
    if (typeof opened === "object") {
      // Another download may have finished it since the first look, and removed its part.
      const made = ifExists === "keep" ? lookAt(target) : undefined;
      if (!made?.isFile) {
        return new PartFile(
          { path, target, folder, part: shared, ifExists, parts },
          opened,
          resume,
        );
      }
      removePart(shared);
      opened.file.close();
      return { kept: made.size };
    }
    const part = `${target}.${crypto.randomUUID().slice(0, 8)}.part`;
    const file = Deno.openSync(part, { read: true, write: true, createNew: true, mode: 0o600 });
    tryLock(file);
    const place = { path, target, folder, part, ifExists, parts, isOnce: true };
    return new PartFile(place, { file, isNew: true }, false);
  });
}

function bytesOf(name: string): number {
  return new TextEncoder().encode(name).length;
}

/** What part files and their notes add to the name of the target. */
const PART = /^\.[0-9a-f]{8}\.part(\.json)?$/;

/** Removes the part of a download that was killed after the part had got its final name, too. */
function removeLinkedPart(target: string, { ino, nlink }: Deno.FileInfo, parts: PartNames): void {
  if ((nlink ?? 1) < 2) return;
  for (const part of filesBeside(target, PART, (folder) => parts.in(folder))) {
    if (lookAt(part, Deno.lstatSync)?.ino === ino) removePart(part);
  }
}

/**
 * Removes the parts that killed downloads of any address left beside a target, if they are old and
 * no download uses them.
 *
 * @param resumed The part that this download resumes.
 * @param parts The part files and notes that were in the folder.
 */
function removeOldParts(
  target: string,
  resumed: string | undefined,
  parts: readonly string[],
): void {
  if (parts.length === 0) return;
  const isFree = (found: string, info: Deno.FileInfo) => {
    const part = found.replace(/\.json$/, "");
    if (part === resumed || isForeign(found, info)) return false;
    // A note leaves together with its part.
    if (part !== found) return lookAt(part, Deno.lstatSync) === undefined;
    using file = Deno.openSync(part, { read: true, write: true });
    if (tryLock(file) === "busy" || !isNameOf(part, file)) return false;
    removePart(part);
    return false;
  };
  removeAbandoned(target, PART, isFree, () => parts);
}

/** In how many folders the parts are remembered. */
const MOST_FOLDERS = 1_000;

/** What the files of a batch share: each folder is looked at once, as it may hold all of them. */
export class PartNames {
  readonly #folders = new Map<string, readonly string[]>();
  readonly #modes = new Map<string, number | undefined>();

  /** The mode that a new file gets in a folder: it depends on the process, and on the folder. */
  modeIn(folder: string, look: () => number | undefined): number | undefined {
    if (!this.#modes.has(folder)) {
      if (this.#modes.size >= MOST_FOLDERS) this.#modes.clear();
      this.#modes.set(folder, look());
    }
    return this.#modes.get(folder);
  }

  /** The part files and notes that were in a folder; none where it cannot be changed. */
  in(folder: string): readonly string[] {
    let names = this.#folders.get(folder);
    if (names === undefined) {
      if (this.#folders.size >= MOST_FOLDERS) this.#folders.clear();
      const all = mayRead(folder) && mayWrite(folder) ? namesIn(folder) : [];
      names = all.filter((name) => /\.part(\.json)?$/.test(name));
      this.#folders.set(folder, names);
    }
    return names;
  }
}

/**
 * Makes the folder of all files of a batch: where that fails, none of them can be saved.
 *
 * @throws {ConfigError} `INVALID_SETTING` if it cannot be made.
 */
export function makeFolder(folder: string): void {
  // Without the permissions each file tells what it needs.
  if (!mayRead(folder) || !mayWrite(folder)) return;
  try {
    Deno.mkdirSync(folder, { recursive: true });
  } catch (error) {
    const named = folder.replace(/(?<=.)[\\/]$/, "");
    const path = `files in ${named}`;
    if (lookAt(named)?.isFile) throw refused(path, "it is a file", "name another folder", error);
    throw reasonOf(path, error);
  }
}

/** Locks a part file for this process, as long as it is open. `unusable`: files have no locks there. */
function tryLock(file: Deno.FsFile): "held" | "busy" | "unusable" {
  try {
    return file.tryLockSync(true) ? "held" : "busy";
  } catch {
    return "unusable";
  }
}

/** Whether an open file still has this name. */
function isNameOf(path: string, file: Deno.FsFile): boolean {
  return lookAt(path, Deno.lstatSync)?.ino === file.statSync().ino;
}

/**
 * Opens the part file that downloads of one address share, if no other uses it.
 *
 * @returns `unusable` for one that another user put there, or where files have no locks.
 */
function openLocked(part: string): OpenPart | "busy" | "unusable" {
  for (let tries = 0; tries < MAX_TRIES; tries++) {
    const opened = openPart(part);
    if (opened === "unusable") return "unusable";
    if (opened === undefined) continue;
    const { file, isNew } = opened;
    const lock = tryLock(file);
    if (lock !== "held") {
      file.close();
      // Nobody uses it where files have no locks.
      if (isNew && lock === "unusable") remove(part);
      return lock;
    }
    // Its last holder may have given it its final name meanwhile.
    if (isNameOf(part, file)) {
      if (isNew || (file.statSync().nlink ?? 1) < 2) return opened;
      // Or it was killed before it removed this name: what has another one is the user's file.
      removePart(part);
    }
    file.close();
  }
  return "unusable";
}

/** A part file that is open. */
interface OpenPart {
  readonly file: Deno.FsFile;
  /** Whether it was made just now. */
  readonly isNew: boolean;
}

/**
 * Opens a part file, or makes it, and its folder where that is missing.
 *
 * @returns `undefined` if another process made or removed it just now.
 */
function openPart(part: string): OpenPart | "unusable" | undefined {
  const options = { read: true, write: true, mode: 0o600 };
  try {
    return { file: Deno.openSync(part, { ...options, createNew: true }), isNew: true };
  } catch (error) {
    if (error instanceof Deno.errors.NotFound) {
      Deno.mkdirSync(folderOf(part), { recursive: true });
      return undefined;
    }
    if (!(error instanceof Deno.errors.AlreadyExists)) throw error;
  }
  const there = lookAt(part, Deno.lstatSync);
  if (there === undefined) return undefined;
  if (!there.isFile || isForeign(part, there)) return "unusable";
  const file = unlessMissing(() => Deno.openSync(part, options));
  return file && { file, isNew: false };
}

/** Where a part file is, and what it becomes. */
interface Place {
  /** As the user wrote it. */
  readonly path: string;
  /** The file itself. */
  readonly target: string;
  /** The folder of both. */
  readonly folder: string;
  readonly part: string;
  readonly ifExists: IfExists;
  readonly parts: PartNames;
  /** Whether the part has a name of its own, which no later call can know. */
  readonly isOnce?: boolean;
}

/** Those of this process. A Stop or a signal ends a download at any moment. */
const openParts = new Set<PartFile>();

/** A file that is not whole yet, and a note beside it that tells what it is the beginning of. */
class PartFile implements DownloadTarget {
  readonly #place: Place;
  readonly #file: Deno.FsFile;
  #of: Representation = {};
  #size = 0;
  /** Whether the note tells what the part is the beginning of. */
  #isNoted = false;
  /** Whether a note may be there, be it of this part or of one that is gone. */
  #mayHaveNote: boolean;

  constructor(place: Place, { file, isNew }: OpenPart, resume: boolean) {
    this.#place = place;
    this.#file = file;
    this.#mayHaveNote = !isNew ||
      place.parts.in(place.folder).includes(this.#note.slice(place.folder.length));
    if (!isNew) this.#takeOver(resume);
    openParts.add(this);
  }

  /** Goes on with what an earlier call left, or begins again. */
  #takeOver(resume: boolean): void {
    const of = resume ? this.#noted() : undefined;
    const size = this.#file.statSync().size;
    if (of?.validator !== undefined && size <= (of.total ?? Infinity)) {
      this.#of = of;
      this.#isNoted = true;
      // Of a whole part the last byte is asked for again: only the API knows that it is still the file.
      this.#size = Math.max(0, Math.min(size, (of.total ?? Infinity) - 1));
      this.#file.truncateSync(this.#size);
      this.#file.seekSync(0, Deno.SeekMode.End);
    } else {
      this.#file.truncateSync(0);
    }
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

  /** The path of the note. */
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
      if (this.#size > 0) {
        this.#file.truncateSync(0);
        this.#file.seekSync(0, Deno.SeekMode.Start);
      }
      this.#size = 0;
      this.#of = of;
      this.#isNoted = false;
      // What it tells is no longer true.
      if (this.#mayHaveNote) remove(this.#note);
      this.#mayHaveNote = false;
    });
  }

  /** Tells a later call what the part is the beginning of. */
  #writeNote(): void {
    if (this.#mayHaveNote) remove(this.#note);
    this.#mayHaveNote = true;
    Deno.writeTextFileSync(this.#note, JSON.stringify(this.#of), { createNew: true });
    this.#isNoted = true;
  }

  learn(total: number | undefined): void {
    this.#of = { ...this.#of, total: this.#of.total ?? total };
  }

  /** Synchronous, so that nothing is still being written when a Stop ends the call. */
  write(bytes: Uint8Array): void {
    if (!openParts.has(this)) throw ended();
    guarded(this.#place.path, () => {
      for (let at = 0; at < bytes.length;) {
        const count = this.#file.writeSync(bytes.subarray(at));
        at += count;
        this.#size += count;
      }
      if (!this.#isNoted && this.#size >= NOTED_FROM_BYTES) this.#writeNote();
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

  async finish(): Promise<boolean> {
    const { path, target, part, ifExists } = this.#place;
    try {
      // Only waiting for the disk is asynchronous: the other calls are faster synchronous.
      await this.#file.syncData();
    } catch (error) {
      throw reasonOf(path, error);
    }
    if (!openParts.has(this)) throw ended();
    const isMade = guarded(path, () => {
      // Not that of a file behind a link: somebody may have put one there meanwhile.
      const there = ifExists === "replace" ? lookAt(target, Deno.lstatSync) : undefined;
      const replaced = there?.isFile ? there.mode : this.#modeOfNew();
      if (replaced && Deno.build.os !== "windows") Deno.chmodSync(part, replaced & 0o777);
      const note = this.#isNoted ? this.#note : undefined;
      return ifExists === "replace" || moveUnlessThere(part, target, note);
    });
    if (ifExists === "replace") {
      const isMoved = await renameOver(part, target, () => openParts.has(this)).catch((error) => {
        throw reasonOf(path, error);
      });
      if (!isMoved) throw ended();
    }
    // Another item of the same list may be saved below this name.
    if (!isMade && lookAt(target)?.isDirectory) throw isFolder(path);
    if (!isMade && ifExists === "error") throw alreadyThere(path);
    if (!isMade) this.discard();
    if (this.#isNoted) remove(this.#note);
    this.#end();
    return isMade;
  }

  /** The mode of a new file in the folder, which the note has and the part has not. */
  #modeOfNew(): number | undefined {
    const { parts, folder } = this.#place;
    return parts.modeIn(folder, () => {
      if (!this.#isNoted) this.#writeNote();
      return lookAt(this.#note, Deno.lstatSync)?.mode ?? undefined;
    });
  }

  release(): void {
    if (openParts.has(this) && !this.isKept) this.discard();
    else if (openParts.has(this) && !this.#isNoted) this.#noteAtEnd();
    this.#end();
  }

  /** Without a note a later call begins again, which is no reason to fail. */
  #noteAtEnd(): void {
    try {
      this.#writeNote();
    } catch {
      // The disk is full.
    }
  }

  discard(): void {
    if (!openParts.has(this)) return;
    if (this.#mayHaveNote) remove(this.#note);
    remove(this.#place.part);
    this.#end();
  }

  #end(): void {
    if (openParts.delete(this)) this.#file.close();
  }
}

/** Removes what later downloads could not resume: for a process that is about to end. */
export function discardUseless(): void {
  for (const part of openParts) part.release();
}

/** A device or a pipe: what was written cannot be read again. */
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

  finish(): Promise<boolean> {
    this.release();
    return Promise.resolve(true);
  }

  release(): void {
    if (this.#isOpen) this.#file.close();
    this.#isOpen = false;
  }

  discard(): void {
    this.release();
  }
}

function ended(): DOMException {
  return new DOMException("The download was ended", "AbortError");
}

/**
 * Gives a file its name. A link fails where a file is there already; renaming would replace that one.
 *
 * @param note Its note. It leaves before the part does: alone it would tell of the next part.
 * @returns Whether it has it.
 */
function moveUnlessThere(part: string, target: string, note: string | undefined): boolean {
  try {
    Deno.linkSync(part, target);
  } catch {
    if (lookAt(target, Deno.lstatSync)) return false;
    // Not every file system has links.
    Deno.renameSync(part, target);
    return true;
  }
  if (note !== undefined) remove(note);
  remove(part);
  return true;
}

/** Removes a part and its note. The note leaves first: alone it would tell of the next part. */
function removePart(part: string): void {
  remove(`${part}.json`);
  remove(part);
}

function alreadyThere(path: string): ConfigError {
  return refused(path, "it is there already", [
    { inProgram: 'pass ifExists: "replace"', inTerminal: "use --if-exists replace" },
    ", or ",
    "name another file",
  ]);
}

function isFolder(path: string): ConfigError {
  return refused(path, "it is a folder", "name a file");
}

/** The error of a place where nothing can be saved. */
function refused(path: string, why: string, fix: Fix, cause?: unknown): ConfigError {
  return new ConfigError("INVALID_SETTING", `Cannot save ${path}: ${why}`, fix, cause);
}

/** Runs what uses the disk, and puts its errors into words. */
function guarded<T>(path: string, work: () => T): T {
  try {
    return work();
  } catch (error) {
    throw reasonOf(path, error);
  }
}

interface DiskError {
  readonly pattern: RegExp;
  readonly problem: string;
  readonly fix: string;
  /** Whether other files cannot be saved either. */
  readonly forAll?: true;
}

/** What errors of the disk mean, by their codes and words. */
const DISK_ERRORS: readonly DiskError[] = [
  {
    pattern: /os error 123\b/,
    problem: "Windows allows no such name",
    fix: "name another file",
  },
  {
    pattern: /^(ENOSPC|EDQUOT) |no space|quota|os error 112\b/i,
    problem: "the disk is full",
    fix: "free some space and run it again",
    forAll: true,
  },
  {
    pattern: /^(ENOENT|ENOTDIR|EEXIST) |not a directory/,
    problem: "its folder cannot be made",
    fix: "name another one",
  },
  {
    pattern: /^(EACCES|EPERM|EROFS) |read-only/i,
    problem: "this user may not write there",
    fix: "name another folder",
  },
  {
    pattern: /^EFBIG |too large/i,
    problem: "the file is too large for this file system",
    fix: "name another place",
  },
];

/** Puts an error of the disk into words; another one is given back as it is. */
function reasonOf(path: string, error: unknown): unknown {
  if (error instanceof ConfigError || error instanceof DOMException) return error;
  if (error instanceof Deno.errors.NotCapable) {
    const folder = /^.*[\\/]/.exec(path)?.[0] ?? ".";
    const flags = `--allow-read=${folder} --allow-write=${folder}`;
    return missingPermission(`save ${path}`, { flags });
  }
  // The code, too: Windows words its errors in the user's language.
  const { code = "" } = error as { code?: string };
  const text = error instanceof Error ? `${code} ${error.message}` : "";
  const found = DISK_ERRORS.find(({ pattern }) => pattern.test(text));
  const { problem, fix } = found ??
    { problem: "the file system refused it", fix: "check the path and the space left" };
  const explained = refused(path, problem, fix, error);
  if (found?.forAll) ofAllFiles.add(explained);
  return explained;
}

const ofAllFiles = new WeakSet<object>();

/** Whether no other file can be saved either: the disk is full. */
export function concernsAllFiles(error: object): boolean {
  return ofAllFiles.has(error);
}
