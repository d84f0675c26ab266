/** `platform-auth fetch`. */
import { assert, assertEquals, assertMatch } from "@std/assert";
import { type ChildResult, namesIn } from "../support/child_deno.ts";
import type { CliWorld, CommandOptions } from "../support/cli_world.ts";
import { makePipe } from "../support/disks.ts";
import { REFUSING } from "../support/free_port.ts";
import { record, serveLocal } from "../support/local_server.ts";
import { NO_SHELL, NO_SIGNALS, testNeeding } from "../support/needs.ts";
import { linesOf } from "../support/portless.ts";
import { until } from "../support/until.ts";
import { inOwnProcess } from "./own_process.ts";

interface FetchWorld extends CliWorld {
  /** A server that may receive the token. */
  readonly origin: string;
  readonly given: CommandOptions;
  /** Runs `fetch` with these arguments. */
  fetch(...args: string[]): Promise<ChildResult>;
}

/** A signed-in user, and a server with this response. */
function inFetchWorld(
  handle: (request: Request) => Response | Promise<Response>,
  use: (world: FetchWorld) => Promise<void>,
): Promise<void> {
  return inOwnProcess(async (world) => {
    await world.signIn();
    await using server = serveLocal(handle);
    const { origin } = server;
    const given = world.reaching(origin);
    const fetch = (...args: string[]) =>
      world.run(["fetch", ...args], { ...given, stdin: "piped" });
    await use({ ...world, origin, given, fetch });
  });
}

/** The files that `fetch` left in the folder. */
function filesIn(folder: string): string[] {
  return namesIn(folder).filter((name) => !name.startsWith(".env"));
}

Deno.test("fetch prints or saves the exact bytes of the response", () => {
  const bytes = crypto.getRandomValues(new Uint8Array(60_000));
  return inFetchWorld(
    () => new Response(bytes),
    async ({ start, fetch, folder, origin, given }) => {
      await fetch(origin, "--output", `${folder}/copy.bin`);
      assertEquals(await Deno.readFile(`${folder}/copy.bin`), bytes);
      const { stdout } = await start(["fetch", origin], given).output();
      assertEquals(stdout, bytes);
      assertEquals(filesIn(folder), ["copy.bin"]);
    },
  );
});

Deno.test("fetch sends the method, headers and body that its options set", async () => {
  const bodies = ["", "- item", "-5", "---\na: 1", "-- a comment", "-item"];
  const seen: string[] = [];
  const tokens = new Set<string | null>();
  const echo = async (request: Request) => {
    const { method, headers } = request;
    seen.push([method, headers.get("content-type"), headers.get("a"), await request.text()].join());
    tokens.add(headers.get("authorization"));
    return new Response();
  };
  await inFetchWorld(echo, async ({ fetch, folder, envFile, origin }) => {
    await Deno.writeTextFile(`${folder}/body.json`, '{"from":"file"}');
    await fetch(origin);
    await fetch(origin, "-d", "text", "-H", "a: b: c", "--header", "content-type: text/csv");
    await fetch(origin, "-X", "PUT", "--data", `@${folder}/body.json`);
    await fetch(origin, "-X", "PATCH", "-d", "-");
    await fetch(origin, "--method", "DELETE");
    for (const text of bodies) await fetch(origin, "-d", text, "-H", "content-type: text/csv");
    // Not assertEquals(), whose diff would show the tokens.
    assert(tokens.size === 1 && tokens.has(`bearer ${linesOf(envFile).ACCESS_TOKEN}`));
  });
  assertEquals(seen, [
    "GET,,,",
    "POST,text/csv,b: c,text",
    'PUT,,,{"from":"file"}',
    "PATCH,,,piped",
    "DELETE,,,",
    ...bodies.map((text) => `POST,text/csv,,${text}`),
  ]);
});

Deno.test("fetch prints each part of the response as soon as it arrives", () => {
  const seen = Promise.withResolvers<void>();
  // The second part is sent only after the first has been printed.
  const parts = async function* () {
    yield "first\n";
    await seen.promise;
    yield "second\n";
  };
  const body = () =>
    new Response(ReadableStream.from(parts()).pipeThrough(new TextEncoderStream()));
  return inFetchWorld(body, async ({ start, origin, given }) => {
    await using child = start(["fetch", origin], given);
    let text = "";
    for await (const chunk of child.stdout.pipeThrough(new TextDecoderStream())) {
      text += chunk;
      if (text === "first\n") seen.resolve();
    }
    seen.resolve();
    await child.stderr.cancel();
    assertEquals(text, "first\nsecond\n");
  });
});

const error = () => Response.json({ error: "not_found" }, { status: 404 });
const unfinished = (status: number) => () =>
  Response.json({ job: 7 }, { status, headers: { "retry-after": "301" } });
const headed = () => new Response("gone", { status: 404, headers: { "x-mine": "1" } });

