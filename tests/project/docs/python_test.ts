/** `platform_auth.py`, and the code of docs/python.md, run with the packages that the page names. */
import { assert, assertEquals, assertMatch } from "@std/assert";
import { delimiter as PATH_SEPARATOR } from "node:path";
import { type ChildResult, outputOf } from "../../support/child_deno.ts";
import { childEnvironment, CLI_PATH, type CliWorld, inCliWorld } from "../../support/cli_world.ts";
import { documentText } from "../../support/documented_flags.ts";
import { type LocalServer, serveLocal } from "../../support/local_server.ts";
import { linesOf } from "../../support/portless.ts";
import { needing, NO_SHELL, notInstalled, pythonWith, subject } from "../../support/needs.ts";

/** The Python block of a section of the page, with the address of an API. */
function codeOf(section: string, apiUrl: string): string {
  const [, text = ""] = documentText("docs/python.md").split(new RegExp(`^#+ ${section}\n`, "m"));
  const [, code = ""] = /^```py ignore\n([^]*?)^```$/m.exec(text) ?? [];
  return code.replaceAll("https://api.example.com", apiUrl);
}

/** The Python that has what a test needs. */
const PYTHONS = {
  requests: await pythonWith("requests"),
  httpx: await pythonWith("httpx"),
  pandas: await pythonWith("pandas", "requests"),
  fsspec: await pythonWith("fsspec.implementations.http"),
};

interface PythonWorld extends CliWorld {
  /** Runs code in the folder. It knows `PlatformAuth`, the address `API` and these names. */
  python(code: string, names?: Record<string, string>): Promise<ChildResult>;
  /** Replaces `platform-auth`, which is on the path, with a script. */
  writeCommand(script: string): Promise<void>;
  /** Removes a line from the `.env`. */
  removeLine(name: string): Promise<void>;
  /** The commands that Python ran. */
  commands(): string[];
}

/** A folder with `platform_auth.py` and a session. */
function inPythonWorld(
  interpreter: string,
  use: (world: PythonWorld) => Promise<void>,
): Promise<void> {
  return inCliWorld(async (world) => {
    const { folder, sandbox } = world;
    const file = new URL("../../../python/platform_auth.py", import.meta.url);
    await Deno.copyFile(file, `${folder}/platform_auth.py`);
    await Deno.mkdir(`${folder}/bin`);
    const writeCommand = (script: string) =>
      Deno.writeTextFile(`${folder}/bin/platform-auth`, `#!/bin/sh\n${script}\n`, { mode: 0o755 });
    const line = `exec '${Deno.execPath()}' run --no-lock -qA '${CLI_PATH}' "$@"`;
    await writeCommand(`echo "$1" >> '${folder}/commands'\n${line}`);
    await world.signIn();
    const python: PythonWorld["python"] = (code, names = {}) => {
      const known = Object.entries({ API: sandbox.apiUrl, ...names })
        .map(([name, value]) => `${name} = ${JSON.stringify(value)}\n`);
      const PATH = `${folder}/bin${PATH_SEPARATOR}${Deno.env.get("PATH")}`;
      return outputOf(interpreter, {
        args: ["-c", `from platform_auth import PlatformAuth\n${known.join("")}${code}`],
        cwd: folder,
        clearEnv: true,
        env: childEnvironment({ PATH, ...names["API"] && { API_BASE_URL: names["API"] } }),
      });
    };
    const commands = () => Deno.readTextFileSync(`${folder}/commands`).trim().split("\n");
    const removeLine = async (name: string) => {
      const text = await Deno.readTextFile(world.envFile);
      await Deno.writeTextFile(world.envFile, text.replace(new RegExp(`^${name}=.*\n`, "m"), ""));
    };
    await use({ ...world, python, writeCommand, removeLine, commands });
  });
}

interface NotingServer extends LocalServer {
  readonly received: string[];
}

/** A file store that notes whether each request contained a token. */
function fileStore(status: number): NotingServer {
  const received: string[] = [];
  const server = serveLocal(({ headers }) => {
    received.push(headers.has("authorization") ? "a token" : "no token");
    return new Response("time,value\n2025-01-01,1\n", { status });
  });
  return { ...server, received };
}

