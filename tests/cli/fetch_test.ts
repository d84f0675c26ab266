/** `platform-auth fetch`. */
import { assert, assertEquals, assertMatch } from "@std/assert";
import { type ChildResult, namesIn } from "../support/child_deno.ts";
import type { CommandOptions } from "../support/cli_world.ts";
import { makePipe } from "../support/disks.ts";
import { REFUSING } from "../support/free_port.ts";
import { record, serveLocal } from "../support/local_server.ts";
import { type Lack, NO_SHELL, NO_SIGNALS } from "../support/needs.ts";
import { linesOf } from "../support/portless.ts";
import { until } from "../support/until.ts";
import { commandTest, type CommandWorld } from "./own_process.ts";

interface FetchWorld extends CommandWorld {
  /** A server that may receive the token. */
  readonly origin: string;
  readonly given: CommandOptions;
  /** Runs `fetch` with these arguments. */
  fetch(...args: string[]): Promise<ChildResult>;
}

/** Registers a test with a signed-in user, and a server with this response. */
function fetchTest(
  name: string,
  handle: (request: Request) => Response | Promise<Response>,
  use: (world: FetchWorld) => Promise<void>,
  lack?: Lack,
): void {
  commandTest(name, async (world) => {
    await world.signIn();
    await using server = serveLocal(handle);
    const { origin } = server;
    const given = world.reaching(origin);
    const fetch = (...args: string[]) =>
      world.run(["fetch", ...args], { ...given, stdin: "piped" });
    await use({ ...world, origin, given, fetch });
  }, { lack });
}

/** The files that `fetch` left in the folder. */
function filesIn(folder: string): string[] {
  return namesIn(folder).filter((name) => !name.startsWith(".env"));
}

const bytes = crypto.getRandomValues(new Uint8Array(60_000));
fetchTest(
  "fetch prints or saves the exact bytes of the response",
  () => new Response(bytes),
  async ({ start, fetch, folder, origin, given }) => {
    await fetch(origin, "--output", `${folder}/copy.bin`);
    assertEquals(await Deno.readFile(`${folder}/copy.bin`), bytes);
    const { stdout } = await start(["fetch", origin], given).output();
    assertEquals(stdout, bytes);
    assertEquals(filesIn(folder), ["copy.bin"]);
  },
);

const echo = async ({ method, headers, body }: Request) => {
  const sent = [method, headers.get("content-type"), headers.get("a")];
  const text = await new Response(body).text();
  return new Response(`${headers.get("authorization")} ${[...sent, text].join()}`);
};
const calls: [options: string[], sent: string][] = [
  [[], "GET,,,"],
  [
    ["-d", "text", "-H", "a: b: c", "--header", "content-type: text/csv"],
    "POST,text/csv,b: c,text",
  ],
  [["-X", "PUT", "--data", "@FILE"], 'PUT,,,{"from":"file"}'],
  [["-X", "PATCH", "-d", "-"], "PATCH,,,piped"],
  [["--method", "DELETE"], "DELETE,,,"],
  // The body may begin with a dash.
  [["-d", "- item"], "POST,text/plain;charset=UTF-8,,- item"],
  [["-d", "-5"], "POST,text/plain;charset=UTF-8,,-5"],
];
fetchTest(
  "fetch sends the method, headers and body that its options set",
  echo,
  async ({ fetch, folder, envFile, origin }) => {
    await Deno.writeTextFile(`${folder}/body.json`, '{"from":"file"}');
    const authorization = `bearer ${linesOf(envFile).ACCESS_TOKEN} `;
    for (const [options, sent] of calls) {
      const words = options.map((word) => word.replace("FILE", `${folder}/body.json`));
      const { stdout } = await fetch(origin, ...words);
      // A failure must not show the token.
      assertEquals(stdout.replace(authorization, ""), sent);
    }
  },
);

const seen = Promise.withResolvers<void>();
/** The second part is sent only after the first has been printed. */
async function* parts() {
  yield "first\n";
  await seen.promise;
  yield "second\n";
}
fetchTest(
  "fetch prints each part of the response as soon as it arrives",
  () => new Response(ReadableStream.from(parts()).pipeThrough(new TextEncoderStream())),
  async ({ start, origin, given }) => {
    await using child = start(["fetch", origin], given);
    let text = "";
    for await (const chunk of child.stdout.pipeThrough(new TextDecoderStream())) {
      text += chunk;
      seen.resolve();
    }
    await child.stderr.cancel();
    assertEquals(text, "first\nsecond\n");
  },
);

