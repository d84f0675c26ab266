/** The Python code of docs/python.md, run with the packages that it names. */
import { assert, assertEquals, assertMatch } from "@std/assert";
import { delimiter as PATH_SEPARATOR } from "node:path";
import { type Sandbox, startSandbox } from "../../../src/sandbox/mod.ts";
import { inFolder } from "../../support/child_deno.ts";
import { childEnvironment, CLI_PATH } from "../../support/cli_world.ts";
import { documentText } from "../../support/documented_flags.ts";
import { type Lack, needing, NO_SHELL, notInstalled, subject } from "../../support/needs.ts";
import { variablesOf, writeEnv } from "../../support/sandbox_env.ts";

/** The Python block of each section. */
const CODE = new Map(
  documentText("docs/python.md").split(/^## /m).map((section) => [
    section.split("\n")[0] ?? "",
    /^```py ignore\n([^]*?)^```$/m.exec(section)?.[1] ?? "",
  ]),
);

/** The first interpreter that has a package: the one on the path, or Debian's. */
async function pythonWith(name: string): Promise<string | undefined> {
  if (NO_SHELL) return undefined;
  for (const python of ["python3", "/usr/bin/python3"]) {
    const command = new Deno.Command(python, { args: ["-c", `import ${name}`], stderr: "null" });
    if ((await command.output().catch(() => undefined))?.success) return python;
  }
  return undefined;
}

interface Place {
  readonly folder: string;
  readonly sandbox: Sandbox;
  /** Runs a program in the folder of a user, with `platform-auth` on the path. */
  run(
    program: string,
    ...args: string[]
  ): Promise<{ code: number; stdout: string; stderr: string }>;
}

/** A folder with `platform_auth.py` and the `.env` of a sandbox. Its tokens live five seconds. */
async function inPlace(
  work: (place: Place) => Promise<void>,
  accessTokenSeconds = 5,
): Promise<void> {
  await using sandbox = await startSandbox({ accessTokenSeconds });
  await inFolder(async (cwd) => {
    const deno = Deno.execPath();
    const line = `exec '${deno}' run --no-lock -qA '${CLI_PATH}' "$@"`;
    await Deno.writeTextFile(`${cwd}/platform-auth`, `#!/bin/sh\n${line}\n`, { mode: 0o755 });
    await Deno.writeTextFile(`${cwd}/platform_auth.py`, CODE.get("The class") ?? "");
    await writeEnv(cwd, variablesOf(sandbox.settings));
    const PATH = `${cwd}${PATH_SEPARATOR}${Deno.env.get("PATH")}`;
    const env = childEnvironment({ PATH, NO_COLOR: "1", NO_PROXY: "127.0.0.1" });
    await work({
      folder: cwd,
      sandbox,
      async run(program, ...args) {
        const command = new Deno.Command(program, { args, cwd, env, clearEnv: true });
        const { code, stdout, stderr } = await command.output();
        const [out = "", err = ""] = [stdout, stderr].map((bytes) =>
          new TextDecoder().decode(bytes)
        );
        return { code, stdout: out, stderr: err };
      },
    });
  });
}

/** The code of a section with the address of the sandbox's API. */
function codeFor({ apiUrl }: Pick<Sandbox, "apiUrl">, section: string, more = ""): string {
  return (CODE.get(section) ?? "").replaceAll("https://api.example.com", apiUrl) + more;
}

/**
 * Stands in for pandas where it is not installed: as pandas does, it opens an address with urllib and
 * `storage_options` as the headers.
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

// Calls until the third token, and never with an expired one.
const THREE_TOKENS = `
import time
seen, end = [], time.time() + 60
while len(seen) < 3 and time.time() < end:
    response = session.get(f"{API}/v1/whoami")
    assert response.status_code == 200, response.text
    sent = response.request.headers["Authorization"]
    if sent not in seen:
        seen.append(sent)
print(len(seen))
elsewhere = requests.Request("GET", API.replace("127.0.0.1", "localhost"), auth=session.auth)
print("Authorization" in elsewhere.prepare().headers)
`;

/** Prints the header that the class makes with these options. */
const headers = (...options: string[]) =>
  `from platform_auth import PlatformAuth
print(PlatformAuth("https://api.example.com", *${
    JSON.stringify(options)
  }).headers()["Authorization"])`;

const python = await pythonWith("json");
const noPython = python === undefined ? notInstalled("no python3 found on PATH") : undefined;
const requests = await pythonWith("requests");

const noRequests = requests === undefined ? notInstalled("python3 has no requests") : undefined;

const OUTPUTS = { httpx: "student", pandas: "6 8760", fsspec: "b'PAR1'" };

const pythons: Record<string, string | undefined> = {};
for (const name of Object.keys(OUTPUTS)) {
  pythons[name] = await pythonWith(name === "fsspec" ? "fsspec.implementations.http" : name);
}