/** An API that rejects the first token and, at `/never`, each. It redirects calls for a file. */
function fakeApi(files: NotingServer): NotingServer {
  const received: string[] = [];
  const tokens = new Set<string>();
  const server = serveLocal(async (request) => {
    const token = request.headers.get("authorization") ?? "none";
    tokens.add(token);
    const { pathname } = new URL(request.url);
    const number = token === "none" ? token : tokens.size;
    received.push(`${pathname} ${number} ${await request.text()}`.trimEnd());
    if (pathname === "/v1/stations") return Response.json([{ id: 1 }]);
    if (!/^\/(never|rows|stream)$/.test(pathname)) return Response.redirect(files.origin);
    const isRejected = pathname === "/never" || tokens.size === 1;
    return new Response("", { status: isRejected ? 401 : 200 });
  });
  return { ...server, received };
}

/** What sections print with the sandbox. */
const PAGE = [
  ["Python: requests, httpx, pandas", "requests", /^6 \{'id': 'gull-harbor'/],
  ["requests", "requests", /^student\n$/],
  ["httpx", "httpx", /^student\n$/],
] as const;

/** Functions that send a request. The body is a text or a list of parts, which cannot be repeated. */
const SENDERS = [
  [
    "requests",
    "requests",
    `import requests
session = requests.Session()
session.auth = PlatformAuth(API)
def send(url, body):
  return session.post(url, data=iter(body) if isinstance(body, list) else body)`,
  ],
  [
    "httpx",
    "httpx.Client",
    `import httpx
client = httpx.Client(auth=PlatformAuth(API), follow_redirects=True)
def send(url, body):
  return client.post(url, content=iter(body) if isinstance(body, list) else body)`,
  ],
  [
    "httpx",
    "httpx.AsyncClient",
    `import asyncio, httpx
client = httpx.AsyncClient(auth=PlatformAuth(API), follow_redirects=True)
loop = asyncio.new_event_loop()
async def parts(body):
  for part in body:
    yield part
def send(url, body):
  content = parts(body) if isinstance(body, list) else body
  return loop.run_until_complete(client.post(url, content=content))`,
  ],
] as const;

/** Sends a stream and a row, calls that are always rejected, and a file's address in two ways. */
const CALLS = `
print(send(API + "/stream", [b"a", b"b"]).status_code)
row = send(API + "/rows", "a row")
print(row.status_code, len(row.history))
print(send(API + "/never", None).status_code)
print(send(API + "/file", None).status_code)
print(send(FILES, None).status_code)`;

/** Makes many calls at once with one object. */
const AT_ONCE = `from concurrent.futures import ThreadPoolExecutor
from platform_auth import api
with ThreadPoolExecutor(8) as pool:
  done = pool.map(lambda _: api.get("/v1/whoami").status_code, range(16))
  print(set(done))`;

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

/** Prints the error of a call, whose verbose traceback must not show a secret. */
const failing = (call: string): string => `
import getpass, platform_auth, sys, traceback
getpass.getpass = lambda prompt: open("copied").read()
try:
  ${call}
except Exception as error:
  shown = "".join(traceback.TracebackException(*sys.exc_info(), capture_locals=True).format())
  assert "hunter2" not in shown, "a secret is in the traceback"
  print(type(error).__name__, error)
`;

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
      const { stdout, stderr } = await world.python(codeOf(section, world.sandbox.apiUrl));
      assertEquals(stderr, "");
      assertMatch(stdout, output);
    });
  }

  for (const [library, output] of [["pandas", "1 1\n"], ["fsspec", "b'time'\n"]] as const) {
    test(
      `the section "${library}" of docs/python.md follows a redirect without the token`,
      library,
      async (world) => {
        await using files = fileStore(200);
        await using api = fakeApi(files);
        const code = codeOf(library, api.origin);
        const { stdout, stderr } = await world.python(code, { API: api.origin });
        assertEquals([stdout, stderr], [output, ""]);
        assert(api.received.length > 0 && api.received.every((call) => call.endsWith(" 1")));
        assertEquals(new Set(files.received), new Set(["no token"]));
      },
    );
  }

  for (const [library, name, sender] of SENDERS) {
    test(
      `${name} repeats a call once after a 401, and sends the token to no other host`,
      library,
      async (world) => {
        await using files = fileStore(401);
        await using api = fakeApi(files);
        const names = { API: api.origin, FILES: files.origin };
        const { stdout, stderr } = await world.python(sender + CALLS, names);
        assertEquals(stdout, "401\n200 1\n401\n401\n401\n", stderr);
        assertMatch(stderr, /UserWarning: PlatformAuth sends no token to http:/);
        // The 401 of /never follows a refresh so closely that another refresh would not help.
        const calls = ["/stream 1 ab", "/rows 1 a row", "/rows 2 a row", "/never 2", "/file 2"];
        assertEquals([api.received, files.received], [calls, ["no token", "no token"]]);
        assertEquals(world.commands(), ["token", "token", "refresh", "token", "token"]);
      },
    );
  }

  test("parallel calls ask for one token", "requests", async (world) => {
    const { stdout, stderr } = await world.python(AT_ONCE);
    assertEquals([stdout, stderr], ["{200}\n", ""]);
    assertEquals(world.commands(), ["token"]);
  });

  test("if no refresh is possible after a 401, a warning says why", "requests", async (world) => {
    await using files = fileStore(401);
    await using api = fakeApi(files);
    await world.removeLine("REFRESH_TOKEN");
    const code = `import requests
print(requests.get(API + "/rows", auth=PlatformAuth(API)).status_code)`;
    const { stdout, stderr } = await world.python(code, { API: api.origin });
    assertEquals(stdout, "401\n");
    assertMatch(stderr, /UserWarning: The API rejected the token \(401\), .*: .*login --force/);
  });

  test("login() prompts for a portal string, which later calls use", "requests", async (world) => {
    const { folder, envFile, python } = world;
    const { ACCESS_TOKEN = "" } = linesOf(envFile);
    await Deno.writeTextFile(`${folder}/copied`, `bearer ${ACCESS_TOKEN}`);
    const code = `import getpass, platform_auth
getpass.getpass = lambda prompt: open("copied").read()
platform_auth.api.get("/v1/whoami")
platform_auth.login()
print(platform_auth.api.get("/v1/whoami").status_code)`;
    const { stdout, stderr } = await python(code);
    assertMatch(stdout, /^Signed in as student\.\n.*cannot be refreshed.*\n200\n$/);
    assert(!/eyJ/.test(stdout + stderr));
    assertEquals(world.commands(), ["token", "login", "token"]);
    assertEquals(linesOf(envFile).REFRESH_TOKEN, undefined);
  });

  test("PlatformAuth asks for another token a minute before expiry", "requests", async (world) => {
    const code = `import time
auth = PlatformAuth(API)
real = time.time
for minutes in (0, 28.5, 29.5):
  time.time = lambda: real() + minutes * 60
  auth.headers()
  print(open("commands").read().count("token"))`;
    const { stdout, stderr } = await world.python(code);
    assertEquals([stdout, stderr], ["1\n1\n2\n", ""]);
  });

  test("neither PlatformAuth nor a traceback shows the token", "requests", async (world) => {
    const { code, stdout, stderr } = await world.python(SHOWING);
    assertEquals(code, 0, stderr.replaceAll(/eyJ\S+/g, "token"));
    assertMatch(stdout, /_header.*Traceback/s);
    assert(!/eyJ/.test(stdout + stderr));
  });

  test("an error says what to do, without a secret", "requests", async (world) => {
    const assertFails = async (call: string, shown: RegExp) => {
      const { stdout, stderr } = await world.python(failing(call));
      assertEquals(stderr, "");
      assertMatch(stdout, shown);
    };
    const call = "PlatformAuth(API).headers()";
    await assertFails(
      'PlatformAuth(API, env_file="empty.env").headers()',
      /^LoginNeeded .*empty\.env.*platform-auth login.*platform_auth\.login\(\)/,
    );
    await Deno.writeTextFile(`${world.folder}/copied`, "bearer hunter2");
    await assertFails("platform_auth.login()", /^PlatformAuthError .*Copy Token/);
    for (const printed of ['{"access_token": "hunter2 hunter2"}', ""]) {
      await world.writeCommand(`echo '${printed}'`);
      await assertFails(call, /^PlatformAuthError .*printed no token, .*platform-auth python/);
    }
    await world.writeCommand("echo 'something broke' >&2; exit 1");
    await assertFails(call, /^PlatformAuthError something broke\n$/);
    await assertFails(
      `import os; os.environ.update(PATH="/nowhere", HOME="/nowhere"); ${call}`,
      /^PlatformAuthError Cannot find the command platform-auth; .*PATH/,
    );
  });

  test("without API_BASE_URL, PlatformAuth needs an https address", "requests", async (world) => {
    const code = `import requests
for address in ([], ["http://api.example.com"], ["https://kim:hunter2@api.example.com"]):
  try:
    requests.get(API, auth=PlatformAuth(*address))
  except Exception as error:
    print(type(error).__name__, error)`;
    await world.removeLine("API_BASE_URL");
    const { stdout, stderr } = await world.python(code);
    assertEquals(stderr, "");
    assertMatch(stdout, /^PlatformAuthError .*API_BASE_URL.*\n(ValueError .*https.*\n){2}$/);
  });
});
