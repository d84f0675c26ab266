import { assert, assertEquals, assertMatch } from "@std/assert";
import { childEnvironment, type CliWorld, inCliWorld } from "../support/cli_world.ts";
import { inFolder } from "../support/child_deno.ts";
import { freePort } from "../support/free_port.ts";
import { NO_SIGNALS, NOT_ON_WINDOWS, runQuietly, subject, testNeeding } from "../support/needs.ts";
import { linesOf } from "../support/portless.ts";
import { contentOf, startFileServer } from "../support/file_server.ts";
import { startTcpCapture } from "../support/tcp_capture.ts";

const CSV = "/v1/stations/gull-harbor/observations.csv";

/** A server whose origin may receive the token; commands may reach it. */
async function withServer(
  world: CliWorld,
  handle: (request: Request) => Response | Promise<Response>,
  use: (origin: string, flags: string[], env: Record<string, string>) => Promise<void>,
): Promise<void> {
  const options = { hostname: "127.0.0.1", port: 0, onListen: () => {} };
  await using server = Deno.serve(options, handle);
  const host = `127.0.0.1:${server.addr.port}`;
  await use(`http://${host}`, allowing(world, host), { API_ALLOWED_ORIGINS: `http://${host}` });
}

function allowing({ flagsOf }: CliWorld, host: string): string[] {
  return flagsOf("fetch").map((flag) => flag.startsWith("--allow-net=") ? `${flag},${host}` : flag);
}

function filesIn(folder: string): string[] {
  return [...Deno.readDirSync(folder)].map(({ name }) => name)
    .filter((name) => !name.startsWith(".env")).sort();
}

function inTwoParts(first: string, between: Promise<void>, second: string): Response {
  const { readable, writable } = new TransformStream<string, string>();
  const writer = writable.getWriter();
  writer.write(first).then(() => between).then(() => writer.write(second)).then(() =>
    writer.close()
  );
  return new Response(readable.pipeThrough(new TextEncoderStream()));
}

Deno.test("fetch prints the response byte for byte", () =>
  inCliWorld(async (world) => {
    await world.signIn();
    const { code, stdout, stderr } = await world.run(["fetch", "/v1/stations"]);
    assertEquals([code, stderr, JSON.parse(stdout).length > 2], [0, "", true]);
    const bytes = crypto.getRandomValues(new Uint8Array(60_000));
    const answer = () => new Response(bytes, { headers: { "content-type": "text/plain" } });
    await withServer(world, answer, async (origin, flags, env) => {
      await world.run(["fetch", `${origin}/x`, "--output", "copy.bin"], { flags, env });
      assertEquals(await Deno.readFile(`${world.folder}/copy.bin`), bytes);
      for (const further of [[], ["-o", "-"]]) {
        const fetch = ["fetch", `${origin}/x`, ...further];
        const [program = "", ...args] = world.commandLine(fetch, flags);
        const printed = await new Deno.Command(program, {
          args,
          cwd: world.folder,
          clearEnv: true,
          env: childEnvironment(env),
        }).output();
        assertEquals(printed.stdout, bytes);
      }
      assertEquals(filesIn(world.folder), ["copy.bin"]);
    });
  }));

Deno.test("fetch sends method, headers and body, and the token", () =>
  inCliWorld(async (world) => {
    await world.signIn();
    const seen: string[] = [];
    const echo = async (request: Request) => {
      const { method, headers } = request;
      const type = headers.get("content-type");
      seen.push(`${method} ${type} ${headers.get("a")} ${await request.text()}`);
      assert(headers.get("authorization") === `bearer ${linesOf(world.envFile).ACCESS_TOKEN}`);
      return new Response();
    };
    await withServer(world, echo, async (origin, flags, env) => {
      const fetch = (args: string[], stdin?: string) =>
        world.run(["fetch", origin, ...args], { flags, env, ...(stdin && { stdin }) });
      await Deno.writeTextFile(`${world.folder}/body.json`, '{"from":"file"}');
      await fetch([]);
      await fetch(["-d", "text", "-H", "a: b: c", "--header", "content-type: text/csv"]);
      await fetch(["-X", "PUT", "--data", "@body.json"]);
      await fetch(["-X", "PATCH", "-d", "-"], "piped");
      await fetch(["--method", "DELETE"]);
    });
    assertEquals(seen, [
      "GET null null ",
      "POST text/csv b: c text",
      'PUT null null {"from":"file"}',
      "PATCH null null piped",
      "DELETE null null ",
    ]);
  }));