subject(NO_SHELL, "the Python page", (test) => {
  test({
    ...needing(
      noRequests,
      "requests always sends a current token of five seconds, and sends it only to the API",
    ),
    fn: () =>
      inPlace(async ({ sandbox, run }) => {
        await run("platform-auth", "login");
        const script = codeFor(sandbox, "requests", THREE_TOKENS);
        const { stdout, stderr } = await run(requests ?? "", "-c", script);
        assertEquals([stdout, stderr], ["student\n3\nFalse\n", ""]);
        const [login, ...later] = sandbox.requests.map(({ authFlow }) => authFlow);
        assertEquals([login, ...new Set(later)], ["USER_PASSWORD_AUTH", "REFRESH_TOKEN_AUTH"]);
        assert(sandbox.apiRequests.every(({ status }) => status === 200));
      }),
  });

  test({
    ...needing(
      noRequests,
      "pandas sends no token to another origin to which the API redirects",
    ),
    fn: () =>
      inPlace(async ({ folder, run }) => {
        await run("platform-auth", "login");
        const received: boolean[] = [];
        const options = { hostname: "127.0.0.1", port: 0, onListen: () => {} };
        await using files = Deno.serve(options, ({ headers }) => {
          received.push(headers.has("authorization"));
          return new Response("time,value\n2025-01-01,1\n");
        });
        const sentTo: boolean[] = [];
        await using api = Deno.serve(options, ({ headers, url }) => {
          sentTo.push(headers.has("authorization"));
          const { pathname } = new URL(url);
          return pathname.endsWith(".csv")
            ? Response.redirect(`http://127.0.0.1:${files.addr.port}/data`)
            : Response.json([{ id: "gull-harbor" }]);
        });
        const apiUrl = `http://127.0.0.1:${api.addr.port}`;
        const interpreter = pythons.pandas ?? requests ?? "";
        if (pythons.pandas === undefined) await Deno.writeTextFile(`${folder}/pandas.py`, PANDAS);
        const code = codeFor({ apiUrl }, "pandas");
        const { stdout, stderr } = await run(interpreter, "-c", code);
        assertEquals([stdout, stderr], ["1 1\n", ""]);
        assertEquals([sentTo, received], [[true, true], [false]]);
      }),
  });

  test({
    ...needing(noPython, "without a session, the exception says what to do, in a sentence"),
    fn: () =>
      inPlace(async ({ run }) => {
        const { code, stderr } = await run(python ?? "", "-c", headers("--env-file", "empty.env"));
        assertEquals(code, 1);
        assertMatch(
          stderr,
          /\nRuntimeError: There is no session \(.*empty\.env.* does not exist\); check the path, .*\n$/,
        );
      }),
  });

  test({
    ...needing(noRequests, "after a 401, requests sends the call once more with a new token"),
    fn: () =>
      inPlace(async ({ sandbox, run }) => {
        await run("platform-auth", "login");
        const seen: string[] = [];
        const tokens = new Set<string>();
        const atOther: boolean[] = [];
        const options = { hostname: "127.0.0.1", port: 0, onListen: () => {} };
        await using other = Deno.serve(options, ({ headers }) => {
          atOther.push(headers.has("authorization"));
          return new Response("", { status: 401 });
        });
        await using api = Deno.serve(options, async (request) => {
          if (request.url.endsWith("/away")) {
            return Response.redirect(`http://127.0.0.1:${other.addr.port}/`);
          }
          tokens.add(request.headers.get("authorization") ?? "");
          seen.push(`${await request.text()} ${tokens.size}`);
          const isRejected = request.url.endsWith("/never") || tokens.size === 1;
          return new Response("", { status: isRejected ? 401 : 200 });
        });
        const apiUrl = `http://127.0.0.1:${api.addr.port}`;
        const script = `import requests
from platform_auth import PlatformAuth
session = requests.Session()
session.auth = PlatformAuth("${apiUrl}")
first = session.post("${apiUrl}/rows", data="a row")
print(first.status_code, len(first.history), session.get("${apiUrl}/never").status_code)
print(session.get("${apiUrl}/away").status_code)`;
        const { stdout, stderr } = await run(requests ?? "", "-c", script);
        assertEquals([stdout, stderr], ["200 1 401\n401\n", ""]);
        // The last 401 follows a refresh so closely that another one would not help.
        assertEquals(seen, ["a row 1", "a row 2", " 2"]);
        assertEquals(atOther, [false]);
        const flows = sandbox.requests.map(({ authFlow }) => authFlow);
        assertEquals(flows, ["USER_PASSWORD_AUTH", "REFRESH_TOKEN_AUTH"]);
      }, 1_800),
  });

  for (const [name, output] of Object.entries(OUTPUTS)) {
    const python = pythons[name];
    const lack: Lack = { reason: `python3 has no ${name}`, installable: false };
    test({
      ...needing(python === undefined ? lack : undefined, `${name} reads the API`),
      fn: () =>
        inPlace(async ({ sandbox, run }) => {
          await run("platform-auth", "login");
          const { stdout, stderr } = await run(python ?? "", "-c", codeFor(sandbox, name));
          assertEquals([stdout.trim(), stderr], [output, ""]);
        }),
    });
  }
});
