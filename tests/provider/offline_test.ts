/** A machine that reaches the provider but not the package registry. */
import { assertEquals } from "@std/assert";
import { cpSync } from "node:fs";
import { join, relative } from "node:path";
import { fileURLToPath } from "node:url";
import { inFolder, MOD_PATH, neededVariables, outputOf, runScript } from "../support/child_deno.ts";
import { lackOf, missingOnWindows, testNeeding } from "../support/needs.ts";
import { saysReady } from "../support/text_lines.ts";

const ROOT = fileURLToPath(new URL("../../", import.meta.url));

interface NpmPackage {
  readonly localPath: string;
}

/** Fills a Deno cache with the packages of a module, as a kernel does: without a lock file. */
async function fillCache(denoDir: string, module: string): Promise<void> {
  const args = ["info", "--json", "--no-lock"];
  const info = async (...more: string[]) =>
    JSON.parse((await outputOf(Deno.execPath(), { args: [...args, ...more], cwd: ROOT })).stdout);
  const { npmCache } = await info();
  const { npmPackages } = await info(module) as { npmPackages: Record<string, NpmPackage> };
  for (const { localPath } of Object.values(npmPackages)) {
    for (const from of [localPath, join(localPath, "../registry.json")]) {
      cpSync(from, join(denoDir, "npm", relative(npmCache, from)), { recursive: true });
    }
  }
}

Deno.test("login() and calls of the API need no package", () =>
  inFolder(async (folder) => {
    const script = `
      import { createSession } from ${JSON.stringify(MOD_PATH)};
      const session = createSession({
        authUrl: "https://provider.example",
        clientId: "example-client",
        clientSecret: "",
        userPoolId: "example_Pool",
        username: "ada",
        password: "example-password",
        apiBaseUrl: "https://api.example",
        fetch: (input, init) =>
          Promise.resolve(
            String(input).startsWith("https://provider.example")
              ? Response.json({ AuthenticationResult: { AccessToken: "opaque-access-token" } })
              : new Response(new Request(input, init).headers.get("authorization")),
          ),
      });
      await session.login();
      console.log(await (await session.authFetch("/")).text());`;
    const { stdout, stderr } = await runScript(script, {
      cwd: folder,
      flags: ["-A", "--cached-only"],
      env: { DENO_DIR: `${folder}/empty` },
    });
    assertEquals([stdout, stderr], ["bearer opaque-access-token\n", ""]);
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
