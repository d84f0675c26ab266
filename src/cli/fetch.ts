import { UsageError } from "./usage.ts";
import { authFetch } from "../default_session.ts";
import { ConfigError } from "../values/errors.ts";

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
  const response = await authFetch(target, {
    method: options.method ?? (body === undefined ? "GET" : "POST"),
    headers,
    ...(body !== undefined && { body }),
  });
  const status = exitStatus(response);
  if (options.json) {
    await printJson(response);
  } else if (options.output !== undefined && response.ok) {
    await save(response, options.output);
  } else {
    await print(response);
  }
  if (!response.ok) {
    const unsaved = options.output === undefined ? "" : "; nothing was saved";
    const next = response.status === 401 ? "; run platform-auth login --force" : "";
    console.error(`platform-auth: the API answered ${response.status}${unsaved}${next}`);
  }
  return status;
}

async function print(response: Response): Promise<void> {
  try {
    for await (const chunk of piecesOf(response)) await writeAll(Deno.stdout, chunk);
  } catch (error) {
    // The reader, such as head, has seen enough.
    if (!(error instanceof Deno.errors.BrokenPipe)) throw error;
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
  if (ok) return 0;
  return status === 401 ? 3 : 1;
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

async function printJson(response: Response): Promise<void> {
  const text = await new Response(ReadableStream.from(piecesOf(response))).text();
  let body: unknown = text;
  try {
    body = JSON.parse(text);
  } catch {
    // not JSON: the text itself
  }
  const headers = Object.fromEntries(response.headers);
  console.log(JSON.stringify({ status: response.status, headers, body }, null, 2));
}

/** Saves to a part file, which takes the real name when it is whole. */
async function save(response: Response, path: string): Promise<void> {
  const part = `${path}.part`;
  const announced = Number(response.headers.get("content-length") ?? NaN);
  const encoded = response.headers.has("content-encoding");
  const progress = Deno.stderr.isTerminal() ? new Progress(announced) : undefined;
  try {
    using file = await Deno.open(part, { write: true, create: true, truncate: true });
    let size = 0;
    for await (const chunk of piecesOf(response)) {
      await writeAll(file, chunk);
      size += chunk.byteLength;
      progress?.show(size);
    }
    if (!encoded && announced >= 0 && size !== announced) {
      throw new TypeError(`The answer broke off after ${size} of ${announced} bytes; try again`);
    }
    await file.sync();
    await Deno.rename(part, path);
  } catch (error) {
    await Deno.remove(part).catch(() => {});
    if (error instanceof Deno.errors.NotCapable) {
      throw new ConfigError(
        "PERMISSION",
        `Cannot save ${path}: the permission is missing; run with --allow-write=${path},${part}`,
      );
    }
    if (error instanceof TypeError) throw error;
    throw new ConfigError(
      "INVALID_SETTING",
      `Cannot save ${path}; check the path and the space left`,
    );
  } finally {
    progress?.end();
  }
}

interface Writer {
  write(bytes: Uint8Array): Promise<number>;
}

async function writeAll(target: Writer, bytes: Uint8Array): Promise<void> {
  for (let at = 0; at < bytes.length;) at += await target.write(bytes.subarray(at));
}

/** One line on the terminal that is written over, at most ten times a second. */
class Progress {
  readonly #total: number;
  #last = -Infinity;

  constructor(total: number) {
    this.#total = total;
  }

  show(size: number): void {
    const now = performance.now();
    if (now - this.#last < 100) return;
    this.#last = now;
    const of = this.#total > 0 ? ` of ${megabytes(this.#total)}` : "";
    this.#write(`\r\u001b[K${megabytes(size)}${of}`);
  }

  end(): void {
    this.#write("\r\u001b[K");
  }

  #write(text: string): void {
    Deno.stderr.writeSync(new TextEncoder().encode(text));
  }
}

function megabytes(size: number): string {
  return `${(size / 1_000_000).toFixed(1)} MB`;
}