/** A response that is not the file or the data, the options of `fetch`, and its output. */
const refusals: [
  name: string,
  answer: () => Response,
  options: string,
  stdout: RegExp,
  stderr: RegExp,
][] = [
  [
    // Both outputs often go to one terminal, where the message should start on a new line.
    "fetch ends the body of an HTTP error with a line break, and fails",
    error,
    "",
    /^\{"error":"not_found"\}\n$/,
    /^platform-auth: Cannot GET http\S+\/x because the API responded with 404 .*; check the path \(help: platform-auth explain 404\)\n$/,
  ],
  ["fetch --json prints an HTTP error", error, "--json", /"status": 404,/, /"code": ?"API_STATUS"/],
  [
    "fetch --include prints status and headers before the body",
    headed,
    "--include",
    /^HTTP 404 Not Found\n(.+\n)*x-mine: 1\n(.+\n)*\ngone\n$/,
    /404/,
  ],
  ["fetch --output does not save an HTTP error", error, "-o FOLDER/file", /^$/, /404/],
  [
    "fetch --output does not save a 201",
    unfinished(201),
    "-o FOLDER/file",
    /^$/,
    /status 201.*print it, without --output.*API_BODY/,
  ],
  [
    "fetch --output does not save a 202",
    unfinished(202),
    "-o FOLDER/file",
    /^$/,
    /still preparing the file.*wait 301 seconds, as the API asks.*API_BODY/,
  ],
];
for (const [name, answer, options, stdout, stderr] of refusals) {
  Deno.test(name, () =>
    inFetchWorld(answer, async ({ fetch, folder, origin }) => {
      const words = options.replace("FOLDER", folder).split(" ").filter(Boolean);
      const printed = await fetch(`${origin}/x?a=secret-word`, ...words);
      assertEquals([printed.code, filesIn(folder)], [1, []]);
      assertMatch(printed.stdout, stdout);
      assertMatch(printed.stderr, stderr);
      assert(!printed.stderr.includes("secret-word"), printed.stderr);
    }));
}

Deno.test("fetch --output replaces an existing file only with --if-exists replace", () => {
  let asked = 0;
  const body = () => (asked++, new Response("of today"));
  return inFetchWorld(body, async ({ fetch, folder, origin }) => {
    const file = `${folder}/data.csv`;
    await Deno.writeTextFile(file, "of yesterday");
    const refused = await fetch(origin, "--output", file);
    assertEquals([refused.code, refused.stdout], [1, ""]);
    assertMatch(refused.stderr, /it already exists; use --if-exists replace, or choose another/);
    const kept = await fetch(origin, "--output", file, "--if-exists", "keep");
    assertEquals([kept.code, kept.stdout], [0, ""]);
    assertMatch(kept.stderr, /data\.csv already exists and was kept/);
    assertEquals([await Deno.readTextFile(file), asked], ["of yesterday", 0]);
    const replaced = await fetch(origin, "--output", file, "--if-exists", "replace");
    const stderr = `platform-auth: saved ${file}, 8 bytes\n`;
    assertEquals(replaced, { code: 0, stdout: "", stderr });
    assertEquals([await Deno.readTextFile(file), asked], ["of today", 1]);
  });
});

testNeeding(
  NO_SHELL,
  "fetch refuses to save to a pipe and recommends --output -",
  () =>
    inFetchWorld(() => new Response("time,"), async ({ fetch, folder, origin }) => {
      await makePipe(`${folder}/pipe`);
      const { code, stdout, stderr } = await fetch(origin, "-o", `${folder}/pipe`);
      assertEquals([code, stdout], [1, ""]);
      assertMatch(stderr, /pipe: it is not a regular file; use --output - and .* FILE\)\n$/);
      assertEquals((await fetch(origin, "-o", "-")).stdout, "time,");
    }),
);

/** Waits until a download can be resumed, and returns the names of its note and its `.part` file. */
async function begun(folder: string): Promise<string[]> {
  const isNote = (name: string) =>
    name.endsWith(".note") && Deno.statSync(`${folder}/${name}`).size > 0;
  await until(() => filesIn(folder).some(isNote));
  return filesIn(folder);
}