Deno.test("fetch prints each part of the answer as soon as it is there", () =>
  inCliWorld(async (world) => {
    await world.signIn();
    const seen = Promise.withResolvers<void>();
    // The second part is not sent before the first was printed.
    const body = () => inTwoParts("first\n", seen.promise, "second\n");
    await withServer(world, body, async (origin, flags, env) => {
      const [program = "", ...args] = world.commandLine(["fetch", origin], flags);
      await using child = new Deno.Command(program, {
        args,
        cwd: world.folder,
        clearEnv: true,
        stdout: "piped",
        env: childEnvironment(env),
      }).spawn();
      let text = "";
      for await (const chunk of child.stdout.pipeThrough(new TextDecoderStream())) {
        text += chunk;
        if (text === "first\n") seen.resolve();
      }
      assertEquals(text, "first\nsecond\n");
    });
  }));

/** What was begun to be saved as `data.csv`, under names that others cannot know. */
function partsIn(folder: string): string[] {
  return filesIn(folder).filter((name) => /^data\.csv\.[0-9a-f]{8}\.part$/.test(name));
}

/** Resolves when so many parts hold something. */
async function partsBegun(folder: string, count: number): Promise<void> {
  using watcher = Deno.watchFs(folder);
  const begun = () =>
    partsIn(folder).filter((name) => Deno.statSync(`${folder}/${name}`).size > 0).length;
  if (begun() >= count) return;
  for await (const _ of watcher) if (begun() >= count) return;
}

Deno.test("--output writes a part file, which takes the name when it is whole", () =>
  inCliWorld(async (world) => {
    const { folder } = world;
    await world.signIn();
    await Deno.writeTextFile(`${folder}/data.csv`, "of yesterday");
    const begun = Promise.withResolvers<void>();
    const body = () => inTwoParts("half", begun.promise, " and half");
    await withServer(world, body, async (origin, flags, env) => {
      const running = world.run(["fetch", origin, "-o", "data.csv", "--if-exists", "replace"], {
        flags,
        env,
      });
      await partsBegun(folder, 1);
      const meanwhile = await Deno.readTextFile(`${folder}/data.csv`);
      begun.resolve();
      assertEquals(await running, { code: 0, stdout: "", stderr: "" });
      assertEquals(meanwhile, "of yesterday");
    });
    assertEquals(await Deno.readTextFile(`${folder}/data.csv`), "half and half");
    assertEquals(filesIn(folder), ["data.csv"]);
  }));

Deno.test("--output leaves an existing file alone, and sends nothing, unless --if-exists says so", () =>
  inCliWorld(async (world) => {
    const { folder } = world;
    await world.signIn();
    await Deno.writeTextFile(`${folder}/data.csv`, "of yesterday");
    let asked = 0;
    const body = () => (asked++, new Response("of today"));
    await withServer(world, body, async (origin, flags, env) => {
      const save = (...more: string[]) =>
        world.run(["fetch", origin, "--output", "data.csv", ...more], { flags, env });
      const refused = await save();
      assertEquals([refused.code, refused.stdout], [1, ""]);
      assertMatch(refused.stderr, /it exists already; use --if-exists replace, or name another/);
      const kept = await save("--if-exists", "keep");
      assertEquals([kept.code, kept.stdout], [0, ""]);
      assertMatch(kept.stderr, /data\.csv exists already, and was kept/);
      assertEquals([await Deno.readTextFile(`${folder}/data.csv`), asked], ["of yesterday", 0]);
      assertEquals((await save("--if-exists", "replace")).code, 0);
    });
    assertEquals([await Deno.readTextFile(`${folder}/data.csv`), asked], ["of today", 1]);
  }));