const missing = () =>
  Response.json({ error: "not_found" }, { status: 404, headers: { "x-mine": "1" } });

/** The options of `fetch`, and its output if the API responds with 404. */
const refusals: [options: string, stdout: RegExp, stderr: RegExp][] = [
  // Both outputs often go to one terminal, where the message should start on a new line.
  [
    "",
    /^\{"error":"not_found"\}\n$/,
    /^platform-auth: Cannot GET http\S+\/x because the API responded with 404 .*; check the path \(help: platform-auth explain 404\)\n$/,
  ],
  ["--json", /"status": 404,/, /"code": ?"API_STATUS"/],
  [
    "--include",
    /^HTTP 404 Not Found\n(.+\n)*x-mine: 1\n(.+\n)*\n\{"error":"not_found"\}\n$/,
    /404/,
  ],
  ["-o FOLDER/file", /^$/, /404/],
];
for (const [options, stdout, stderr] of refusals) {
  fetchTest(
    `fetch fails after an HTTP error and saves nothing: ${options || "without options"}`,
    missing,
    async ({ fetch, folder, origin }) => {
      const words = options.replace("FOLDER", folder).split(" ").filter(Boolean);
      const printed = await fetch(`${origin}/x?a=secret-word`, ...words);
      assertEquals([printed.code, filesIn(folder)], [1, []]);
      assertMatch(printed.stdout, stdout);
      assertMatch(printed.stderr, stderr);
      assert(!printed.stderr.includes("secret-word"), printed.stderr);
    },
  );
}

fetchTest(
  "fetch --output replaces an existing file only with --if-exists replace",
  () => new Response("of today"),
  async ({ fetch, folder, origin }) => {
    const file = `${folder}/data.csv`;
    await Deno.writeTextFile(file, "of yesterday");
    const refused = await fetch(origin, "--output", file);
    assertEquals([refused.code, refused.stdout], [1, ""]);
    assertMatch(refused.stderr, /it already exists; use --if-exists replace, or choose another/);
    const kept = await fetch(origin, "--output", file, "--if-exists", "keep");
    assertEquals([kept.code, kept.stdout], [0, ""]);
    assertMatch(kept.stderr, /data\.csv already exists and was kept/);
    assertEquals(await Deno.readTextFile(file), "of yesterday");
    const replaced = await fetch(origin, "--output", file, "--if-exists", "replace");
    const stderr = `platform-auth: saved ${file}, 8 bytes\n`;
    assertEquals(replaced, { code: 0, stdout: "", stderr });
    assertEquals(await Deno.readTextFile(file), "of today");
  },
);

fetchTest(
  "fetch --output does not save a response that is not the file",
  () => Response.json({ job: 7 }, { status: 201 }),
  async ({ fetch, folder, origin }) => {
    const { code, stderr } = await fetch(origin, "--output", `${folder}/file`);
    assertEquals([code, filesIn(folder)], [1, []]);
    assertMatch(stderr, /status 201.*print it, without --output.*API_BODY/);
  },
);

fetchTest(
  "fetch --output does not replace a pipe by a file",
  () => new Response("time,"),
  async ({ fetch, folder, origin }) => {
    await makePipe(`${folder}/pipe`);
    const { code, stderr } = await fetch(origin, "-o", `${folder}/pipe`);
    assertEquals(code, 1);
    assertMatch(stderr, /pipe: it is not a regular file; use --output - and .* FILE\)\n$/);
    assertEquals((await fetch(origin, "-o", "-")).stdout, "time,");
  },
  NO_SHELL,
);

const FILE = new Uint8Array(200_000);
/** Sends half of the file and then nothing more, or the requested range. */
function half({ headers }: Request): Response {
  const etag = '"1"';
  const range = headers.get("range");
  if (range === null) {
    const body = new ReadableStream({ start: (it) => it.enqueue(FILE.subarray(100_000)) });
    return new Response(body, { headers: { etag, "content-length": "200000" } });
  }
  const first = Number(/\d+/.exec(range)?.[0]);
  const rest = { etag, "content-range": `bytes ${first}-199999/200000` };
  return new Response(FILE.subarray(first), { status: 206, headers: rest });
}

