import { assert, assertEquals, assertMatch } from "@std/assert";
import { startSandbox } from "../../src/sandbox/mod.ts";
import { inFolder, MOD_PATH, runScript } from "../support/child_deno.ts";
import { assertHides, SETTINGS } from "../support/canaries.ts";
import { variablesOf, writeEnv } from "../support/sandbox_env.ts";
import { record } from "../support/local_server.ts";

const SCRIPT = `
  import { authFetch, login, refresh } from ${JSON.stringify(MOD_PATH)};
  await login({ force: true });
  await refresh();
  const answers = [
    await authFetch("/v1/stations"),
    await authFetch("/v1/annotations", { method: "POST", body: "{}" }),
    await authFetch("/v1/stations/" + (await (await authFetch("/v1/stations")).json())[0].id + "/download"),
  ];
  for (const answer of answers) console.log(answer.status, (await answer.text()).length > 0);
  console.log(Deno.env.get("NO_PROXY") ?? "unset");`;

const VARIABLES = [
  ["HTTP_PROXY", "127.0.0.1", "unset"],
  ["ALL_PROXY", "localhost", "intranet.example,10.0.0.0/8"],
] as const;
for (const [name, host, noProxy] of VARIABLES) {
  Deno.test(`no request to ${host} goes through the proxy in ${name}`, async () => {
    await using sandbox = await startSandbox();
    await using proxy = record();
    await inFolder(async (folder) => {
      const settings = Object.entries(variablesOf(sandbox.settings))
        .map(([key, value]) => [key, value?.replace("http://127.0.0.1", `http://${host}`)]);
      await writeEnv(folder, Object.fromEntries(settings));
      const { code, stdout, stderr } = await runScript(SCRIPT, {
        cwd: folder,
        flags: ["-A"],
        env: { [name]: proxy.origin, ...(noProxy !== "unset" && { NO_PROXY: noProxy }) },
      });
      // Asserted first, because a failure must not print what the proxy received.
      assertEquals(proxy.requests.length, 0, "requests through the proxy");
      assertEquals([code, stderr], [0, ""]);
      assertEquals(stdout, `200 true\n201 true\n200 true\n${noProxy}\n`);
    });
  });
}

/** What is said of a request to each of the two hosts through this proxy. */
const faults: [
  what: string,
  proxy: (server: string) => string,
  response: string,
  says: RegExp,
  fix: RegExp,
][] = [
  [
    "a proxy that refuses the tunnel",
    (server) => server,
    "HTTP/1.1 502 Refused\r\n\r\n",
    /the proxy refused the connection/,
    /any proxy/,
  ],
  [
    "a proxy that asks for the password",
    (server) => server,
    "HTTP/1.1 407 Password\r\n\r\n",
    /the proxy requires a user name and a password/,
    /before Deno starts, set HTTPS_PROXY to http:\/\/USER:PASSWORD@HOST:PORT/,
  ],
  [
    "a proxy that rejects the password",
    (server) => server.replace("//", "//ada:proxy-password@"),
    "HTTP/1.1 407 Password\r\n\r\n",
    /the proxy .* rejected them/,
    /before Deno starts, set HTTPS_PROXY to http:\/\/USER:PASSWORD@HOST:PORT/,
  ],
  [
    "a proxy whose name cannot be resolved",
    () => "http://ada:proxy-password%40@proxy..example:8080",
    "",
    /the host name was not found, or the proxy in HTTPS_PROXY cannot be reached/,
    /check HTTPS_PROXY/,
  ],
];
for (const [what, address, response, says, fix] of faults) {
  Deno.test(`the error for ${what} shows what failed, but not the password`, async () => {
    await using proxy = record(response);
    await inFolder(async (folder) => {
      // Nothing listens on this port. Addresses, because the runtime looks up a name even if it uses the proxy.
      const script = `
        import { createSession } from ${JSON.stringify(MOD_PATH)};
        const options = {
          ...${JSON.stringify(SETTINGS)}, authUrl: "https://127.0.0.1:2/",
          apiBaseUrl: "https://127.0.0.2:2", sleep: () => Promise.resolve(), envFile: false,
        };
        const session = createSession(options);
        const show = ({ code, problem, fix }) => console.log(JSON.stringify({ code, problem, fix }));
        await session.login({ strategy: "password" }).catch(show);
        await session.login({ portalToken: "bearer opaque-token-of-the-portal" });
        await session.authFetch("/v1/x?secret=1").catch(show);
        const { checks } = await session.doctor();
        for (const { name, message, fix } of checks) {
          if (["provider", "API"].includes(name)) show({ code: name, problem: message, fix });
        }`;
      const { stdout, stderr } = await runScript(script, {
        cwd: folder,
        flags: ["-A"],
        env: { HTTPS_PROXY: address(proxy.origin) },
      });
      const lines = stdout.trim().split("\n").map((line) => JSON.parse(line));
      assertEquals(lines.map(({ code }) => code), [
        "UNREACHABLE",
        "API_UNREACHABLE",
        "provider",
        "API",
      ], stderr);
      for (const line of lines) {
        assertMatch(line.problem, says);
        assertMatch(line.fix, fix);
      }
      assertEquals((stdout + stderr).match(/ada:|proxy-password|secret=/), null);
    });
    for (const tunnel of proxy.requests) {
      assert(tunnel.startsWith("CONNECT 127.0.0."), "a tunnel, not the call");
      assert(!/opaque-token|secret=/.test(tunnel));
      await assertHides(tunnel, "a tunnel");
    }
  });
}
