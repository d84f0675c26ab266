/** The Python code of docs/python.md, run with the packages that the page names. */
import { assertEquals, assertMatch } from "@std/assert";
import { delimiter as PATH_SEPARATOR } from "node:path";
import { type ChildResult, outputOf } from "../../support/child_deno.ts";
import { childEnvironment, CLI_PATH, type CliWorld, inCliWorld } from "../../support/cli_world.ts";
import { documentText } from "../../support/documented_flags.ts";
import { serveLocal } from "../../support/local_server.ts";
import {
  type Lack,
  needing,
  NO_SHELL,
  notInstalled,
  pythonWith,
  subject,
} from "../../support/needs.ts";

/** The Python block of each section. */
const CODE = new Map(
  documentText("docs/python.md").split(/^## /m).map((section) => [
    section.split("\n")[0] ?? "",
    /^```py ignore\n([^]*?)^```$/m.exec(section)?.[1] ?? "",
  ]),
);

/** The code of a section, with the address of an API. */
function codeFor(section: string, apiUrl: string): string {
  return (CODE.get(section) ?? "").replaceAll("https://api.example.com", apiUrl);
}

const requests = await pythonWith("requests");
const noRequests = requests === undefined ? notInstalled("python3 has no requests") : undefined;

interface PythonWorld extends CliWorld {
  /** Runs code in the folder, with `platform-auth` on the path and a session in the `.env`. */
  python(code: string, interpreter?: string): Promise<ChildResult>;
}

/** A folder with `platform_auth.py` and a session. */
function inPythonWorld(use: (world: PythonWorld) => Promise<void>): Promise<void> {
  return inCliWorld(async (world) => {
    const { folder } = world;
    const line = `exec '${Deno.execPath()}' run --no-lock -qA '${CLI_PATH}' "$@"`;
    await Deno.writeTextFile(`${folder}/platform-auth`, `#!/bin/sh\n${line}\n`, { mode: 0o755 });
    await Deno.writeTextFile(`${folder}/platform_auth.py`, CODE.get("The class") ?? "");
    await world.signIn();
    const PATH = `${folder}${PATH_SEPARATOR}${Deno.env.get("PATH")}`;
    const python = (code: string, interpreter = requests ?? "python3") =>
      outputOf(interpreter, {
        args: ["-c", code],
        cwd: folder,
        clearEnv: true,
        env: childEnvironment({ PATH, NO_COLOR: "1" }),
      });
    await use({ ...world, python });
  });
}

/**
 * Replaces pandas, which Debian's CI does not have. Like pandas, it opens an address with urllib and
 * takes `storage_options` as the headers.
 */
const PANDAS = `
import urllib.request
DataFrame = list
def read_csv(source, storage_options=None, **others):
    if isinstance(source, str):
        request = urllib.request.Request(source, headers=storage_options or {})
        source = urllib.request.urlopen(request)
    return source.read().splitlines()[1:]
`;

/** Prints the time until the class renews its token, and calls the API again after the token expired. */
const RENEWAL = `
import re, time
print(round((session.auth.renew_at - time.time()) / 60))
text = open(".env").read()
past = "2020-01-01T00:00:00.000Z"
open(".env", "w").write(re.sub("(ACCESS_TOKEN_EXPIRES_AT=).*", "\\\\g<1>" + past, text))
before, session.auth.renew_at = session.auth.token, 0
print(session.get(f"{API}/v1/whoami").status_code, session.auth.token != before)
elsewhere = requests.Request("GET", API.replace("127.0.0.1", "localhost"), auth=session.auth)
print("Authorization" in elsewhere.prepare().headers)
`;

const OUTPUTS = { httpx: "student", pandas: "6 8760", fsspec: "b'PAR1'" };

