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
} from "../settings/env_file.ts";
import { ConfigError } from "../errors/errors.ts";
import { accountOf } from "../platform/claims.ts";
import { infoAt } from "../platform/file_info.ts";
import { Secret } from "../platform/secret.ts";
import { makeTokens, type Tokens } from "../provider/tokens.ts";
import type { FileLock } from "../platform/lock.ts";
import { notSaved } from "./notices.ts";
import {
  type Change,
  type Lock,
  lockBusy,
  NOTHING,
  type Stored,
  type StoredSession,
  type TokenStore,
  type Updated,
  type WaitOptions,
  type Write,
} from "./store.ts";
import { isOtherPrograms, linesOf, readStored, TOKEN_KEYS } from "./stored_tokens.ts";

/** Stores a session in a `.env`, so that other processes can use it. */
export class EnvStore implements TokenStore {
  /** The content of the last read or write. */
  #last: Stored | undefined;
  /** The token lines of `#last`. If the file has others, another program changed the file. */
  #lines = new Secret("");

  constructor(private readonly path: string, private readonly session: StoredSession) {}

  get place() {
    return { envFile: this.path };
  }

  peek(): Stored {
    // At the first use, the settings have just read the file. Later, their snapshot may be outdated.
    const { file } = this.session.configuration.settings;
    return this.#take(this.#last === undefined ? file : readEnvFile(this.path));
  }

  async update(wait: WaitOptions, change: Change): Promise<Updated> {
    const { world } = this.session.configuration;
    const mayCreate = !wait.onlyRemoves || readEnvFile(this.path).exists;
    const { file, lock } = await lockEnvFile(this.path, wait.ms, world, wait.signal, mayCreate);
    try {
      const before = await readSettledEnvFile(this.path);
      const now = this.#take(before);
      const write = await change(now, lockOf(lock.state));
      // While `change` ran, the session may have adopted later content of the file.
      const adopted = this.#last ?? now;
      if (write === undefined) return { stored: adopted };
      return await this.#write(file, before, adopted, write, lock.state === "held");
    } finally {
      lock.release();
    }
  }

  async #write(
    file: EnvFile,
    before: EnvSnapshot,
    adopted: Stored,
    { tokens, isFinal }: Write,
    locked: boolean,
  ): Promise<Updated> {
    const lines = linesOf(tokens);
    let found = adopted;
    if (isFinal) removeLeftOvers(file);
    try {
      // A logout needs no write if the file contains no tokens, so the file may be read-only.
      if (tokens !== undefined || !this.#containsNone(before)) {
        const accept = (values: EnvSnapshot["values"]) => {
          found = this.#storedIn(values);
          return isFinal || found === adopted;
        };
        const mode = await updateEnvFile(file, lines, locked, { before, accept });
        if (!isFinal && found !== adopted) return { stored: found };
        this.#reportMode(mode);
      }
    } catch (error) {
      if (!(error instanceof ConfigError)) throw error;
      this.session.notices.clear("FILE_UNREADABLE");
      if (tokens !== undefined) this.session.notices.replace({ NOT_SAVED: notSaved(error) });
      return { stored: found, problem: error };
    }
    this.session.notices.clear("FILE_UNREADABLE", "NOT_SAVED");
    this.#lines = tokenLines(lines);
    return { stored: this.#last = { tokens } };
  }

  /**
   * Reads the session in a snapshot. If the file is missing, unreadable or being written, the
   * session in memory continues.
   */
  #take(now: EnvSnapshot): Stored {
    const { exists, problem, values } = now;
    const isUnknown = !exists || problem !== undefined || isBeingWritten(now);
    if (this.#last !== undefined && isUnknown) return this.#last;
    if (problem) this.session.notices.set("FILE_UNREADABLE", problem.problem, problem.fix);
    return this.#storedIn(values);
  }

  /**
   * Returns the session in the lines. Returns `#last` itself if the token lines have not changed.
   */
  #storedIn(values: ReadonlyMap<string, string>): Stored {
    const lines = tokenLines(values);
    if (this.#last !== undefined && lines.reveal() === this.#lines.reveal()) return this.#last;
    const tokens = this.#tokensIn(values);
    this.#lines = lines;
    return this.#last = tokens === undefined ? { ...NOTHING } : { tokens };
  }

  #tokensIn(values: ReadonlyMap<string, string>): Tokens | undefined {
    const { issuer, settings, world } = this.session.configuration;
    if (isOtherPrograms(values, settings)) {
      this.session.notices.set(
        "STORED_IGNORED",
        `ACCESS_TOKEN in ${this.path} seems to belong to another program and is ignored`,
        "set AUTH_ENV_FILE (envFile) to another file, because a login overwrites ACCESS_TOKEN",
      );
      return undefined;
    }
    const { user } = settings.trust;
    // A session that this process obtained for the user may have another name in its token.
    const known = accountOf(this.#last?.tokens?.claims ?? {});
    const names = user === undefined ? undefined : [user, ...(known === undefined ? [] : [known])];
    const { parts, note } = readStored((key) => values.get(key), "file", issuer, names);
    this.session.notices.replace({ STORED_IGNORED: note });
    return parts && makeTokens(parts, world);
  }

  #containsNone({ problem, values }: EnvSnapshot): boolean {
    return problem === undefined &&
      (isOtherPrograms(values, this.session.configuration.settings) ||
        !TOKEN_KEYS.some((key) => values.has(key)));
  }

  /** @param before The mode before the save; `undefined` if the file is new. */
  #reportMode(before: number | undefined): void {
    const wasPrivate = before !== undefined && !grantsOthers(before);
    const isOpen = !wasPrivate && grantsOthers(infoAt(this.path)?.mode);
    this.session.notices.replace({
      FILE_IS_OPEN: isOpen ? openFile(this.path) : undefined,
      FILE_WAS_OPEN: !isOpen && grantsOthers(before)
        ? {
          problem: `${this.path} could be read by other users of this computer`,
          fix: "the file is private now",
        }
        : undefined,
    });
  }
}

function lockOf(state: FileLock["state"]): Lock {
  if (state !== "busy") return { isHeld: state === "held" };
  return { isHeld: false, problem: lockBusy(".env"), isOptional: true };
}

function tokenLines(values: ReadonlyMap<string, string | undefined>): Secret {
  return new Secret(TOKEN_KEYS.map((key) => values.get(key) ?? "").join("\n"));
}
