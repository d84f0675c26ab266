import type { Answer, Given } from "../command.ts";
import { readList } from "../download_list.ts";
import { CommandLineError, FAILED, UsageError } from "../failure.ts";
import { readInput } from "../input.ts";
import { asJson, print, say, warn, writeOut } from "../output.ts";
import { logInUnasked } from "../unasked_login.ts";
import { fixOfStatus } from "../../api/checked_call.ts";
import type { DownloadOptions } from "../../api/download.ts";
import type { DownloadAllOptions, DownloadItem } from "../../api/download_all.ts";
import { discardUseless } from "../../api/part.ts";
import type { IfExists } from "../../api/target.ts";
import { canBeSent } from "../../api/headers.ts";
import { authFetch, download, downloadAll, status } from "../../default_session.ts";
import { ApiError } from "../../errors/errors.ts";
import { jsonText } from "../../errors/escape.ts";
import { retryAfterMs } from "../../platform/backoff.ts";
import { liveLine } from "../../platform/live_line.ts";
import { cleanUpAtExit } from "../../platform/signals.ts";

interface FetchOptions {
  readonly method: string;
  readonly header: readonly string[];
  readonly data: string;
  readonly output: string;
  readonly "if-exists": IfExists;
  readonly list: string;
  readonly "output-dir": string;
  readonly concurrency: string;
}

export async function run(
  { word: target, options, envFile, json }: Given<FetchOptions>,
): Promise<Answer> {
  const { list, "output-dir": folder, concurrency, "if-exists": ifExists } = options;
  const output = options.output === "-" ? undefined : options.output;
  if ((target === undefined) === (list === undefined)) {
    throw misuse("fetch takes one path or URL, or --list");
  }
  if (list === undefined && (folder ?? concurrency) !== undefined) {
    throw misuse("--output-dir and --concurrency belong to --list");
  }
  if (list === undefined && output === undefined && ifExists !== undefined) {
    throw misuse("--if-exists belongs to --output with a file, or to --list");
  }
  const body = await readBody(options.data);
  const method = options.method ?? (body === undefined ? "GET" : "POST");
  const headers = (options.header ?? []).map(splitHeader);
  const init: RequestInit = { method, headers, ...(body !== undefined && { body }) };
  refuseUnsendable(method, headers, body !== undefined, output !== undefined);
  const saving = { init, ...(ifExists && { ifExists }) };
  if (list !== undefined) {
    const items = await readList(list, folder ?? ".");
    const count = countOf(concurrency);
    await logInUnasked(envFile);
    return await saveAll(items, { ...saving, concurrency: count });
  }
  await logInUnasked(envFile);
  return output === undefined
    ? await show(target ?? "", init, json)
    : await save(target ?? "", output, saving);
}

function misuse(problem: string): UsageError {
  return new UsageError(problem, "see: platform-auth fetch --help");
}

/** Prints the response: as it is, or indented in a terminal if it is JSON. */
async function show(target: string, init: RequestInit, json: boolean): Promise<Answer> {
  const response = await authFetch(target, init);
  // Before the body, which may end without a line break.
  warn(status());
  const isTerminal = Deno.stdout.isTerminal();
  const type = response.headers.get("content-type") ?? "";
  if (json) {
    const headers = Object.fromEntries(response.headers);
    const body = parsed(await textOf(response));
    await print(jsonText({ status: response.status, headers, body }, 2));
  } else if (isTerminal && /^application\/(?:[\w.-]+\+)?json\b/i.test(type)) {
    const body = parsed(await textOf(response));
    await print(typeof body === "string" ? body : jsonText(body, 2));
  } else {
    await printBody(response, isTerminal || !response.ok);
  }
  if (!response.ok) throw statusError(response, init.method ?? "GET");
  return {};
}

/** @param endsLine So that the prompt, or an error, starts on a line of its own. */
async function printBody(response: Response, endsLine: boolean): Promise<void> {
  const lineBreak = "\n".charCodeAt(0);
  let last: number | undefined = lineBreak;
  for await (const piece of piecesOf(response)) {
    if (!await writeOut(piece)) return;
    last = piece.at(-1) ?? last;
  }
  if (last !== lineBreak && endsLine) await print("");
}

/** The body as it arrives. The runtime's own error says only that it ended early. */
async function* piecesOf(response: Response): AsyncGenerator<Uint8Array<ArrayBuffer>> {
  try {
    for await (const piece of response.body ?? []) yield piece;
  } catch (error) {
    if (!(error instanceof TypeError)) throw error;
    throw new CommandLineError("TypeError", "The response ended early", "try again");
  }
}

async function textOf(response: Response): Promise<string> {
  return await new Response(ReadableStream.from(piecesOf(response))).text();
}

function parsed(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return text;
  }
}

/** The same code and advice as in a program. The body, which has the API's own message, is printed. */
function statusError(response: Response, method: string): ApiError {
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

/** What was received when a signal ends the process is kept if the next run can resume it. */
async function save(target: string, output: string, options: DownloadOptions): Promise<Answer> {
  using _ = cleanUpAtExit(stop);
  const { kept } = await download(target, output, options);
  warn(status());
  if (kept) say(`${output} exists already, and was kept`);
  return {};
}

/** What a signal does to downloads. After Ctrl-C the message starts on a line of its own. */
function stop(): void {
  discardUseless();
  if (!Deno.stderr.isTerminal()) return;
  liveLine()?.remove();
  say("stopped; run the same command again to resume");
}

async function saveAll(items: DownloadItem[], options: DownloadAllOptions): Promise<Answer> {
  using _ = cleanUpAtExit(stop);
  const found = await downloadAll(items, options);
  warn(status());
  const failed = found.failed.map(({ error, ...each }) => ({ ...each, error: asJson(error) }));
  return {
    value: { ...found, failed },
    text: Deno.inspect(found),
    status: found.counts.failed === 0 ? 0 : FAILED,
  };
}

function countOf(text: string = "4"): number {
  if (/^[1-9]\d{0,2}$/.test(text)) return Number(text);
  throw misuse("--concurrency takes a whole number from 1 to 999");
}

/** @throws {UsageError} For what the runtime and this module refuse, in the terms of the command line. */
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
    throw new UsageError("A response to HEAD has nothing to save", "leave out --output");
  }
  if (headers.some(([name]) => /^authorization$/i.test(name))) {
    throw new UsageError("The token is the authorization header", "leave that header out");
  }
}

function splitHeader(header: string): [string, string] {
  const colon = header.indexOf(":");
  const pair: [string, string] = [header.slice(0, colon).trim(), header.slice(colon + 1).trim()];
  if (colon > 0 && canBeSent([pair])) return pair;
  throw new UsageError('--header takes "name: value", in characters that a header may contain');
}

async function readBody(
  data: string | undefined,
): Promise<string | Uint8Array<ArrayBuffer> | undefined> {
  if (data === "-") return await readInput("--data", "-");
  return data?.startsWith("@") ? await readInput("--data", data.slice(1)) : data;
}