subject(NO_SHELL, "the Python page", (test) => {
  test({
    ...needing(noRequests, "the Python class renews the token a minute before it expires"),
    fn: () =>
      inPythonWorld(async ({ sandbox, python }) => {
        const { stdout, stderr } = await python(codeFor("requests", sandbox.apiUrl) + RENEWAL);
        assertEquals([stdout, stderr], ["student\n29\n200 True\nFalse\n", ""]);
        const flows = sandbox.requests.map(({ authFlow }) => authFlow);
        assertEquals(flows, ["USER_PASSWORD_AUTH", "REFRESH_TOKEN_AUTH"]);
      }),
  });

  test({
    ...needing(noRequests, "pandas sends no token to another origin after a redirect"),
    fn: () =>
      inPythonWorld(async ({ folder, python }) => {
        const received: boolean[] = [];
        await using files = serveLocal(({ headers }) => {
          received.push(headers.has("authorization"));
          return new Response("time,value\n2025-01-01,1\n");
        });
        const sentTo: boolean[] = [];
        await using api = serveLocal(({ headers, url }) => {
          sentTo.push(headers.has("authorization"));
          return url.endsWith(".csv")
            ? Response.redirect(`${files.origin}/data`)
            : Response.json([{ id: "gull-harbor" }]);
        });
        const pandas = await pythonWith("pandas");
        if (pandas === undefined) await Deno.writeTextFile(`${folder}/pandas.py`, PANDAS);
        const { stdout, stderr } = await python(codeFor("pandas", api.origin), pandas);
        assertEquals([stdout, stderr], ["1 1\n", ""]);
        assertEquals([sentTo, received], [[true, true], [false]]);
      }),
  });

  test({
    ...needing(noRequests, "without a session, the Python exception says what to do"),
    fn: () =>
      inPythonWorld(async ({ python }) => {
        const { code, stderr } = await python(`from platform_auth import PlatformAuth
PlatformAuth("https://api.example.com", "--env-file", "empty.env").headers()`);
        assertEquals(code, 1);
        assertMatch(stderr, /\nRuntimeError: There is no session \(.*empty\.env.*; .*\n$/);
      }),
  });

  test({
    ...needing(
      noRequests,
      "after a 401, a requests session repeats the call once with a new token",
    ),
    fn: () =>
      inPythonWorld(async ({ sandbox, python }) => {
        const atOther: boolean[] = [];
        await using other = serveLocal(({ headers }) => {
          atOther.push(headers.has("authorization"));
          return new Response("", { status: 401 });
        });
        const seen: string[] = [];
        const tokens = new Set<string>();
        await using api = serveLocal(async (request) => {
          if (request.url.endsWith("/away")) return Response.redirect(other.origin);
          tokens.add(request.headers.get("authorization") ?? "");
          seen.push(`${await request.text()} ${tokens.size}`);
          const isRejected = request.url.endsWith("/never") || tokens.size === 1;
          return new Response("", { status: isRejected ? 401 : 200 });
        });
        const { stdout, stderr } = await python(`import requests
from platform_auth import PlatformAuth
session = requests.Session()
session.auth = PlatformAuth("${api.origin}")
first = session.post("${api.origin}/rows", data="a row")
print(first.status_code, len(first.history), session.get("${api.origin}/never").status_code)
print(session.get("${api.origin}/away").status_code)`);
        assertEquals([stdout, stderr], ["200 1 401\n401\n", ""]);
        // The last 401 follows a refresh so closely that another refresh would not help.
        assertEquals(seen, ["a row 1", "a row 2", " 2"]);
        assertEquals(atOther, [false]);
        const flows = sandbox.requests.map(({ authFlow }) => authFlow);
        assertEquals(flows, ["USER_PASSWORD_AUTH", "REFRESH_TOKEN_AUTH"]);
      }),
  });
});

for (const [name, output] of Object.entries(OUTPUTS)) {
  const interpreter = await pythonWith(
    name === "fsspec" ? "fsspec.implementations.http" : name,
  );
  const lack: Lack = { reason: `python3 has no ${name}`, installable: false };
  Deno.test({
    ...needing(interpreter === undefined ? lack : undefined, `${name} reads the API`),
    fn: () =>
      inPythonWorld(async ({ sandbox, python }) => {
        const { stdout, stderr } = await python(codeFor(name, sandbox.apiUrl), interpreter);
        assertEquals([stdout.trim(), stderr], [output, ""]);
      }),
  });
}
