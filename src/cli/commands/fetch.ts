import { defineCommand } from "../command.ts";
import { logInUnasked } from "../unasked_login.ts";
import {
  CommandLineError,
  factsOf,
  FAILED,
  OK,
  print,
  printDownloads,
  printJson,
  report,
  say,
  UsageError,
  warn,
  writeOut,
} from "../output.ts";
import type { DownloadOptions } from "../../api/download.ts";
import { discardUseless, type IfExists } from "../../api/download_target.ts";
import type { DownloadAllOptions, DownloadItem } from "../../api/download_all.ts";
import { readList } from "../download_list.ts";
import { authFetch, download, downloadAll, status } from "../../default_session.ts";
import { liveLine } from "../../platform/live_line.ts";
import { cleanUpAtExit } from "../../platform/signals.ts";
import { fixOfStatus } from "../../api/checked_call.ts";
import { canBeSent } from "../../api/headers.ts";
import { ApiError, ConfigError } from "../../errors/errors.ts";
import { retryAfterMs } from "../../platform/backoff.ts";

const SEE = "see: platform-auth fetch --help";

export const command = defineCommand({
  summary: "call the API with the token",
  synonyms: ["get", "post", "curl", "call", "request", "http", "api", "query"],
  description: `Calls the API with the token and prints the answer or saves it. With --list it
saves many. Without a session it logs in by itself where user name and password
are set, in the .env or in the environment, but never into a shared store.

A list has a path or URL a line, and behind it the file if it is not to be named
as the last part of the path. A name may hold blanks; quotes around it are
taken off. Lines that begin with # are left out. Four are saved at once; what is
there already is kept. Run the same command again to resume.`,
  word: { name: "path or URL" },
  options: {
    method: {
      type: "string",
      short: "X",
      value: "<method>",
      help: "default GET, or POST with --data",
    },
    header: {
      type: "string",
      short: "H",
      multiple: true,
      value: "<header>",
      help: '"name: value"; may be given several times',
    },
    data: {
      type: "string",
      short: "d",
      mayBeEmpty: true,
      value: "<text>",
      help: "the body; @file reads a file, - standard input",
    },
    output: {
      type: "string",
      short: "o",
      value: "<file>",
      help: "save there when the answer is whole; after a break the\n" +
        "same command resumes, and shows how far it is",
    },
    "if-exists": {
      type: "string",
      value: "<what>",
      help: "where the file is there already: error (default),\n" +
        "keep, which sends nothing (default of --list), or\n" +
        "replace",
    },
    list: {
      type: "string",
      value: "<file>",
      help: "save all that is listed there; - is standard input",
    },
    "output-dir": {
      type: "string",
      value: "<folder>",
      help: "where --list saves; default: the working folder",
    },
    at: { type: "string", value: "<count>", help: "how many of --list at once; default 4" },
    json: { type: "boolean", help: "print status, headers and body as JSON" },
  },
  either: [
    ["json", "output"],
    ["list", "output"],
    ["list", "data"],
    ["list", "method"],
  ],
  examples: [
    "platform-auth fetch /v1/stations",
    "platform-auth fetch /v1/stations/gull-harbor/observations.csv -o wind.csv",
    `platform-auth fetch /v1/annotations -d '{"text":"calm"}' \\
    -H "content-type: application/json"`,
    `ACCESS_TOKEN=… API_BASE_URL=https://api.example.com \\
    platform-auth fetch /v1/stations`,
    "platform-auth fetch --list urls.txt --output-dir data",
  ],
  async run({ word: target, options, envFile, json }) {
    const { list, output, "output-dir": folder, at } = options;
    if ((target === undefined) === (list === undefined)) {
      throw new UsageError("fetch takes one path or URL, or --list", SEE);
    }
    if (list === undefined && (folder ?? at) !== undefined) {
      throw new UsageError("--output-dir and --at belong to --list", SEE);
    }
    if (list === undefined && output === undefined && options["if-exists"] !== undefined) {
      throw new UsageError("--if-exists belongs to --output or --list", SEE);
    }
    const body = await readBody(options.data);
    const method = options.method ?? (body === undefined ? "GET" : "POST");
    const headers = (options.header ?? []).map(splitHeader);
    const init: RequestInit = { method, headers, ...(body !== undefined && { body }) };
    refuseUnsendable(method, headers, body !== undefined, output !== undefined);
    const ifExists = ifExistsOf(options["if-exists"]);
    const listed = list === undefined ? undefined : {
      items: await readList(list, folder ?? "."),
      options: { init, concurrency: countOf(at), ...(ifExists && { ifExists }) },
    };
    await logInUnasked(envFile);
    if (listed === undefined && output === undefined) return await show(target ?? "", init, json);
    const done = listed
      ? await saveAll(listed.items, listed.options, json)
      : await save(target ?? "", output ?? "", { init, ...(ifExists && { ifExists }) });
    warn(status());
    return done;
  },
});

/** Streams the answer to standard output. */
async function show(target: string, init: RequestInit, json: boolean): Promise<number> {
  const response = await authFetch(target, init);
  // Before the body, which may end without a line break.
  warn(status());
  if (json) await printWhole(response);
  else await printBody(response);
  return response.ok ? OK : report(answerError(response, init.method ?? "GET"), json);
}

