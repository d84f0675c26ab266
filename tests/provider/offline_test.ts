/** A machine that reaches the provider but not the package registry. */
import { assertEquals, assertNotMatch, assertStringIncludes } from "@std/assert";
import { cpSync } from "node:fs";
import { join, relative } from "node:path";
import { fileURLToPath } from "node:url";
import { SETTINGS } from "../support/canaries.ts";
import { inFolder, MOD_PATH, neededVariables, outputOf, runScript } from "../support/child_deno.ts";
import { lackOf, missingOnWindows, testNeeding } from "../support/needs.ts";
import { saysReady } from "../support/text_lines.ts";

const ROOT = fileURLToPath(new URL("../../", import.meta.url));

/** Fails to log in in a separate process, whose first request removes all packages. */
async function loginOffline(
  denoDir: string,
  flags: string[] = ["--cached-only"],
  env: Record<string, string> = {},
): Promise<{ code: string; message: string; requests: number }> {
  const script = `
    import { createSession } from ${JSON.stringify(MOD_PATH)};
    const npm = Deno.env.get("DENO_DIR") + "/npm";
    let requests = 0;
    const session = createSession({
      ...${JSON.stringify(SETTINGS)},
      sleep: () => Promise.resolve(),
      fetch: () => {
        if (++requests === 1) Deno.renameSync(npm, npm + "-away");
        return Promise.resolve(Response.json({ ChallengeName: "SMS_MFA" }));
      },
    });
    const { code, message } = await session.login().catch((error) => error);
    console.log(JSON.stringify({ code, message, requests }));`;
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

/** Fills a Deno cache with the packages of a module, as a kernel does: without a lock file. */
async function fillCache(denoDir: string, module: string): Promise<void> {
  const args = ["info", "--json", "--no-lock"];
  const info = async (...more: string[]) =>
    JSON.parse((await outputOf(Deno.execPath(), { args: [...args, ...more], cwd: ROOT })).stdout);
  const { npmCache } = await info();
  const { npmPackages } = await info(module) as {
    npmPackages: Record<string, { localPath: string }>;
  };
  for (const { localPath } of Object.values(npmPackages)) {
    for (const from of [localPath, join(localPath, "../registry.json")]) {
      cpSync(from, join(denoDir, "npm", relative(npmCache, from)), { recursive: true });
    }
  }
}

Deno.test("login() loads no package between its request and the response", () =>
  inFolder(async (denoDir) => {
    await fillCache(denoDir, "src/provider/checks.ts");
    const outcome = await loginOffline(denoDir);
    assertEquals([outcome.code, outcome.requests], ["CHALLENGE_REQUIRED", 1]);
  }));

Deno.test("login() sends nothing if its package can neither be found nor fetched", () =>
  inFolder(async (denoDir) => {
    // Nothing listens at this address, and no message may show its password.
    const registry = { NPM_CONFIG_REGISTRY: "http://ada:token@127.0.0.1:9/" };
    const { code, requests, message } = await loginOffline(`${denoDir}/empty`, [], registry);
    assertEquals([code, requests], ["PACKAGE_UNAVAILABLE", 0]);
    const checks = Deno.readTextFileSync(`${ROOT}src/provider/checks.ts`);
    const [zod = "no import"] = /npm:zod@[\d.]+/.exec(checks) ?? [];
    assertStringIncludes(message, "nothing was sent; ");
    assertStringIncludes(message, `run \`deno cache ${zod}\``);
    assertNotMatch(message, /127\.0\.0\.1|ada:token/);
  }));

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

const LOOPBACK_ALONE = ["-rn", "sh", "-c", 'ip link set lo up && exec "$@"', "sh"];

testNeeding(
  missingOnWindows("Windows has no network namespaces") ??
    await lackOf("unshare", ...LOOPBACK_ALONE, "true"),
  "deno task sandbox starts without a network after the notebooks have loaded their packages",
  () =>
    inFolder(async (denoDir) => {
      await fillCache(denoDir, "src/cli.ts");
      await using sandbox = new Deno.Command("unshare", {
        args: [...LOOPBACK_ALONE, Deno.execPath(), "task", "sandbox", "--port=0"],
        cwd: ROOT,
        clearEnv: true,
        env: { ...neededVariables(), DENO_DIR: denoDir, NO_COLOR: "1" },
        stdin: "null",
        stdout: "piped",
        stderr: "inherit",
      }).spawn();
      const { drained } = await saysReady(sandbox.stdout, "Ctrl+C", "the sandbox");
      sandbox.kill("SIGINT");
      await drained;
      await sandbox.status;
    }),
);