for (const [signal, code] of [["SIGTERM", 143], ["SIGKILL", 137]] as const) {
  testNeeding(
    NO_SIGNALS,
    `after ${signal}, the same fetch command resumes the download`,
    () => {
      const ranges: (string | null)[] = [];
      const file = new Uint8Array(200_000);
      const etag = '"1"';
      function respond({ headers }: Request): Response {
        const range = headers.get("range");
        ranges.push(range);
        if (range === null) {
          // Half of the file, and then nothing more.
          const half = new ReadableStream({ start: (it) => it.enqueue(file.subarray(100_000)) });
          return new Response(half, { headers: { etag, "content-length": "200000" } });
        }
        const first = Number(/\d+/.exec(range)?.[0]);
        const rest = { etag, "content-range": `bytes ${first}-199999/200000` };
        return new Response(file.subarray(first), { status: 206, headers: rest });
      }
      return inFetchWorld(respond, async ({ start, run, folder, origin, given }) => {
        const fetch = ["fetch", origin, "-o", `${folder}/data.csv`];
        const child = start(fetch, given);
        const [note = "", part = "", ...more] = await begun(folder);
        child.kill(signal);
        const stopped = await child.output();
        assertEquals([stopped.code, filesIn(folder), more], [code, [note, part], []]);
        const { size } = await Deno.stat(`${folder}/${part}`);
        const again = await run(fetch, given);
        assertEquals([again.code, again.stdout], [0, ""]);
        assertMatch(
          again.stderr,
          /^platform-auth: saved .*data\.csv, 200\.0 kB, resumed at [\d.]+ kB\n$/,
        );
        assertEquals(ranges, [null, `bytes=${size - 1}-`]);
        assertEquals((await Deno.readFile(`${folder}/data.csv`)).length, 200_000);
        assertEquals(filesIn(folder), ["data.csv"]);
      });
    },
  );
}

Deno.test("fetch --json prints status, headers and body as printable ASCII", () => {
  const body = { name: "a\u202eb\u009bc\u{e0001}d" };
  return inFetchWorld(() => Response.json(body), async ({ fetch, origin }) => {
    const { stdout } = await fetch(origin, "--json");
    assertMatch(stdout, /^[\n\x20-\x7e]+$/);
    const { status, headers, body: printed } = JSON.parse(stdout);
    assertEquals([status, headers["content-type"], printed], [200, "application/json", body]);
  });
});

Deno.test("fetch --json prints numbers, names and strings of a JSON body as they arrived", () => {
  // A parser would change each of these values, and the order of the names.
  const body = String.raw`{"b":[9007199254740993,1e400,1.0,-0],"2":{},"1":[ ],"1":"\u0061\"[{,:"}`;
  const type = { "content-type": "text/plain" };
  return inFetchWorld(() => new Response(body, { headers: type }), async ({ fetch, origin }) => {
    const { stdout } = await fetch(origin, "--json");
    const printed = stdout.slice(stdout.indexOf('"body": ') + 8, -3);
    assertEquals(printed.replace(/^ +|\n/gm, "").replaceAll(": ", ":"), body.replace("[ ]", "[]"));
    assertEquals(JSON.parse(stdout).body["1"], 'a"[{,:');
    assertMatch(stdout, /^\{\n {2}"status": 200,[^]*\n {4}"b": \[\n {6}9007199254740993,\n/);
  });
});

Deno.test("fetch fails if the response ends too early", () =>
  inFetchWorld(() => new Response(), async ({ run, reaching }) => {
    const raw = "HTTP/1.1 200 OK\r\ncontent-length: 1000\r\n\r\nonly this";
    await using server = record(raw);
    const given = reaching(server.origin);
    const { code, stdout, stderr } = await run(["fetch", server.origin], given);
    assertEquals([code, stdout], [1, "only this"]);
    assertMatch(stderr, /^platform-auth: .* it broke off; try again \(.*API_BODY\)\n$/);
  }));

Deno.test("if a file host refuses, the error of fetch shows the host, but not the signature in the address", async () => {
  const signature = "presigned-signature-1";
  for (const status of [401, 403]) {
    await using host = serveLocal(() => new Response(`no ${signature}`, { status }));
    const redirect = () => Response.redirect(`${host.origin}/file?signature=${signature}`);
    await inFetchWorld(redirect, async ({ fetch, origin }) => {
      const { code, stderr } = await fetch(origin);
      // Not 3, "a login is needed": the host did not receive the token.
      assertEquals(code, 1);
      assert(stderr.includes(host.host), stderr);
      assert(!stderr.includes(signature), stderr);
    });
  }
});

const failures: [args: string[], code: number, said: RegExp][] = [
  [[`${REFUSING}x?secret=1`], 1, /Cannot reach .*refused\); .*explain API_UNREACHABLE\)/],
  [["http://127.0.0.1:9/x"], 1, /API_ALLOWED_ORIGINS.*explain UNTRUSTED_ORIGIN\)/],
  [["/x", "-d", "@no.json"], 1, /Cannot read the input of --data: \w[^:]+\(os error \d+\); check/],
  [["/x", "-X", "GET", "-d", "y"], 2, /body/],
  [["/x", "-H", "authorization: z"], 2, /authorization/],
];
Deno.test("fetch reports a failure in one sentence without a stack", () =>
  inFetchWorld(() => new Response(), async ({ run, reaching }) => {
    const given = reaching(new URL(REFUSING).origin);
    for (const [args, code, said] of failures) {
      const result = await run(["fetch", ...args], given);
      assertEquals([result.code, result.stdout], [code, ""], result.stderr);
      assertMatch(result.stderr, said);
      assertMatch(result.stderr, /^(?!.*secret=1).*\n$/);
    }
  }));