for (const [signal, code] of [["SIGTERM", 143], ["SIGKILL", 137]] as const) {
  fetchTest(
    `after ${signal}, the same fetch command resumes the download`,
    half,
    async ({ start, run, folder, origin, given }) => {
      const fetch = ["fetch", origin, "-o", `${folder}/data.csv`];
      const child = start(fetch, given);
      // The download can be resumed once its note is written beside its .part file.
      await until(() =>
        filesIn(folder).some((name) =>
          name.endsWith(".note") && Deno.statSync(`${folder}/${name}`).size > 0
        )
      );
      child.kill(signal);
      assertEquals([(await child.output()).code, filesIn(folder).length], [code, 2]);
      const again = await run(fetch, given);
      assertEquals([again.code, again.stdout], [0, ""]);
      const saved = /^platform-auth: saved .*data\.csv, 200\.0 kB, resumed at [\d.]+ kB\n$/;
      assertMatch(again.stderr, saved);
      assertEquals((await Deno.readFile(`${folder}/data.csv`)).length, 200_000);
      assertEquals(filesIn(folder), ["data.csv"]);
    },
    NO_SIGNALS,
  );
}

// A parser would change each of these values, and the order of the names.
const JSON_BODY = String
  .raw`{"b":[9007199254740993,1e400,1.0,-0],"2":{},"1":[ ],"1":"\u0061\"[{,:"}`;
fetchTest(
  "fetch --json prints numbers, names and strings of a JSON body as they arrived",
  () => new Response(JSON_BODY, { headers: { "content-type": "text/plain" } }),
  async ({ fetch, origin }) => {
    const { stdout } = await fetch(origin, "--json");
    const printed = stdout.slice(stdout.indexOf('"body": ') + 8, -3).replace(/^ +|\n/gm, "");
    assertEquals(printed.replaceAll(": ", ":"), JSON_BODY.replace("[ ]", "[]"));
    assertEquals(JSON.parse(stdout).status, 200);
    assertMatch(stdout, /^\{\n {2}"status": 200,[^]*\n {4}"b": \[\n {6}9007199254740993,\n/);
  },
);

const UNSEEN = { name: "a\u202eb\u009bc\u{e0001}d" };
fetchTest(
  "fetch --json prints only printable ASCII",
  () => Response.json(UNSEEN),
  async ({ fetch, origin }) => {
    const { stdout } = await fetch(origin, "--json");
    assertMatch(stdout, /^[\n\x20-\x7e]+$/);
    assertEquals(JSON.parse(stdout).body, UNSEEN);
  },
);

commandTest("fetch fails if the response ends too early", async ({ run, reaching, signIn }) => {
  await signIn();
  await using server = record("HTTP/1.1 200 OK\r\ncontent-length: 1000\r\n\r\nonly this");
  const { code, stdout, stderr } = await run(["fetch", server.origin], reaching(server.origin));
  assertEquals([code, stdout], [1, "only this"]);
  assertMatch(stderr, /^platform-auth: .* it broke off; try again \(.*API_BODY\)\n$/);
});

const SIGNATURE = "presigned-signature-1";
fetchTest(
  "if a file host refuses, the error of fetch shows the host, but not the signature in the address",
  ({ url }) =>
    url.includes(SIGNATURE)
      ? new Response(`no ${SIGNATURE}`, { status: 401 })
      : Response.redirect(url.replace("127.0.0.1", "localhost") + `?signature=${SIGNATURE}`),
  async ({ fetch, origin }) => {
    const { code, stderr } = await fetch(origin);
    // Not 3, "a login is needed": the host did not receive the token.
    assertEquals(code, 1);
    assertMatch(stderr, /localhost:\d+/);
    assert(!stderr.includes(SIGNATURE), stderr);
  },
);

const failures: [args: string[], code: number, said: RegExp][] = [
  [[`${REFUSING}x?secret=1`], 1, /Cannot reach .*refused\); .*explain API_UNREACHABLE\)/],
  [["http://127.0.0.1:9/x"], 1, /API_ALLOWED_ORIGINS.*explain UNTRUSTED_ORIGIN\)/],
  [["/x", "-d", "@no.json"], 1, /Cannot read the input of --data: \w[^:]+\(os error \d+\); check/],
  [["/x", "-X", "GET", "-d", "y"], 2, /body/],
];
commandTest("fetch reports a failure in one sentence without a stack", async (world) => {
  await world.signIn();
  const given = world.reaching(new URL(REFUSING).origin);
  for (const [args, code, said] of failures) {
    const result = await world.run(["fetch", ...args], given);
    assertEquals([result.code, result.stdout], [code, ""], result.stderr);
    assertMatch(result.stderr, said);
    assertMatch(result.stderr, /^(?!.*secret=1).*\n$/);
  }
});
