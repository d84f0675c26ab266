import { FAILED, LOGIN_NEEDED, OK, printJson, say, UsageError, writeOut } from "./output.ts";
import { discardUseless } from "../download/download_target.ts";
import { authFetch, download } from "../default_session.ts";
import { cleanUpAtExit } from "../runtime/signals.ts";
import { ApiError, ConfigError } from "../errors/errors.ts";

/** Options of the `fetch` command, as they were typed. */
export interface FetchCommandOptions {
  method?: string;
  header?: string[];
  data?: string;
  output?: string;
  json?: boolean;
}

/** Calls the API and streams the answer. @returns The exit status. */
export async function runFetch(target: string, options: FetchCommandOptions): Promise<number> {
  if (options.json && options.output !== undefined) {
    throw new UsageError("fetch takes either --json or --output");
  }
  const headers = (options.header ?? []).map(splitHeader);
  const body = await readBody(options.data);
  const init: RequestInit = {
    method: options.method ?? (body === undefined ? "GET" : "POST"),
    headers,
    ...(body !== undefined && { body }),
  };
  if (options.output !== undefined) return await save(target, options.output, init);
  const response = await authFetch(target, init);
  const status = exitStatus(response);
  if (options.json) {
    await printWhole(response);
  } else {
    for await (const piece of piecesOf(response)) if (!await writeOut(piece)) break;
  }
  if (!response.ok) {
    const next = response.status === 401 ? "; run platform-auth login --force" : "";
    say(`the API answered ${response.status}${next}`);
  }
  return status;
}

/** What was fetched when a signal ends this stays, if the next call can go on with it. */
async function save(target: string, output: string, init: RequestInit): Promise<number> {
  using _ = cleanUpAtExit(discardUseless);
  try {
    await download(target, output, { overwrite: true, init });
    return OK;
  } catch (error) {
    if (!(error instanceof ApiError && error.status === 401)) throw error;
    say(error.message);
    return LOGIN_NEEDED;
  }
}

/** The body as it comes in; the runtime's own error says no more than that it broke off. */
async function* piecesOf(response: Response): AsyncGenerator<Uint8Array<ArrayBuffer>> {
  try {
    for await (const piece of response.body ?? []) yield piece;
  } catch (error) {
    if (!(error instanceof TypeError)) throw error;
    throw new TypeError("The answer broke off; try again");
  }
}

function exitStatus({ ok, status }: Response): number {
  if (ok) return OK;
  return status === 401 ? LOGIN_NEEDED : FAILED;
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
  } catch {
    throw new ConfigError("INVALID_SETTING", `Cannot read ${data.slice(1)}; check the path`);
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
