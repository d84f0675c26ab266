/** `platform_auth.py`, and the code of docs/python.md, run with the packages that the page names. */
import { assert, assertEquals, assertMatch } from "@std/assert";
import { delimiter as PATH_SEPARATOR } from "node:path";
import { type ChildResult, outputOf } from "../../support/child_deno.ts";
import { childEnvironment, CLI_PATH, type CliWorld, inCliWorld } from "../../support/cli_world.ts";
import { documentText } from "../../support/documented_flags.ts";
import { type LocalServer, serveLocal } from "../../support/local_server.ts";
import { linesOf } from "../../support/portless.ts";
import { needing, NO_SHELL, notInstalled, pythonWith, subject } from "../../support/needs.ts";

/** The Python block of each section. */
const CODE = new Map(
  documentText("docs/python.md").split(/^#+ /m).map((section) => [
    section.split("\n")[0] ?? "",
    /^```py ignore\n([^]*?)^```$/m.exec(section)?.[1] ?? "",
  ]),
);

/** The code of a section, with the address of an API. */
function codeFor(section: string, apiUrl: string): string {
  return (CODE.get(section) ?? "").replaceAll("https://api.example.com", apiUrl);
}

/** The Python that has what a test needs. */
const PYTHONS = {
  requests: await pythonWith("requests"),
  httpx: await pythonWith("httpx"),
  pandas: await pythonWith("pandas", "requests"),
  fsspec: await pythonWith("fsspec.implementations.http"),
};

interface PythonWorld extends CliWorld {
  /** Runs code in the folder, with `platform-auth` on the path and a session in the `.env`. */
  python(code: string, env?: Record<string, string>): Promise<ChildResult>;
  /** The commands that Python ran. */
  commands(): string[];
}

/** Writes a command `platform-auth`. */
async function writeCommand(folder: string, script: string): Promise<void> {
  const file = `${folder}/bin/platform-auth`;
  await Deno.writeTextFile(file, `#!/bin/sh\n${script}\n`, { mode: 0o755 });
}

/** A folder with `platform_auth.py` and a session. */
function inPythonWorld(
  interpreter: string,
  use: (world: PythonWorld) => Promise<void>,
): Promise<void> {
  return inCliWorld(async (world) => {
    const { folder } = world;
    const { stdout } = await world.run(["python"]);
    await Deno.writeTextFile(`${folder}/platform_auth.py`, stdout);
    await Deno.mkdir(`${folder}/bin`);
    const line = `exec '${Deno.execPath()}' run --no-lock -qA '${CLI_PATH}' "$@"`;
    await writeCommand(folder, `echo "$1" >> '${folder}/commands'\n${line}`);
    await world.signIn();
    const PATH = `${folder}/bin${PATH_SEPARATOR}${Deno.env.get("PATH")}`;
    const python = (code: string, env: Record<string, string> = {}) =>
      outputOf(interpreter, {
        args: ["-c", code],
        cwd: folder,
        clearEnv: true,
        env: childEnvironment({ PATH, ...env }),
      });
    const commands = () => Deno.readTextFileSync(`${folder}/commands`).trim().split("\n");
    await use({ ...world, python, commands });
  });
}

/** A server that notes whether each request contained a token. */
function noting(respond: (url: string) => Response): LocalServer & { received: boolean[] } {
  const received: boolean[] = [];
  const server = serveLocal(({ headers, url }) => {
    received.push(headers.has("authorization"));
    return respond(url);
  });
  return { ...server, received };
}

/** A file store. */
const fileStore = (body: string, status = 200) => noting(() => new Response(body, { status }));

/** An API that redirects to a file store, unless the path is `/v1/stations`. */
const redirecting = (to: string) =>
  noting((url) =>
    url.endsWith("/v1/stations") ? Response.json([{ id: 1 }]) : Response.redirect(to)
  );

/** An API that rejects the first token and, at `/never`, each. */
function rejecting(): LocalServer & { received: string[] } {
  const received: string[] = [];
  const tokens = new Set<string>();
  const server = serveLocal(async (request) => {
    tokens.add(request.headers.get("authorization") ?? "");
    const { pathname } = new URL(request.url);
    received.push(`${pathname} ${tokens.size} ${await request.text()}`);
    const isRejected = pathname === "/never" || tokens.size === 1;
    return new Response("", { status: isRejected ? 401 : 200 });
  });
  return { ...server, received };
}