subject(NO_SIGNALS, "signals while an answer is saved", (test) => {
  test({
    name: "what was saved before Ctrl-C is there for the same command",
    fn: () =>
      inCliWorld(async (world) => {
        const { folder } = world;
        await world.signIn();
        await using server = startFileServer({
          content: contentOf(200_000),
          dropAfter: 100_000,
          beforeDrop: () => stalled.promise,
        });
        const stalled = Promise.withResolvers<void>();
        const { host, origin } = new URL(server.origin);
        const given = { flags: allowing(world, host), env: { API_ALLOWED_ORIGINS: origin } };
        const fetch = ["fetch", `${origin}/data`, "-o", "data.csv"];
        const [program = "", ...args] = world.commandLine(fetch, given.flags);
        await using child = new Deno.Command(program, {
          args,
          cwd: folder,
          clearEnv: true,
          env: childEnvironment(given.env),
        }).spawn();
        await partsBegun(folder, 1);
        child.kill("SIGINT");
        assertEquals((await child.status).code, 130);
        stalled.resolve();
        const [part = ""] = partsIn(folder);
        const { size } = await Deno.stat(`${folder}/${part}`);
        server.options.dropAfter = Infinity;
        assertEquals(await world.run(fetch, given), { code: 0, stdout: "", stderr: "" });
        assertEquals(server.asked.map(({ range }) => range), [undefined, `bytes=${size}-`]);
        assert((await Deno.readFile(`${folder}/data.csv`)).length === 200_000);
        assertEquals(filesIn(folder), ["data.csv"]);
      }),
  });
});

/** Makes a node that is not a regular file; `false` where that is not permitted. */
async function makeNode(path: string, ...kind: string[]): Promise<boolean> {
  if (await runQuietly("mknod", path, ...kind) !== "done") return false;
  // Where device nodes are switched off, even a node that was made cannot be opened.
  return kind[0] === "p" || await Deno.open(path).then((file) => (file.close(), true), () => false);
}

const mayMakeDevices = await inFolder((folder) => makeNode(`${folder}/null`, "c", "1", "3"));
const mayMakePipes = await inFolder((folder) => makeNode(`${folder}/pipe`, "p"));

testNeeding(
  NOT_ON_WINDOWS,
  "--output writes into a device or a pipe, and keeps it",
  () =>
    inCliWorld(async ({ folder, run, signIn }) => {
      await signIn();
      if (mayMakeDevices) {
        await makeNode(`${folder}/null`, "c", "1", "3");
        await Deno.symlink("null", `${folder}/link`);
        for (const name of ["null", "link"]) {
          const { code, stderr } = await run(["fetch", CSV, "-o", name]);
          assertEquals([code, stderr], [0, ""]);
        }
        assertEquals(Deno.lstatSync(`${folder}/null`).isCharDevice, true);
        assertEquals(Deno.lstatSync(`${folder}/link`).isSymlink, true);
      }
      if (mayMakePipes) {
        await makeNode(`${folder}/pipe`, "p");
        const read = new Deno.Command("cat", { args: [`${folder}/pipe`] }).output();
        const { code, stderr } = await run(["fetch", CSV, "-o", "pipe"]);
        assertEquals([code, stderr], [0, ""]);
        assertMatch(new TextDecoder().decode((await read).stdout), /^time,/);
        assertEquals(Deno.lstatSync(`${folder}/pipe`).isFifo, true);
      }
    }),
);

testNeeding(
  NOT_ON_WINDOWS,
  "--output keeps the mode, and replaces the file that a link leads to",
  () =>
    inCliWorld(async (world) => {
      const { folder, run } = world;
      await world.signIn();
      await Deno.writeTextFile(`${folder}/data.csv`, "of yesterday");
      await Deno.chmod(`${folder}/data.csv`, 0o640);
      await Deno.symlink("data.csv", `${folder}/link`);
      await withServer(world, () => new Response("of today"), async (origin, flags, env) => {
        for (const name of ["link", "new"]) {
          const fetch = ["fetch", origin, "-o", name, "--if-exists", "replace"];
          assertEquals((await run(fetch, { flags, env })).code, 0);
        }
      });
      assertEquals(await Deno.readTextFile(`${folder}/data.csv`), "of today");
      assertEquals(Deno.lstatSync(`${folder}/link`).isSymlink, true);
      assertEquals((Deno.statSync(`${folder}/data.csv`).mode ?? 0) & 0o777, 0o640);
      assertEquals((Deno.statSync(`${folder}/new`).mode ?? 0) & 0o777, 0o666 & ~Deno.umask());
    }),
);

Deno.test("--json escapes what would turn a terminal's text", () =>
  inCliWorld(async (world) => {
    await world.signIn();
    const body = { name: "a\u202eb\u009bc\u{e0001}d" };
    await withServer(world, () => Response.json(body), async (origin, flags, env) => {
      const { stdout } = await world.run(["fetch", origin, "--json"], { flags, env });
      assertEquals(/[^\n\x20-\x7e]/.test(stdout), false);
      assertEquals(JSON.parse(stdout).body, body);
    });
  }));

