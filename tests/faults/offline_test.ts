/** A machine that reaches the provider but not the registry of its packages. */
import { assertEquals, assertMatch } from "@std/assert";
import { inFolder, MOD_PATH, runScript } from "../support/child_deno.ts";

const challenge = '{"ChallengeName":"SMS_MFA","ChallengeParameters":{}}';
const refusal = '{"__type":"NotAuthorizedException","message":"Incorrect username or password."}';

interface Outcome {
  readonly code: string;
  readonly message: string;
  readonly requests: number;
}

/** Logs in in a separate process; the first request removes all packages. */
async function loginOffline(
  denoDir: string,
  answer: { status: number; body: string },
  options: Record<string, unknown> = {},
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
      ...${JSON.stringify(options)},
      fetch: () => {
        if (++requests === 1) Deno.renameSync(${JSON.stringify(`${denoDir}/npm`)}, ${
    JSON.stringify(`${denoDir}/away`)
  });
        const { body, status } = ${JSON.stringify(answer)};
        return Promise.resolve(new Response(body, { status }));
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

let warmCache: string | undefined;
Deno.test.afterAll(async () => {
  if (warmCache) await Deno.remove(warmCache, { recursive: true });
});

/** A Deno cache with the one package that a login needs, the same for all tests: it has a thousand files. */
async function inWarmCache<T>(use: (denoDir: string) => Promise<T>): Promise<T> {
  const denoDir = warmCache ??= await makeWarmCache();
  try {
    return await use(denoDir);
  } finally {
    if (existsFolder(`${denoDir}/away`)) await Deno.rename(`${denoDir}/away`, `${denoDir}/npm`);
  }
}

async function makeWarmCache(): Promise<string> {
  // Loaded here, so that it is in this process's cache.
  await import("../../src/provider/checks.ts");
  const info = await new Deno.Command(Deno.execPath(), { args: ["info", "--json"] }).output();
  const { npmCache } = JSON.parse(new TextDecoder().decode(info.stdout));
  const denoDir = await Deno.realPath(await Deno.makeTempDir({ prefix: "platform-auth-" }));
  for (const { name } of Deno.readDirSync(npmCache)) {
    const from = `${npmCache}/${name}/zod`;
    if (existsFolder(from)) copyFolder(from, `${denoDir}/npm/${name}/zod`);
  }
  return denoDir;
}

function existsFolder(path: string): boolean {
  try {
    return Deno.statSync(path).isDirectory;
  } catch {
    return false;
  }
}

function copyFolder(from: string, to: string): void {
  Deno.mkdirSync(to, { recursive: true });
  for (const { name, isDirectory } of Deno.readDirSync(from)) {
    if (isDirectory) copyFolder(`${from}/${name}`, `${to}/${name}`);
    else Deno.copyFileSync(`${from}/${name}`, `${to}/${name}`);
  }
}

const answers: [string, { status: number; body: string }, string][] = [
  ["a challenge", { status: 200, body: challenge }, "CHALLENGE_REQUIRED"],
  ["a refusal", { status: 400, body: refusal }, "INVALID_CREDENTIALS"],
];
for (const [what, answer, code] of answers) {
  Deno.test(`no package is loaded between a login and its response, ${what}`, () =>
    inWarmCache(async (denoDir) => {
      const outcome = await loginOffline(denoDir, answer);
      assertEquals([outcome.code, outcome.requests], [code, 1]);
    }));
}

Deno.test("without a registry, a wrong setting is reported, and nothing is sent", () =>
  inWarmCache(async (denoDir) => {
    const outcome = await loginOffline(denoDir, { status: 200, body: challenge }, { timeoutMs: 0 });
    assertEquals([outcome.code, outcome.requests], ["INVALID_SETTING", 0]);
  }));

const unreachable: [string, string[], Record<string, string>][] = [
  ["--cached-only", ["--cached-only"], {}],
  ["a registry that is not there", [], { NPM_CONFIG_REGISTRY: "http://ada:token@127.0.0.1:9/" }],
];
for (const [what, flags, env] of unreachable) {
  Deno.test(`an empty cache and ${what} end a login before anything is sent`, () =>
    inFolder(async (denoDir) => {
      const answer = { status: 200, body: challenge };
      const outcome = await loginOffline(`${denoDir}/empty`, answer, {}, flags, env);
      assertEquals([outcome.code, outcome.requests], ["PACKAGE_UNAVAILABLE", 0]);
      assertMatch(outcome.message, /nothing was sent; .*run `deno cache npm:zod@\^4`/);
      assertEquals(/127\.0\.0\.1|ada:token/.test(outcome.message), false);
    }));
}

Deno.test("a start, a resume from the .env and a call need no package", () =>
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
