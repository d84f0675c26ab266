import { onAbort } from "../platform/abort.ts";
import { networkReason } from "../platform/transport.ts";
import { loadPackage } from "../platform/packages.ts";
import type { StoreAddress } from "./store_address.ts";

const CLIENT = "npm:@redis/client@6.3.1";

/** The methods of the client package that this file uses. */
interface Client {
  connect(): Promise<unknown>;
  eval(script: string, options: { keys: string[]; arguments: string[] }): Promise<unknown>;
  on(event: "connect", listener: () => void): unknown;
  on(event: "error", listener: (error: Error) => void): unknown;
  destroy(): void;
}

interface Package {
  createClient(options: {
    url: string;
    socket: { connectTimeout: number; reconnectStrategy: false };
    maintNotifications: "disabled";
  }): Client;
  /** The client's error for a connection that was not established in time. */
  readonly ConnectionTimeoutError: new () => Error;
}

interface Details {
  readonly cause?: unknown;
  /** The next step for the user. Default: start the store or correct its address. */
  readonly fix?: string | undefined;
  /** Whether further attempts are useless until a user changes something. */
  readonly isPermanent?: boolean | undefined;
}

/**
 * The error of a request to the store. The store may have carried out the request nevertheless; a
 * later request shows whether it did.
 */
export class Unreachable extends Error {
  override name = "Unreachable";

  constructor(why: string, readonly details: Details = {}) {
    super(why, { cause: details.cause });
  }
}

/**
 * Time limit of one request, including the connection. The limit is short, because a retry opens a
 * new connection, which may reach another server.
 */
const ANSWER_MS = 2_000;
/**
 * Time limit of a request whose signal has already aborted. Such a request is still sent, because
 * the process may have been suspended until the abort.
 */
const BRIEF_MS = 200;

/** @throws {ConfigError} `PACKAGE_UNAVAILABLE` if the client cannot be loaded. */
export async function loadClient(host: string): Promise<Package> {
  return await loadPackage(`use the store at ${host}`, CLIENT);
}

/**
 * Runs a script on the server. Connects for this request only: an open connection could fail
 * between calls or keep a program from ending.
 *
 * @throws {Unreachable} If the store cannot be reached, refuses the request or does not respond
 * before the signal aborts.
 * @throws {ConfigError} `PACKAGE_UNAVAILABLE` if the client is not in Deno's cache and cannot be
 * fetched.
 */
export async function run(
  { url, host }: StoreAddress,
  script: string,
  keys: readonly string[],
  words: readonly string[],
  signal: AbortSignal,
): Promise<unknown> {
  const { createClient, ConnectionTimeoutError } = await loadClient(host);
  const client = createClient({
    url: url.href,
    socket: { connectTimeout: ANSWER_MS, reconnectStrategy: false },
    // Otherwise connections over TLS fail under Deno.
    maintNotifications: "disabled",
  });
  const connected = Promise.withResolvers<void>();
  const failed = Promise.withResolvers<never>();
  client.on("connect", connected.resolve);
  // Without a listener, an error would end the process.
  client.on("error", failed.reject);
  const tooLate = () => new Unreachable("the server did not respond in time");
  const limits = signal.aborted
    ? [AbortSignal.timeout(BRIEF_MS)]
    : [AbortSignal.timeout(ANSWER_MS), signal];
  const stops = limits.map((limit) => onAbort(limit, () => failed.reject(tooLate())));
  const reply = client.connect()
    .then(() => client.eval(script, { keys: [...keys], arguments: [...words] }));
  try {
    return await Promise.race([reply, failed.promise]);
  } catch (error) {
    throw error instanceof ConnectionTimeoutError ? tooLate() : unreachable(error, keys);
  } finally {
    for (const stop of stops) stop();
    // The client does not close a connection that is still being established.
    connected.promise.then(() => close(client));
  }
}

function close(client: Client): void {
  try {
    client.destroy();
  } catch {
    // The connection was already closed.
  }
}

/** An error that the server may return. */
interface KnownError {
  readonly pattern: RegExp;
  readonly problem: string;
  /**
   * The next step for the user, or a function that makes it from the names of the session's keys.
   */
  readonly fix: string | ((keys: readonly string[]) => string);
  readonly isPermanent?: true;
}

const NO_WRITES = "the server accepts no writes at the moment";

const KNOWN: readonly KnownError[] = [
  {
    pattern: /WRONGPASS|NOAUTH|ERR AUTH|unauthenticated/,
    problem: "the server does not accept the user name or the password in AUTH_STORE",
    fix: "correct both and try again",
    isPermanent: true,
  },
  {
    pattern: /NOPERM|user executing the script/,
    problem:
      "the server does not allow the user in AUTH_STORE to run a command that a session needs",
    fix: "grant this user the commands listed in docs/clusters.md, and try again",
    isPermanent: true,
  },
  {
    pattern: /ERR DB index/,
    problem: "the server has no database with the number in AUTH_STORE",
    fix: "correct the number after the port, such as 0 in host:6379/0, and try again",
    isPermanent: true,
  },
  {
    pattern: /WRONGTYPE/,
    problem: "a key of this session belongs to another program",
    fix: (keys) => `delete ${keys.join(" and ")} on the server, then log in again`,
    isPermanent: true,
  },
  {
    pattern: /READONLY|MASTERDOWN/,
    problem: NO_WRITES,
    fix: "set AUTH_STORE to the primary server instead of a replica, and try again",
  },
  {
    pattern: /OOM|MISCONF|LOADING/,
    problem: NO_WRITES,
    fix:
      "check in the server's log whether the server is starting or lacks memory or disk space, " +
      "and try again",
  },
];

/** The fix for a response that does not come from a Redis server. */
const CHECK_SERVER =
  "check that AUTH_STORE is the address of a Redis (6.2 or later) or Valkey server, and try again";

/** Makes the error for a response that does not come from a Redis server. */
export function notRedis(cause?: unknown): Unreachable {
  const problem = "the server at this address is not a Redis server";
  return new Unreachable(problem, { cause, fix: CHECK_SERVER });
}

/**
 * Explains an error of the client. The client's own message is not shown, because it may contain
 * the address with a password.
 */
function unreachable(error: unknown, keys: readonly string[]): Unreachable {
  if (error instanceof Unreachable) return error;
  const message = error instanceof Error ? error.message : "";
  // An error of the server begins with a word in capital letters.
  const name = /^([A-Z]{3,})\b/.exec(message)?.[1];
  if (name === undefined) {
    // The client fails with all kinds of errors if it cannot read the server's response.
    const { isKnown, mayPass, words, fix } = networkReason(error);
    const details = { cause: error, fix, isPermanent: !mayPass };
    return isKnown ? new Unreachable(words, details) : notRedis(error);
  }
  const known = KNOWN.find(({ pattern }) => pattern.test(message));
  if (known) {
    const { fix } = known;
    const details = { ...known, fix: typeof fix === "function" ? fix(keys) : fix };
    return new Unreachable(known.problem, details);
  }
  return new Unreachable(`the server returned the error ${name}`, { fix: CHECK_SERVER });
}
