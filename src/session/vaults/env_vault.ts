import {
  type EnvFile,
  type EnvSnapshot,
  grantsOthers,
  isBeingWritten,
  lockEnvFile,
  openFile,
  readEnvFile,
  readSettledEnvFile,
  removeLeftOvers,
  updateEnvFile,
} from "../../settings/env_file.ts";
import { ConfigError } from "../../errors/errors.ts";
import { infoAt } from "../../files/file_info.ts";
import type { FileLock } from "../../files/lock.ts";
import { isOtherPrograms, linesIn, sameLines, TOKEN_KEYS } from "../stored_tokens.ts";
import {
  type Lines,
  type Lock,
  lockBusy,
  type LockWait,
  type StoredSession,
  type Vault,
  type Written,
} from "./vault.ts";

/** Keeps a session in a `.env`, so that other processes can use it. */
export class EnvVault implements Vault {
  /** The lines that were read or written last. A file that is missing for a moment changes nothing. */
  last: Lines = {};
  #isRead = false;

  constructor(readonly path: string, readonly session: StoredSession) {}

  get place() {
    return { envFile: this.path };
  }

  peek(): Lines | undefined {
    if (this.#isRead) return this.note(readEnvFile(this.path));
    this.#isRead = true;
    // The settings have just read the file.
    const { settings: { file } } = this.session.configuration;
    this.session.notices.set({ FILE_UNREADABLE: file.problem });
    return this.note(file);
  }

  async lock({ ms, signal, onlyRemoves }: LockWait): Promise<Lock> {
    const { world } = this.session.configuration;
    const mayCreate = !onlyRemoves || readEnvFile(this.path).exists;
    const { file, lock } = await lockEnvFile(this.path, ms, world, signal, mayCreate);
    const before = await readSettledEnvFile(this.path);
    return new EnvLock(this, file, lock, before);
  }

  /**
   * Remembers and returns the session's lines in a file; `undefined` if the file is missing, cannot
   * be read, or is being written by an editor.
   */
  note(file: EnvSnapshot): Lines | undefined {
    if (!file.exists || file.problem !== undefined || isBeingWritten(file)) return undefined;
    return this.last = linesIn((key) => file.values.get(key));
  }
}

class EnvLock implements Lock {
  readonly isHeld: boolean;
  readonly problem;
  readonly isOptional = true;

  now: Lines | undefined;
  /** The lines that this process read last. A refresh replaces no other lines. */
  #expected: Lines;

  constructor(
    private readonly vault: EnvVault,
    private readonly file: EnvFile,
    private readonly lock: FileLock,
    private before: EnvSnapshot,
  ) {
    this.isHeld = lock.state === "held";
    this.problem = lock.state === "busy" ? lockBusy(".env") : undefined;
    this.now = vault.note(before);
    this.#expected = vault.last;
  }

  async read(): Promise<Lines | undefined> {
    this.before = await readSettledEnvFile(this.vault.path);
    this.now = this.vault.note(this.before);
    this.#expected = this.now ?? this.#expected;
    return this.now;
  }

  async write(lines: Lines, isFinal: boolean): Promise<Written> {
    const { vault, now = {} } = this;
    const { notices, configuration: { settings } } = vault.session;
    let found = this.#expected;
    const isWanted = () => isFinal || sameLines(found, this.#expected);
    const accept = (values: EnvSnapshot["values"]) => {
      found = linesIn((key) => values.get(key));
      return isWanted();
    };
    const containsNone = this.before.problem === undefined &&
      (Object.keys(now).length === 0 || isOtherPrograms(now, settings));
    if (isFinal) removeLeftOvers(this.file);
    // From here on, `NOT_SAVED` says what is wrong with the file.
    notices.set({ FILE_UNREADABLE: undefined });
    try {
      // A logout needs no write if the file contains no tokens, so the file may be read-only.
      if (Object.keys(lines).length > 0 || !containsNone) {
        const changes = new Map(TOKEN_KEYS.map((key) => [key, lines[key]]));
        const { file, before, isHeld } = this;
        const mode = await updateEnvFile(file, changes, isHeld, { before, accept });
        if (!isWanted()) return { found };
        this.#reportMode(mode);
      }
    } catch (error) {
      if (!(error instanceof ConfigError)) throw error;
      return { found: this.before.problem ? undefined : found, problem: error };
    }
    return { found: vault.last = lines };
  }

  /** @param before The mode before the save; `undefined` if the file is new. */
  #reportMode(before: number | undefined): void {
    const wasPrivate = before !== undefined && !grantsOthers(before);
    const isOpen = !wasPrivate && grantsOthers(infoAt(this.vault.path)?.mode);
    this.vault.session.notices.set({
      FILE_IS_OPEN: isOpen ? openFile(this.vault.path) : undefined,
      FILE_WAS_OPEN: !isOpen && grantsOthers(before)
        ? {
          problem: `${this.vault.path} was readable by other users of this computer`,
          fix: "the file is private now",
        }
        : undefined,
    });
  }

  [Symbol.asyncDispose](): Promise<void> {
    this.lock.release();
    return Promise.resolve();
  }
}
