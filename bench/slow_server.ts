/**
 * An npm registry and a web server that seem far away: each response is delayed, and all responses
 * of the registry share one line.
 *
 * The responses of the registry come from the real one, once, and are kept in memory. `/~source/`
 * and `/~released/` are files, `/~one-line.js` is a module of one line, `/~log` returns and clears
 * the log of requests, `/~link/<bytes per second>` sets the speed of the line, and 0 removes all
 * delays.
 */

/** The requests since the last call of `/~log`. */
export interface Fetched {
  readonly requests: number;
  readonly packages: number;
  readonly bytes: number;
}

const LATENCY_MS = 50;
const PIECE = 65_536;

interface Answer {
  readonly status: number;
  readonly headers: Record<string, string>;
  readonly body: Uint8Array<ArrayBuffer>;
}

const [source = "", released = ""] = Deno.args;
const upstream = (Deno.env.get("NPM_CONFIG_REGISTRY") ?? await registryOfNpm()).replace(/\/$/, "");
const kept = new Map<string, Promise<Answer>>();
let fetched = { requests: 0, packages: 0, bytes: 0 };
let bytesPerSecond = 10_000_000;
/** The time at which the line will have sent everything, in milliseconds. */
let lineFree = 0;

async function registryOfNpm(): Promise<string> {
  const args = ["config", "get", "registry"];
  const { stdout } = await new Deno.Command("npm", { args, stderr: "null" }).output();
  return new TextDecoder().decode(stdout).trim();
}

const wait = (ms: number) => new Promise((resolve) => setTimeout(resolve, ms));

async function answerOf(path: string, accept: string): Promise<Answer> {
  if (path === "/~one-line.js") return module("js", new TextEncoder().encode("export {};\n"));
  const [, place, file = ""] = /^\/~(source|released)\/(.+)$/.exec(path) ?? [];
  if (place !== undefined) {
    const bytes = await Deno.readFile(`${place === "source" ? source : released}/${file}`);
    return module(file.slice(file.lastIndexOf(".") + 1), bytes);
  }
  const key = `${path} ${accept}`;
  let answer = kept.get(key);
  if (answer === undefined) kept.set(key, answer = fromUpstream(path, accept));
  return await answer;
}

function module(extension: string, body: Uint8Array<ArrayBuffer>): Answer {
  const types: Record<string, string> = { ts: "application/typescript", json: "application/json" };
  return {
    status: 200,
    headers: { "content-type": types[extension] ?? "text/javascript" },
    body,
  };
}

async function fromUpstream(path: string, accept: string): Promise<Answer> {
  const response = await fetch(`${upstream}${path}`, { headers: { accept } });
  const type = response.headers.get("content-type") ?? "application/octet-stream";
  const status = response.status;
  if (!type.includes("json")) {
    return { status, headers: { "content-type": type }, body: await response.bytes() };
  }
  // The addresses of the packages are changed to this server. The text is compressed, as the real
  // registry sends it.
  const text = (await response.text()).replaceAll(`${upstream}/`, `${origin}/`);
  const packed = new Blob([text]).stream().pipeThrough(new CompressionStream("gzip"));
  const headers = { "content-type": type, "content-encoding": "gzip" };
  return { status, headers, body: await new Response(packed).bytes() };
}

/** The body in pieces, at the speed of the line that all responses share. */
async function* overTheLine(body: Uint8Array<ArrayBuffer>) {
  for (let at = 0; at < body.length; at += PIECE) {
    const piece = body.subarray(at, at + PIECE);
    lineFree = Math.max(lineFree, performance.now()) + piece.length * 1_000 / bytesPerSecond;
    await wait(Math.max(0, lineFree - performance.now()));
    yield piece;
  }
}

const server = Deno.serve({ hostname: "127.0.0.1", port: 0, onListen() {} }, async (request) => {
  const path = request.url.slice(request.url.indexOf("/", "http://".length));
  const [, speed] = /^\/~link\/(\d+)$/.exec(path) ?? [];
  if (speed !== undefined) {
    bytesPerSecond = Number(speed);
    return new Response(null);
  }
  if (path === "/~log") {
    const report = fetched;
    fetched = { requests: 0, packages: 0, bytes: 0 };
    return Response.json(report satisfies Fetched);
  }
  const [{ status, headers, body }] = await Promise.all([
    answerOf(path, request.headers.get("accept") ?? "*/*"),
    bytesPerSecond > 0 ? wait(LATENCY_MS) : undefined,
  ]);
  fetched.requests++;
  fetched.bytes += body.length;
  if (path.endsWith(".tgz")) fetched.packages++;
  // A module is sent without delay: for an import by URL, the number of requests matters.
  const slow = bytesPerSecond > 0 && !path.startsWith("/~");
  return new Response(slow ? ReadableStream.from(overTheLine(body)) : body, { status, headers });
});
const origin = `http://127.0.0.1:${server.addr.port}`;
console.log(JSON.stringify({ url: origin }));
