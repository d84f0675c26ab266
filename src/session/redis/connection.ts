/**
 * A session shared through a Redis or Valkey server. Loaded only if `AUTH_STORE` is set. May import what
 * `session/` may, and its parent folder.
 */
import { networkReason } from "../../platform/transport.ts";
import { loadPackage } from "../../platform/packages.ts";
import type { World } from "../../platform/world.ts";

/** The client. */
const CLIENT = "npm:@redis/client@5.12.1";

/** What is used of the client. */
interface Client {
  connect(): Promise<unknown>;
  eval(script: string, options: { keys: string[]; arguments: string[] }): Promise<unknown>;
  subscribe(channel: string, listener: () => void): Promise<void>;
  on(event: "error", listener: (error: Error) => void): unknown;
  destroy(): void;
}

interface Package {
  createClient(options: {
    url: string;
    socket: { connectTimeout: number; reconnectStrategy: false };
  }): Client;
  /** The error of a connection that was not made in the time for it. */
  readonly ConnectionTimeoutError: new () => Error;
}

/** What is told of a store that did not answer. */
interface Trouble {
  readonly cause?: unknown;
  /** What to do, where starting it or correcting its address does not help. */
  readonly fix?: string | undefined;
  /** Whether it stays until somebody does something: asking again is of no use. */
  readonly stays?: boolean | undefined;
}

/** The store did not answer. What it had was not changed by that, or will be found there. */
export class Unreachable extends Error {
  override name = "Unreachable";
  readonly fix: string | undefined;
  readonly stays: boolean;

  constructor(why: string, { cause, fix, stays = false }: Trouble = {}) {
    super(why, { cause });
    this.fix = fix;
    this.stays = stays;
  }
}

/** No answer came in the time that there was, which says little of why. */
export class TooLate extends Unreachable {}

const NO_ANSWER = "it did not answer in time";

/** Says when something is heard on a channel. */
export interface Listening extends Disposable {
  /** Resolves when the next thing is heard, or the connection is lost. */
  next(): Promise<void>;
}

/**
 * The way to a store. A connection is made for each need and closed after it: nothing is left open
 * between calls that could fail, or keep a script from ending.
 */
export class Connection {
  readonly #url: URL;
  readonly #package: Package;
  readonly #timeout: World["timeout"];

  private constructor(url: URL, found: Package, timeout: World["timeout"]) {
    this.#url = url;
    this.#package = found;
    this.#timeout = timeout;
  }

  /**
   * @throws {ConfigError} `PACKAGE_UNAVAILABLE` if the client is not in Deno's cache and cannot be
   * fetched.
   */
  static async to(
    url: URL,
    timeout: World["timeout"] = AbortSignal.timeout,
  ): Promise<Connection> {
    const found: Package = await loadPackage("use AUTH_STORE", CLIENT);
    return new Connection(url, found, timeout);
  }

  /**
   * Runs a script.
   *
   * @param limitMs How long it may take in all.
   * @throws {Unreachable} If there was no answer in time.
   */
  async run(
    script: string,
    keys: string[],
    words: string[],
    limitMs: number,
  ): Promise<unknown> {
    return await this.#use(limitMs, undefined, async (client) => {
      const answer = await client.eval(script, { keys, arguments: words });
      client.destroy();
      return answer;
    });
  }

  /** Listens on a channel until it is disposed. @throws {Unreachable} */
  async listen(channel: string, limitMs: number, signal?: AbortSignal): Promise<Listening> {
    let heard = Promise.withResolvers<void>();
    const hear = () => {
      heard.resolve();
      heard = Promise.withResolvers();
    };
    return await this.#use(limitMs, signal, async (client) => {
      client.on("error", hear);
      await client.subscribe(channel, hear);
      return { next: () => heard.promise, [Symbol.dispose]: () => end(client) };
    });
  }

  async #use<T>(
    limitMs: number,
    signal: AbortSignal | undefined,
    work: (client: Client) => Promise<T>,
  ): Promise<T> {
    const ms = Math.max(1, Math.ceil(limitMs));
    // The client cannot end a connection that is being made: only this time does.
    const socket = { connectTimeout: ms, reconnectStrategy: false } as const;
    const { createClient, ConnectionTimeoutError } = this.#package;
    const client = createClient({ url: this.#url.href, socket });
    const explained = (error: unknown) =>
      error instanceof ConnectionTimeoutError ? new TooLate(NO_ANSWER) : unreachable(error);
    const failed = Promise.withResolvers<never>();
    // Without a listener an error ends the process.
    client.on("error", (error) => failed.reject(explained(error)));
    const limit = this.#timeout(ms);
    const late = () => failed.reject(new TooLate(NO_ANSWER));
    limit.addEventListener("abort", late);
    const abort = () => failed.reject(signal?.reason);
    signal?.addEventListener("abort", abort);
    try {
      const done = client.connect().then(() => work(client)).catch((error) => {
        throw explained(error);
      });
      return await Promise.race([done, failed.promise]);
    } catch (error) {
      end(client);
      throw error;
    } finally {
      limit.removeEventListener("abort", late);
      signal?.removeEventListener("abort", abort);
    }
  }
}

function end(client: Client): void {
  try {
    client.destroy();
  } catch {
    // It has ended.
  }
}

/** What the server answered, and what that means. */
interface KnownAnswer {
  readonly says: RegExp;
  readonly words: string;
  readonly fix: string;
  readonly stays?: true;
}

const NO_WRITES = "it takes no writes at the moment";

const KNOWN: readonly KnownAnswer[] = [
  {
    says: /WRONGPASS|NOAUTH|ERR AUTH|unauthenticated/,
    words: "it does not accept the user or password of AUTH_STORE",
    fix: "correct the user and the password in AUTH_STORE, and try again",
    stays: true,
  },
  {
    says: /NOPERM/,
    words: "its user may not run what is needed there",
    fix: "grant that user the commands that docs/clusters.md lists, and try again",
    stays: true,
  },
  {
    says: /ERR DB index/,
    words: "it has no database of this number",
    fix: "correct the number at the end of AUTH_STORE, such as /0, and try again",
    stays: true,
  },
  {
    says: /OOM/,
    words: NO_WRITES,
    fix: "free memory there, or raise its maxmemory, and try again",
  },
  {
    says: /READONLY|MASTERDOWN/,
    words: NO_WRITES,
    fix: "name the primary in AUTH_STORE, not a replica, and try again",
  },
  {
    says: /MISCONF/,
    words: NO_WRITES,
    fix: "see in its log why it cannot save its data, such as a full disk, and try again",
  },
  {
    says: /LOADING/,
    words: NO_WRITES,
    fix: "wait until it has loaded its data, and try again",
  },
];

/** What to do about an answer that no store of ours gives. */
export const CHECK_SERVER =
  "check that AUTH_STORE names a Redis (6.2 or later) or Valkey server, and try again";

/** The client's own words may hold the address, and that a password. */
function unreachable(error: unknown): Unreachable {
  if (error instanceof Unreachable) return error;
  const message = error instanceof Error ? error.message : "";
  // What the server answers begins with a word in capitals.
  const answered = /^([A-Z]{3,})\b/.exec(message)?.[1];
  if (answered === undefined) {
    const { isKnown, words, fix } = networkReason(error);
    const why = isKnown ? words : "the connection was refused or broke";
    return new Unreachable(why, { cause: error, fix });
  }
  const known = KNOWN.find(({ says }) => says.test(message));
  if (known) return new Unreachable(known.words, known);
  return new Unreachable(`it answered with the error ${answered}`, { fix: CHECK_SERVER });
}
