/** Starts processes that share a session. When run as a script, this file is such a process. */
import { AuthError, createSession, type Session, type SessionOptions } from "../../../mod.ts";
import { openSqlite, type SqliteFile } from "../../support/sqlite_store.ts";
import { TextLineStream } from "../../support/text_lines.ts";

/** What a process reports about its calls. */
export interface Report {
  /** The number of responses by status, and of errors by code. */
  readonly outcomes: Record<string, number>;
  /** SHA-256 of each token that went to the API. */
  readonly tokens: string[];
  readonly warnings: string[];
}

export interface ClientProcess {
  /** Resolves when the process waits for `go()` or, with `churn`, after its first login. */
  readonly ready: Promise<void>;
  /** Lets the process make its calls. */
  go(): Promise<void>;
  /** The report that the process prints after its calls. */
  readonly report: Promise<Report>;
  kill(signal: Deno.Signal): void;
  readonly ended: Promise<Deno.CommandStatus>;
}

/** The options of a session, which may be in a SQLite file. */
export type ClientOptions = SessionOptions & { readonly sqlite?: SqliteFile };

/** The session of a process with these options. */
export async function sessionWith({ sqlite, ...options }: ClientOptions): Promise<Session> {
  return createSession({ ...options, ...(sqlite && { store: await openSqlite(sqlite) }) });
}

/**
 * Starts a process with a session.
 *
 * - `call`: waits for `go()`, makes that many calls at once, and reports
 * - `churn`: logs in, refreshes and saves without pause until it is killed
 */
export function startClient(
  work: "call" | "churn",
  options: ClientOptions,
  calls = 0,
): ClientProcess {
  const child = new Deno.Command(Deno.execPath(), {
    args: [
      ...["run", "--quiet", "--no-prompt", "-A"],
      ...[import.meta.url, work, JSON.stringify(options), `${calls}`],
    ],
    stdin: "piped",
    stdout: "piped",
    stderr: "inherit",
  }).spawn();
  const lines = child.stdout.pipeThrough(new TextLineStream()).getReader();
  const commands = child.stdin.getWriter();
  const ready = lines.read().then(({ value }) => {
    if (value !== "ready") throw new Error("the process ended before it was ready");
  });
  const report = Promise.withResolvers<Report>();
  return {
    ready,
    async go() {
      await ready;
      await commands.write(new TextEncoder().encode("go\n"));
      lines.read().then(({ value }) => report.resolve(JSON.parse(value ?? "null")))
        .catch(report.reject);
    },
    report: report.promise,
    kill: (signal) => child.kill(signal),
    ended: child.status.finally(async () => {
      await commands.close().catch(() => {});
      await lines.cancel();
    }),
  };
}

async function digest(text: string): Promise<string> {
  const bytes = await crypto.subtle.digest("SHA-256", new TextEncoder().encode(text));
  return new Uint8Array(bytes).toHex();
}

async function call(session: Session, calls: number): Promise<Report> {
  const used = new Set<string>();
  const plain = globalThis.fetch;
  globalThis.fetch = (input, init) => {
    const token = new Headers(init?.headers).get("authorization");
    if (token !== null) used.add(token);
    return plain(input, init);
  };
  session.status();
  console.log("ready");
  const lines = Deno.stdin.readable.pipeThrough(new TextLineStream()).getReader();
  await lines.read();
  await lines.cancel();
  const outcomes: Record<string, number> = {};
  const one = async () => {
    const outcome = await session.authFetch("/v1/whoami").then(async (answer) => {
      await answer.body?.cancel();
      return String(answer.status);
    }, (error) => error instanceof AuthError ? error.code : String(error));
    outcomes[outcome] = (outcomes[outcome] ?? 0) + 1;
  };
  await Promise.all(Array.from({ length: calls }, one));
  const tokens = await Promise.all([...used].map(digest));
  return { outcomes, tokens, warnings: session.status().warnings };
}

async function churn(session: Session): Promise<never> {
  await session.login({ force: true });
  console.log("ready");
  for (let round = 1;; round++) {
    if (round % 3 === 0) await session.login({ force: true });
    else await session.refresh();
  }
}

if (import.meta.main) {
  const [work, options = "", calls] = Deno.args;
  const session = await sessionWith(JSON.parse(options));
  if (work === "churn") await churn(session);
  console.log(JSON.stringify(await call(session, Number(calls))));
}
