/** A machine that reaches the provider but not the package registry. */
import { assertEquals, assertMatch } from "@std/assert";
import { cpSync, existsSync } from "node:fs";
import { inFolder, MOD_PATH, runScript } from "../support/child_deno.ts";

interface Outcome {
  readonly code: string;
  readonly message: string;
  readonly requests: number;
}

/** Logs in in a separate process; the first request removes all packages. */
async function loginOffline(
  denoDir: string,
  flags: string[] = ["--cached-only"],
  env: Record<string, string> = {},
): Promise<Outcome> {
  const script = `
    import { createSession } from ${JSON.stringify(MOD_PATH)};
    let requests = 0;
    const session = createSession({
      authUrl: "https://provider.example",
      clientId: "example-client",
      clientSecret: "",
      userPoolId: "example_Pool",
      username: "ada",
      password: "example-password",
      sleep: () => Promise.resolve(),
      fetch: () => {
        if (++requests === 1) Deno.renameSync(${JSON.stringify(`${denoDir}/npm`)}, ${
    JSON.stringify(`${denoDir}/away`)
  });
        return Promise.resolve(Response.json({ ChallengeName: "SMS_MFA" }));
      },
    });
    const outcome = await session.login().then(
      ({ state }) => ({ code: state, message: "" }),
      ({ code, message }) => ({ code, message }),
    );
    console.log(JSON.stringify({ ...outcome, requests }));`;
  return await inFolder(async (cwd) => {
    const { stdout, stderr } = await runScript(script, {
      cwd,
      flags: ["--allow-all", ...flags],
      env: { ...env, DENO_DIR: denoDir },
    });
    if (stdout === "") throw new Error(stderr);
    return JSON.parse(stdout);
  });
}

/** Fills a Deno cache with the only package that a login needs. */
async function fillCache(denoDir: string): Promise<void> {
  // This import puts the package into the cache of this process.
  await import("../../src/provider/checks.ts");
  const info = await new Deno.Command(Deno.execPath(), { args: ["info", "--json"] }).output();
  const { npmCache } = JSON.parse(new TextDecoder().decode(info.stdout));
  for (const { name } of Deno.readDirSync(npmCache)) {
    const from = `${npmCache}/${name}/zod`;
    if (existsSync(from)) cpSync(from, `${denoDir}/npm/${name}/zod`, { recursive: true });
  }
}

Deno.test("login() loads no package between its request and the response", () =>
  inFolder(async (denoDir) => {
    await fillCache(denoDir);
    const outcome = await loginOffline(denoDir);
    assertEquals([outcome.code, outcome.requests], ["CHALLENGE_REQUIRED", 1]);
  }));

const unreachable: [string, string[], Record<string, string>][] = [
  ["with --cached-only", ["--cached-only"], {}],
  ["with an unreachable registry", [], { NPM_CONFIG_REGISTRY: "http://ada:token@127.0.0.1:9/" }],
];
for (const [what, flags, env] of unreachable) {
  Deno.test(`login() sends nothing if its package is not cached (${what})`, () =>
    inFolder(async (denoDir) => {
      const outcome = await loginOffline(`${denoDir}/empty`, flags, env);
      assertEquals([outcome.code, outcome.requests], ["PACKAGE_UNAVAILABLE", 0]);
      assertMatch(outcome.message, /nothing was sent; .*run `deno cache npm:zod@\^4`/);
      assertEquals(/127\.0\.0\.1|ada:token/.test(outcome.message), false);
    }));
}

Deno.test("a session with an access token in the .env calls the API without any package", () =>
  inFolder(async (folder) => {
    await Deno.writeTextFile(`${folder}/.env`, "ACCESS_TOKEN=opaque-access-token\n");
    const script = `
      import { createSession } from ${JSON.stringify(MOD_PATH)};
      const session = createSession({
        envFile: ".env",
        authUrl: "https://provider.example",
        apiBaseUrl: "https://api.example",
        fetch: (input, init) =>
          Promise.resolve(new Response(new Request(input, init).headers.get("authorization"))),
      });
      console.log(session.status().state, await (await session.authFetch("/")).text());`;
    const { stdout, stderr } = await runScript(script, {
      cwd: folder,
      flags: ["-A", "--cached-only"],
      env: { DENO_DIR: `${folder}/empty` },
    });
    assertEquals([stdout, stderr], ["unknown bearer opaque-access-token\n", ""]);
  }));