/** What each section prints with the sandbox. */
const PAGE = [
  ["Python: requests, httpx, pandas", "requests", /^6 \{'id': 'gull-harbor'/],
  ["requests", "requests", /^student\n$/],
  ["httpx", "httpx", /^student\n$/],
  ["pandas", "pandas", /^6 8760\n$/],
  ["fsspec", "fsspec", /^b'PAR1'\n$/],
] as const;

/** Sends a stream and a row with a token that is rejected, then a call that is rejected again. */
const REJECTED = [
  [
    "requests",
    `import requests
session = requests.Session()
session.auth = PlatformAuth(API)
print(session.post(API + "/stream", data=iter([b"a", b"b"])).status_code)
row = session.post(API + "/rows", data="a row")
print(row.status_code, len(row.history))
print(session.get(API + "/never").status_code)`,
  ],
  [
    "httpx",
    `import httpx
with httpx.Client(auth=PlatformAuth(API), base_url=API) as client:
  print(client.post("/stream", content=iter([b"a", b"b"])).status_code)
  row = client.post("/rows", content="a row")
  print(row.status_code, len(row.history))
  print(client.get("/never").status_code)`,
  ],
  [
    "httpx",
    `import asyncio, httpx
async def main():
  async def stream():
    yield b"a"
    yield b"b"
  async with httpx.AsyncClient(auth=PlatformAuth(API), base_url=API) as client:
    print((await client.post("/stream", content=stream())).status_code)
    row = await client.post("/rows", content="a row")
    print(row.status_code, len(row.history))
    print((await client.get("/never")).status_code)
asyncio.run(main())`,
  ],
] as const;

/** Follows a redirect to a file store that responds with 401, and calls the file store itself. */
const ELSEWHERE = [
  [
    "requests",
    `import requests
auth = PlatformAuth(API)
print(requests.get(API + "/file", auth=auth).status_code)
print(requests.get(FILES, auth=auth).status_code)`,
  ],
  [
    "httpx",
    `import httpx
with httpx.Client(auth=PlatformAuth(API), follow_redirects=True) as client:
  print(client.get(API + "/file").status_code)
  print(client.get(FILES).status_code)`,
  ],
] as const;

/** Makes many calls at once with one object. */
const AT_ONCE = [
  [
    "requests",
    `from concurrent.futures import ThreadPoolExecutor
from platform_auth import api
with ThreadPoolExecutor(8) as pool:
  done = pool.map(lambda _: api.get("/v1/whoami").status_code, range(16))
  print(set(done))`,
  ],
  [
    "httpx",
    `import asyncio, httpx
ticks = 0
async def tick():
  global ticks
  while True:
    await asyncio.sleep(0.005)
    ticks += 1
class Watched(PlatformAuth):
  def _ask(self):
    before = ticks
    super()._ask()
    assert ticks > before, "the command blocks the event loop"
async def main():
  ticking = asyncio.create_task(tick())
  async with httpx.AsyncClient(auth=Watched(API), base_url=API) as client:
    done = await asyncio.gather(*[client.get("/v1/whoami") for _ in range(16)])
  print({each.status_code for each in done})
asyncio.run(main())`,
  ],
] as const;

/** Shows what debuggers, logs, files of a session and verbose tracebacks would show. */
const SHOWING = `
import copy, logging, pickle, requests, sys, traceback
logging.basicConfig(level=logging.DEBUG)
auth = PlatformAuth(API)
assert requests.get(API + "/v1/whoami", auth=auth).status_code == 200
print(auth, vars(auth), auth.headers(), pickle.dumps(auth), vars(copy.deepcopy(auth)))
try:
  requests.get(API + "/v1/whoami", auth=auth, hooks={"response": lambda *_, **__: 1 / 0})
except Exception:
  print("".join(traceback.TracebackException(*sys.exc_info(), capture_locals=True).format()))
`;

const FAILING = `
import sys, traceback
try:
  PlatformAuth(API, env_file=ENV_FILE).headers()
except Exception as error:
  shown = "".join(traceback.TracebackException(*sys.exc_info(), capture_locals=True).format())
  assert "hunter2" not in shown, "a secret is in the traceback"
  print(type(error).__name__, error)
`;

/** What the code of a test begins with. */
function withNames(code: string, names: Record<string, string | null>): string {
  const lines = Object.entries(names).map(([name, value]) =>
    `${name} = ${value === null ? "None" : JSON.stringify(value)}\n`
  );
  return `from platform_auth import PlatformAuth\n${lines.join("")}${code}`;
}

subject(NO_SHELL, "Python", (register) => {
  const test = (
    name: string,
    library: keyof typeof PYTHONS,
    use: (world: PythonWorld) => Promise<void>,
  ) => {
    const interpreter = PYTHONS[library];
    const lack = interpreter === undefined
      ? notInstalled(`python3 has no ${library}, or lacks what it needs`)
      : undefined;
    register({ ...needing(lack, name), fn: () => inPythonWorld(interpreter ?? "python3", use) });
  };

  for (const [section, library, output] of PAGE) {
    test(`the section "${section}" of docs/python.md reads the API`, library, async (world) => {
      const { stdout, stderr } = await world.python(codeFor(section, world.sandbox.apiUrl));
      assertEquals(stderr, "");
      assertMatch(stdout, output);
    });
  }

  for (const library of ["pandas", "fsspec"] as const) {
    test(
      `${library} follows a redirect to another host without the token`,
      library,
      async (world) => {
        await using files = fileStore("time,value\n2025-01-01,1\n");
        await using api = redirecting(files.origin);
        const { stdout, stderr } = await world.python(codeFor(library, api.origin), {
          API_BASE_URL: api.origin,
        });
        assertEquals([stdout, stderr], [library === "pandas" ? "1 1\n" : "b'time'\n", ""]);
        assert(api.received.every((hasToken) => hasToken));
        assert(files.received.length > 0 && !files.received.includes(true));
      },
    );
  }

  for (const [index, [library, code]] of REJECTED.entries()) {
    const name = index === 2 ? "httpx.AsyncClient" : library;
    test(
      `after a 401, ${name} repeats the call once with a newer token`,
      library,
      async (world) => {
        await using api = rejecting();
        const { stdout, stderr } = await world.python(withNames(code, { API: api.origin }));
        assertEquals([stdout, stderr], ["401\n200 1\n401\n", ""]);
        // The last 401 follows a refresh so closely that another refresh would not help.
        assertEquals(api.received, ["/stream 1 ab", "/rows 1 a row", "/rows 2 a row", "/never 2 "]);
        assertEquals(world.commands(), ["token", "token", "refresh", "token", "token"]);
      },
    );
  }

  test("if no refresh is possible after a 401, a warning says why", "requests", async (world) => {
    await using api = rejecting();
    const text = await Deno.readTextFile(world.envFile);
    await Deno.writeTextFile(world.envFile, text.replace(/^REFRESH_TOKEN=.*\n/m, ""));
    const code = `import requests
print(requests.get(API, auth=PlatformAuth(API)).status_code)`;
    const { stdout, stderr } = await world.python(withNames(code, { API: api.origin }));
    assertEquals(stdout, "401\n");
    assertMatch(stderr, /UserWarning: The API rejected the token \(401\), .*: .*login --force/);
  });

  for (const [library, code] of ELSEWHERE) {
    test(`${library} sends the token to no other host, and warns`, library, async (world) => {
      await using files = fileStore("", 401);
      await using api = redirecting(files.origin);
      const names = { API: api.origin, FILES: files.origin };
      const { stdout, stderr } = await world.python(withNames(code, names));
      assertEquals(stdout, "401\n401\n");
      assertMatch(stderr, /UserWarning: PlatformAuth sends no token to http:/);
      assertEquals([api.received, files.received], [[true], [false, false]]);
      assertEquals(world.commands(), ["token"]);
    });
  }

  for (const [library, code] of AT_ONCE) {
    test(`parallel calls of ${library} ask for one token`, library, async (world) => {
      const names = { API: world.sandbox.apiUrl };
      const { stdout, stderr } = await world.python(withNames(code, names));
      assertEquals([stdout, stderr], ["{200}\n", ""]);
      assertEquals(world.commands(), ["token"]);
    });
  }

  test(
    "login() prompts for a portal string, which later calls use",
    "requests",
    async (world) => {
      const { ACCESS_TOKEN = "" } = linesOf(world.envFile);
      await Deno.writeTextFile(`${world.folder}/copied`, `bearer ${ACCESS_TOKEN}`);
      const code = `import getpass, platform_auth
getpass.getpass = lambda prompt: open("copied").read()
platform_auth.api.get("/v1/whoami")
platform_auth.login()
print(platform_auth.api.get("/v1/whoami").status_code)`;
      const { stdout, stderr } = await world.python(code);
      assertMatch(stdout, /^Signed in as student\.\n.*cannot be refreshed.*\n200\n$/);
      assert(!/eyJ/.test(stdout + stderr));
      assertEquals(world.commands(), ["token", "login", "token"]);
      assertEquals(linesOf(world.envFile).REFRESH_TOKEN, undefined);
      await Deno.writeTextFile(`${world.folder}/copied`, "bearer hunter2");
      const wrong = await world.python(`import getpass, platform_auth
getpass.getpass = lambda prompt: open("copied").read()
${FAILING.replace(/PlatformAuth.*/, "platform_auth.login()")}`);
      assertMatch(wrong.stdout, /^PlatformAuthError .*Copy Token/);
    },
  );

  test("PlatformAuth asks for another token a minute before expiry", "requests", async (world) => {
    const code = `import time
auth = PlatformAuth(API)
real = time.time
for minutes in (0, 28.5, 29.5):
  time.time = lambda: real() + minutes * 60
  auth.headers()
  print(open("commands").read().count("token"))`;
    const { stdout, stderr } = await world.python(withNames(code, { API: world.sandbox.apiUrl }));
    assertEquals([stdout, stderr], ["1\n1\n2\n", ""]);
  });

  test("neither PlatformAuth nor a traceback shows the token", "requests", async (world) => {
    const { code, stdout, stderr } = await world.python(
      withNames(SHOWING, { API: world.sandbox.apiUrl }),
    );
    assertEquals(code, 0, stderr.replaceAll(/eyJ\S+/g, "token"));
    assertMatch(stdout, /_header.*Traceback/s);
    assert(!/eyJ/.test(stdout + stderr));
  });

  test("an error of PlatformAuth says what to do, without a secret", "requests", async (world) => {
    const { folder, python, sandbox } = world;
    const failing = async (ENV_FILE: string | null, env?: Record<string, string>) => {
      const names = { API: sandbox.apiUrl, ENV_FILE };
      const { stdout, stderr } = await python(withNames(FAILING, names), env);
      assertEquals(stderr, "");
      return stdout;
    };
    assertMatch(
      await failing("empty.env"),
      /^LoginNeeded .*empty\.env.*platform-auth login.*platform_auth\.login\(\)/,
    );
    assertMatch(
      await failing(null, { PATH: "/usr/bin:/bin", HOME: folder }),
      /^PlatformAuthError Cannot find the command platform-auth; .*PATH/,
    );
    for (const printed of ["hunter2", '{"access_token": "hunter2 hunter2"}', '["hunter2"]', ""]) {
      await writeCommand(folder, `echo '${printed}'`);
      assertMatch(
        await failing(null),
        /^PlatformAuthError .*printed no token, .*platform-auth python/,
      );
    }
    await writeCommand(folder, "echo 'something broke' >&2; exit 1");
    assertEquals(await failing(null), "PlatformAuthError something broke\n");
  });

  test("without API_BASE_URL, PlatformAuth needs an https address", "requests", async (world) => {
    const code = `import requests
for address in ([], ["http://api.example.com"], ["https://kim:hunter2@api.example.com"]):
  try:
    requests.get(API, auth=PlatformAuth(*address))
  except Exception as error:
    print(type(error).__name__, error)`;
    const text = await Deno.readTextFile(world.envFile);
    await Deno.writeTextFile(world.envFile, text.replace(/^API_BASE_URL=.*\n/m, ""));
    const names = { API: world.sandbox.apiUrl };
    const { stdout, stderr } = await world.python(withNames(code, names));
    assertEquals(stderr, "");
    assertMatch(stdout, /^PlatformAuthError .*API_BASE_URL.*\n(ValueError .*https.*\n){2}$/);
  });
});