const broken: [string, string][] = [
  ["with a length", "HTTP/1.1 200 OK\r\ncontent-length: 1000\r\n\r\nonly this"],
  ["in chunks", "HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n5\r\nhello\r\n5\r\nwo"],
];
for (const [what, raw] of broken) {
  Deno.test(`an answer ${what} that breaks off leaves no file, and the old one as it was`, () =>
    inCliWorld(async (world) => {
      const { folder, run } = world;
      await world.signIn();
      await using server = startTcpCapture([raw, raw, raw]);
      const { host, origin } = new URL(server.url);
      const given = { flags: allowing(world, host), env: { API_ALLOWED_ORIGINS: origin } };
      const fetch = ["fetch", server.url, "--output", "data.bin", "--if-exists", "replace"];
      const first = await run(fetch, given);
      assertEquals([first.code, first.stdout], [1, ""]);
      assertMatch(
        first.stderr,
        /^platform-auth: .*the response broke off after.*DOWNLOAD_BROKEN\)\n$/,
      );
      assertEquals(filesIn(folder), []);
      await Deno.writeTextFile(`${folder}/data.bin`, "of yesterday");
      assertEquals((await run(fetch, given)).code, 1);
      assertEquals(await Deno.readTextFile(`${folder}/data.bin`), "of yesterday");
      const printed = await run(["fetch", server.url], given);
      assertEquals(printed.code, 1);
      assertMatch(printed.stdout, /^(only this|hello(wo)?)\n$/);
      assertMatch(printed.stderr, /^platform-auth: .* it broke off; try again \(.*API_BODY\)\n$/);
      for (const { stderr } of [first, printed]) assertEquals(stderr.includes("\n    at "), false);
    }));
}

Deno.test("an HTTP error is printed, not saved, and ends with a failure status", () =>
  inCliWorld(async ({ run, folder, flagsOf, sandbox, signIn }) => {
    await signIn();
    const missing = await run(["fetch", "/v1/nothing"]);
    assertEquals([missing.code, JSON.parse(missing.stdout).error], [1, "not_found"]);
    // The message, which often goes to the same place, starts on a line of its own.
    assert(missing.stdout.endsWith("}\n"));
    assertMatch(
      missing.stderr,
      /^platform-auth: Cannot GET http\S+\/v1\/nothing because the API answered 404 \(.+\); check the path \(help: platform-auth explain API_STATUS\)\n$/,
    );
    const inJson = await run(["fetch", "/v1/nothing?a=secret-word", "--json"]);
    assertEquals(JSON.parse(inJson.stdout).status, 404);
    assertEquals(JSON.parse(inJson.stderr).error.code, "API_STATUS");
    assert(!inJson.stderr.includes("secret-word"), inJson.stderr);
    const flags = flagsOf("fetch");
    const env = { API_BASE_URL: `${sandbox.apiUrl}/v1` };
    const dropped = await run(["fetch", "/stations"], { flags, env });
    assertMatch(dropped.stderr, /answered 404 .*; check the path: .* without one at \/v1\/ /);
    const unsaved = await run(["fetch", "/v1/nothing", "--output", "file"]);
    assertEquals([unsaved.code, unsaved.stdout], [1, ""]);
    assertMatch(
      unsaved.stderr,
      /Cannot GET .*\/v1\/nothing because the API answered 404 \(There is no/,
    );
    const forbidden = await run(["fetch", "/v1/admin/usage"]);
    assertEquals(forbidden.code, 1);
    assertMatch(
      forbidden.stderr,
      /answered 403 .*; your account does not have this permission.*API_STATUS\)\n$/,
    );
    assertEquals(filesIn(folder), []);
    sandbox.expireAccessTokens();
    sandbox.revokeRefreshTokens();
    const over = await run(["fetch", "/v1/stations"]);
    assertEquals(over.code, 3);
    assertMatch(over.stderr, /rejected the refresh token.*; run platform-auth login --force/);
  }));

Deno.test("a rejected token is refreshed before anybody notices", () =>
  inCliWorld(async ({ run, sandbox, signIn }) => {
    await signIn();
    sandbox.expireAccessTokens();
    const { code, stdout } = await run(["fetch", "/v1/whoami"]);
    assertEquals(sandbox.requests.at(-1)?.authFlow, "REFRESH_TOKEN_AUTH");
    assertEquals([code, JSON.parse(stdout).username], [0, "student"]);
  }));

