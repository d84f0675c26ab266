import { defineCommand } from "../command.ts";
import { logInFromEnvironment } from "../environment_login.ts";
import {
  CommandLineError,
  FAILED,
  LOGIN_NEEDED,
  OK,
  printJson,
  say,
  UsageError,
  warn,
  writeOut,
} from "../output.ts";
import type { DownloadOptions } from "../../download/download.ts";
import { discardUseless, type IfExists } from "../../download/download_target.ts";
import { authFetch, download, status } from "../../default_session.ts";
import { cleanUpAtExit } from "../../runtime/signals.ts";
import { ConfigError } from "../../errors/errors.ts";

export const command = defineCommand({
  summary: "call the API with the token",
  synonyms: ["get", "curl", "call"],
  description: "Calls the API with the token and prints the answer.",
  word: { name: "path or URL", required: true },
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
        "keep, which sends nothing, or replace",
    },
    json: { type: "boolean", help: "print status, headers and body as JSON" },
  },
  either: [["json", "output"]],
  examples: [
    "platform-auth fetch /v1/stations",
    'platform-auth fetch "/v1/stations/gull-harbor/observations.csv" --output observations.csv',
    `platform-auth fetch /v1/annotations -H "content-type: application/json" -d '{"text":"calm"}'`,
    "ACCESS_TOKEN=… platform-auth fetch https://api.example.com/v1/stations",
  ],
  async run({ word: target = "", options, envFile, json }) {
    await logInFromEnvironment(envFile);
    const body = await readBody(options.data);
    const init: RequestInit = {
      method: options.method ?? (body === undefined ? "GET" : "POST"),
      headers: (options.header ?? []).map(splitHeader),
    };
    if (body !== undefined) init.body = body;
    const { output } = options;
    const ifExists = ifExistsOf(options["if-exists"]);
    const done = output === undefined
      ? await show(target, init, json)
      : await save(target, output, { init, ifExists });
    warn(status());
    return done;
  },
});

/** Streams the answer to standard output. */
async function show(target: string, init: RequestInit, json: boolean): Promise<number> {
  const response = await authFetch(target, init);
  if (json) {
    await printWhole(response);
  } else {
    for await (const piece of piecesOf(response)) if (!await writeOut(piece)) break;
  }
  if (response.ok) return OK;
  const isRefused = response.status === 401;
  const next = isRefused ? "; run platform-auth login --force" : "";
  say(`the API answered ${response.status}${next}`);
  return isRefused ? LOGIN_NEEDED : FAILED;
}

/** What was fetched when a signal ends this stays, if the next call can resume it. */
async function save(target: string, output: string, options: DownloadOptions): Promise<number> {
  using _ = cleanUpAtExit(discardUseless);
  const { kept } = await download(target, output, options);
  if (kept) say(`${output} is there already, and was kept`);
  return OK;
}

function ifExistsOf(word: string = "error"): IfExists {
  if (word === "error" || word === "keep" || word === "replace") return word;
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

function splitHeader(header: string): [string, string] {
  const colon = header.indexOf(":");
  if (colon < 1) throw new UsageError('--header takes "name: value"');
  return [header.slice(0, colon).trim(), header.slice(colon + 1).trim()];
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
    body = JSON.parse(text);
  } catch {
    // not JSON: the text itself
  }
  const headers = Object.fromEntries(response.headers);
  await printJson({ status: response.status, headers, body });
}