/** As it is; on a terminal with a line break at its end, so that the prompt begins on a line of its own. */
async function printBody(response: Response): Promise<void> {
  const lineBreak = "\n".charCodeAt(0);
  let last: number | undefined = lineBreak;
  for await (const piece of piecesOf(response)) {
    if (!await writeOut(piece)) return;
    last = piece.at(-1) ?? last;
  }
  if (last !== lineBreak && Deno.stdout.isTerminal()) await print("");
}

/**
 * The same code and advice as in a program. The body, which has the API's own words, was printed
 * already.
 */
function answerError(response: Response, method: string): ApiError {
  const { status, headers } = response;
  const { origin, pathname } = new URL(response.url);
  const url = origin + pathname;
  const waitMs = retryAfterMs(headers, Date.now());
  const problem = `Cannot ${method} ${url}: the API answered ${status}`;
  return new ApiError("API_STATUS", problem, fixOfStatus(status, waitMs), {
    method,
    url,
    status,
    retryAfterSeconds: waitMs === undefined ? undefined : Math.ceil(waitMs / 1_000),
  });
}

/** What was fetched when a signal ends this stays, if the next call can resume it. */
async function save(target: string, output: string, options: DownloadOptions): Promise<number> {
  using _ = cleanUpAtExit(stop);
  const { kept } = await download(target, output, options);
  if (kept) say(`${output} is there already, and was kept`);
  return OK;
}

/** What a signal does to downloads. Whoever pressed Ctrl-C reads what comes of it on a line of its own. */
function stop(): void {
  discardUseless();
  if (!Deno.stderr.isTerminal()) return;
  liveLine()?.remove();
  say("stopped; run the same command again to resume");
}

/** Saves many. What was fetched when a signal ends this stays. */
async function saveAll(
  items: DownloadItem[],
  options: DownloadAllOptions,
  json: boolean,
): Promise<number> {
  using _ = cleanUpAtExit(stop);
  const found = await downloadAll(items, options);
  if (json) {
    const failed = found.failed.map(({ error, ...each }) => ({ ...each, error: factsOf(error) }));
    await printJson({ ...found, failed });
  } else {
    await printDownloads(found);
  }
  return found.counts.failed === 0 ? OK : FAILED;
}

function countOf(text: string = "4"): number {
  if (/^[1-9]\d{0,2}$/.test(text)) return Number(text);
  throw new UsageError("--at takes a whole number from 1 to 999");
}

function ifExistsOf(word: string | undefined): IfExists | undefined {
  if (word === undefined || word === "error" || word === "keep" || word === "replace") return word;
  throw new UsageError("--if-exists takes error, keep or replace");
}

/** The body as it comes in; the runtime's own error says no more than that it broke off. */
async function* piecesOf(response: Response): AsyncGenerator<Uint8Array<ArrayBuffer>> {
  try {
    for await (const piece of response.body ?? []) yield piece;
  } catch (error) {
    if (!(error instanceof TypeError)) throw error;
    throw new CommandLineError("TypeError", "The answer broke off", "try again");
  }
}

/** @throws {UsageError} For what the runtime refuses, and this module: a command line needs other words. */
function refuseUnsendable(
  method: string,
  headers: [string, string][],
  hasBody: boolean,
  isSaved: boolean,
): void {
  try {
    new Request("http://localhost", { method });
  } catch {
    throw new UsageError("--method takes one such as GET, POST or DELETE");
  }
  if (hasBody && /^(get|head)$/i.test(method)) {
    throw new UsageError(`${method} sends no body`, "leave out --data, or name another method");
  }
  if (isSaved && /^head$/i.test(method)) {
    throw new UsageError("HEAD gets nothing to save", "leave out --output");
  }
  if (headers.some(([name]) => /^authorization$/i.test(name))) {
    throw new UsageError("The token is the authorization header", "leave that header out");
  }
}

function splitHeader(header: string): [string, string] {
  const colon = header.indexOf(":");
  const pair: [string, string] = [header.slice(0, colon).trim(), header.slice(colon + 1).trim()];
  if (colon > 0 && canBeSent([pair])) return pair;
  throw new UsageError('--header takes "name: value", of characters that a header may have');
}

async function readBody(
  data: string | undefined,
): Promise<string | Uint8Array<ArrayBuffer> | undefined> {
  if (data === "-") return new Uint8Array(await new Response(Deno.stdin.readable).arrayBuffer());
  if (!data?.startsWith("@")) return data;
  try {
    return await Deno.readFile(data.slice(1));
  } catch (error) {
    const problem = `Cannot read ${data.slice(1)}`;
    throw new ConfigError("INVALID_SETTING", problem, "check the path", error);
  }
}

async function printWhole(response: Response): Promise<void> {
  const text = await new Response(ReadableStream.from(piecesOf(response))).text();
  let body: unknown = text;
  try {
    body = JSON.parse(text, withItsDigits);
  } catch {
    // not JSON: the text itself
  }
  const headers = Object.fromEntries(response.headers);
  await printJson({ status: response.status, headers, body });
}

/** Keeps what a number of JavaScript cannot hold, such as an id of 20 digits: it is printed as it came. */
function withItsDigits(_: string, value: unknown, context?: { readonly source: string }): unknown {
  if (typeof value !== "number" || context === undefined) return value;
  // The runtime has it, and its types do not.
  return (JSON as unknown as { rawJSON(text: string): unknown }).rawJSON(context.source);
}