Deno.test("--json gives status, headers and body, parsed where it is JSON", () =>
  inCliWorld(async ({ run, signIn }) => {
    await signIn();
    const station = JSON.parse((await run(["fetch", "/v1/stations", "--json"])).stdout);
    assertEquals([station.status, Array.isArray(station.body)], [200, true]);
    assertMatch(station.headers["content-type"], /json/);
    const csv = JSON.parse((await run(["fetch", CSV, "--json"])).stdout);
    assertMatch(csv.body, /^time,/);
    const missing = await run(["fetch", "/v1/nothing", "--json"]);
    assertEquals([missing.code, JSON.parse(missing.stdout).status], [1, 404]);
  }));

Deno.test("what cannot be reached, read or saved is a sentence without a stack", () =>
  inCliWorld(async (world) => {
    const { run, flagsOf } = world;
    await world.signIn();
    const gone = `127.0.0.1:${freePort()}`;
    const net = { flags: allowing(world, gone), env: { API_ALLOWED_ORIGINS: `http://${gone}` } };
    const failures: [Awaited<ReturnType<typeof run>>, RegExp][] = [
      [
        await run(["fetch", `http://${gone}/x?secret=1`], net),
        /Cannot reach .*refused\); check the address, .*\n$/,
      ],
      [
        await run(["fetch", "http://127.0.0.1:9/x"]),
        /API_ALLOWED_ORIGINS.*explain UNTRUSTED_ORIGIN\)/,
      ],
      [await run(["fetch", "/x", "-d", "@nothing.json"]), /Cannot read nothing\.json/],
      [await run(["fetch", CSV, "-o", "."]), /Cannot save \.: it is a folder; name a file/],
      [
        await run(["fetch", CSV, "-o", "x.csv"], {
          flags: flagsOf("fetch").filter((flag) => !flag.startsWith("--allow-write")),
        }),
        /--allow-read=\. --allow-write=\. .*explain PERMISSION\)/,
      ],
    ];
    for (const [{ code, stdout, stderr }, message] of failures) {
      assertEquals([code, stdout], [1, ""], stderr);
      assertMatch(stderr, message);
      assertEquals(stderr.includes("secret=1"), false);
      assertEquals(stderr.split("\n").length, 2);
    }
    for (
      const [args, message] of [
        [["http://["], /cannot be parsed/],
        [["/x", "-X", "GET", "-d", "y"], /body/],
        [["/x", "-H", "authorization: z"], /authorization/],
      ] as const
    ) {
      const { code, stderr } = await run(["fetch", ...args]);
      assertEquals(code, 2, stderr);
      assertMatch(stderr, message);
    }
    assertEquals(filesIn(world.folder), []);
  }));

Deno.test("a reader that has seen enough ends fetch quietly", () =>
  inCliWorld(async (world) => {
    await world.signIn();
    const body = () => new Response("x".repeat(5_000_000));
    await withServer(world, body, async (origin, flags, env) => {
      const [program = "", ...args] = world.commandLine(["fetch", origin], flags);
      await using child = new Deno.Command(program, {
        args,
        cwd: world.folder,
        clearEnv: true,
        stdout: "piped",
        stderr: "piped",
        env: childEnvironment(env),
      }).spawn();
      const reader = child.stdout.getReader();
      const { value } = await reader.read();
      assert(value && value.length > 0);
      await reader.cancel();
      const stderr = await new Response(child.stderr).text();
      assertEquals([(await child.status).code, stderr], [0, ""]);
    });
  }));

testNeeding(
  NOT_ON_WINDOWS,
  "in a log of both streams a warning precedes the body",
  () =>
    inCliWorld(async ({ folder, commandLine, flagsOf, signIn }) => {
      await signIn();
      const flags = flagsOf("fetch").filter((flag) => flag !== "--allow-env");
      const { stdout } = await new Deno.Command("sh", {
        args: ["-c", 'exec "$@" 2>&1', "sh", ...commandLine(["fetch", "/v1/whoami"], flags)],
        cwd: folder,
        clearEnv: true,
        env: childEnvironment(),
      }).output();
      const [warning = "", body = ""] = new TextDecoder().decode(stdout).trimEnd().split("\n");
      assertMatch(warning, /^platform-auth: warning: .*--allow-env/);
      assertMatch(body, /^\{"username":"student".*\}$/);
    }),
);
