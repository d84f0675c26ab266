import type { Answer, Given } from "../command.ts";
import { readList } from "../download_list.ts";
import { indentedJson } from "../indented_json.ts";
import { readInput, wholeNumber } from "../input.ts";
import { asJson, FAILED, print, say, UsageError, warn, writeOut } from "../output.ts";
import { logInUnasked } from "../unasked_login.ts";
import { strictText } from "../../api/charset.ts";
import type { CallErrors } from "../../api/call_errors.ts";
import type { DownloadOptions } from "../../api/download/download.ts";
import type { DownloadAllOptions } from "../../api/download/download_all.ts";
import type { DownloadItem } from "../../api/download/items.ts";
import { discardUseless, type IfExists } from "../../api/download/part.ts";
import { checkedFetch, download, downloadAll, status } from "../../default_session.ts";
import { bytesText } from "../../errors/amounts.ts";
import { ConfigError } from "../../errors/errors.ts";
import { jsonText, printable } from "../../errors/escape.ts";
import { liveLine } from "../../platform/live_line.ts";
import { cleanUpAtExit } from "../../platform/signals.ts";
import { parsedJson } from "../../platform/json.ts";

interface FetchOptions {
  readonly method: string;
  readonly header: readonly string[];
  readonly data: string;
  readonly include: boolean;
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
    throw misuse("fetch takes one path or URL, or --list with a file");
  }
  if (list === undefined && (folder ?? concurrency) !== undefined) {
    throw misuse("--output-dir and --concurrency can be used only with --list");
  }
  const body = await readBody(options.data);
  const method = options.method ?? (body === undefined ? "GET" : "POST");
  const headers = (options.header ?? []).map(splitHeader);
  const init: RequestInit = { method, headers, ...(body !== undefined && { body }) };
  const saving = { init, ifExists: ifExists ?? (list === undefined ? "error" : "keep") };
  if (list !== undefined) {
    const atOnce = wholeNumber("--concurrency", concurrency ?? "4");
    if (atOnce === 0) throw misuse("--concurrency takes a whole number from 1");
    const items = await readList(list, folder ?? ".");
    await logInUnasked(envFile);
    return await saveAll(items, { ...saving, concurrency: atOnce });
  }
  await logInUnasked(envFile);
  return output === undefined
    ? await show(target ?? "", init, json, options.include ?? false)
    : await save(target ?? "", output, saving);
}

function misuse(problem: string): UsageError {
  return new UsageError(problem, "see: platform-auth fetch --help");
}

/**
 * Prints the bytes of the response as they arrive. A terminal gets the whole body at once: JSON is
 * indented, and binary data is refused, because it could change the terminal's state.
 */
async function show(
  target: string,
  init: RequestInit,
  json: boolean,
  include: boolean,
): Promise<Answer> {
  const { response, error, callErrors } = await checkedFetch(target, init);
  // Warnings are printed before the body, which may end without a line break.
  warn(status());
  const pieces = piecesOf(response, callErrors);
  if (include) {
    const headers = [...response.headers].map(([name, value]) => printable(`${name}: ${value}`));
    const line = printable(`HTTP ${response.status} ${response.statusText}`).trim();
    await print([line, ...headers, ""].join("\n"));
  }
  if (!json && !Deno.stdout.isTerminal()) {
    await printPieces(pieces, error !== undefined);
    if (error) throw error;
    return {};
  }
  const bytes = await new Blob(await Array.fromAsync(pieces)).bytes();
  const text = strictText(bytes, response.headers);
  if (json) {
    if (text === undefined && error === undefined) throw callErrors.undecodable(response, bytes);
    const headers = Object.fromEntries(response.headers);
    const head = jsonText({ status: response.status, headers }, 2).replace(/\n\}$/, "");
    const body = text === undefined ? "" : `,\n  "body": ${indented(text, 1) ?? jsonText(text)}`;
    await print(`${head}${body}\n}`);
  } else {
    // No text contains a zero byte.
    if (bytes.includes(0)) throw error ?? binaryInTerminal();
    const lines = indented(text ?? "");
    await (lines === undefined ? printPieces([bytes], true) : print(lines));
  }
  if (error) throw error;
  return {};
}

/** Indents a JSON text; `undefined` if the text is not JSON. */
function indented(text: string, depth?: number): string | undefined {
  return parsedJson(text) === undefined ? undefined : indentedJson(text, depth);
}

type Bytes = Uint8Array<ArrayBuffer>;

function binaryInTerminal(): ConfigError {
  const problem = "Cannot print the response in a terminal: it is binary data";
  return new ConfigError("FILE", problem, "save it with -o and a file name");
}

/**
 * Reads a body. If the body breaks off, replaces the runtime's error, which does not name the call.
 */
async function* piecesOf(response: Response, errors: CallErrors): AsyncGenerator<Bytes> {
  try {
    yield* response.body ?? [];
  } catch (cause) {
    throw cause instanceof TypeError ? errors.brokenOff(response, cause) : cause;
  }
}

/**
 * @param endsLine Whether to end with a line break, so that the prompt or an error starts on a new
 * line.
 */
async function printPieces(
  pieces: Iterable<Bytes> | AsyncIterable<Bytes>,
  endsLine: boolean,
): Promise<void> {
  const lineBreak = "\n".charCodeAt(0);
  let last: number | undefined = lineBreak;
  try {
    for await (const piece of pieces) {
      if (!await writeOut(piece)) return;
      last = piece.at(-1) ?? last;
    }
  } finally {
    if (endsLine && last !== lineBreak) await print("");
  }
}

/**
 * Saves the response as a file. After a signal, the downloaded part is kept only if the next run
 * can resume it.
 */
async function save(target: string, output: string, options: DownloadOptions): Promise<Answer> {
  using _ = cleanUpAtExit(stop);
  const { kept, bytes, resumedFrom } = await download(target, output, options);
  warn(status());
  const resumed = resumedFrom === 0 ? "" : `, resumed at ${bytesText(resumedFrom)}`;
  say(
    kept
      ? `${output} already exists and was kept`
      : `saved ${output}, ${bytesText(bytes)}${resumed}`,
  );
  return {};
}

/**
 * Stops downloads after a signal. In a terminal, removes the progress line and prints how to
 * resume.
 */
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

function splitHeader(header: string): [string, string] {
  const colon = header.indexOf(":");
  if (colon < 1) throw misuse('--header takes "name: value"');
  return [header.slice(0, colon).trim(), header.slice(colon + 1).trim()];
}

async function readBody(
  data: string | undefined,
): Promise<string | Uint8Array<ArrayBuffer> | undefined> {
  if (data === "-") return await readInput("--data", "-");
  return data?.startsWith("@") ? await readInput("--data", data.slice(1)) : data;
}
