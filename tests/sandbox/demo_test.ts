/** `deno task demo`: it runs every step, prints no secret, and leaves nothing behind. */
import { assert, assertEquals, assertMatch, assertStringIncludes } from "@std/assert";
import { fileURLToPath } from "node:url";
import { createSandbox } from "../../src/sandbox/mod.ts";
import { inFolder } from "../support/child_deno.ts";
import { denoConfig } from "../support/documented_flags.ts";

const ROOT = fileURLToPath(new URL("../../", import.meta.url));
const DEMO = `${ROOT}src/demo/main.ts`;
/** The flags of `deno task demo`, with the path of the executable that its shell inserts. */
const FLAGS = (denoConfig().tasks["demo"] ?? "")
  .replace(/"\$\(deno eval --print 'Deno\.execPath\(\)'\)"/, "EXEC_PATH")
  .split(" ").filter((word) => word.startsWith("--"))
  .map((flag) => flag.replace("EXEC_PATH", Deno.execPath()).replace("--lock=", `--lock=${ROOT}`));
// Nothing listens on the discard port, so a request through this proxy fails.
const NO_WAY_OUT = "http://127.0.0.1:9";
/** Settings that would break the demo if it used them. */
const HOSTILE = {
  ACCESS_TOKEN: "a.b.c",
  REFRESH_TOKEN: "somebody-elses",
  APP_CLIENT_ID: "another-client",
  APP_CLIENT_SECRET: "",
  USER_POOL_ID: "another-pool",
  USERNAME: "somebody",
  PASSWORD: "something",
  AUTH_URL: "https://provider.example",
  AUTH_REGION: "nowhere",
  AUTH_PROVIDER: "nonsense",
  AUTH_REFRESH_SECRET_HASH: "nonsense",
  AUTH_TIMEOUT_MS: "soon",
  AUTH_ENV_FILE: "/nowhere/.env",
  API_BASE_URL: "ftp://api.example",
  API_ALLOWED_ORIGINS: "ftp://files.example",
  HTTP_PROXY: NO_WAY_OUT,
  http_proxy: NO_WAY_OUT,
  ALL_PROXY: NO_WAY_OUT,
  NO_PROXY: "",
};

interface Run {
  readonly code: number;
  readonly out: string;
  readonly err: string;
}

/** Runs the demo in a folder with a `.env` of the user, and asserts that it leaves nothing behind. */
async function runDemo(flags: string[], env: Record<string, string> = {}): Promise<Run> {
  const userEnv = "APP_CLIENT_ID=mine\nACCESS_TOKEN=mine\n";
  return await inFolder((temporary) =>
    inFolder(async (cwd) => {
      await Deno.writeTextFile(`${cwd}/.env`, userEnv);
      const { code, stdout, stderr } = await new Deno.Command(Deno.execPath(), {
        args: ["run", ...flags, DEMO],
        cwd,
        env: { TMPDIR: temporary, TMP: temporary, TEMP: temporary, ...env },
        stdin: "null",
      }).output();
      assertEquals([...Deno.readDirSync(temporary)], []);
      assertEquals([...Deno.readDirSync(cwd)].map((entry) => entry.name), [".env"]);
      assertEquals(await Deno.readTextFile(`${cwd}/.env`), userEnv);
      const text = (bytes: Uint8Array) => new TextDecoder().decode(bytes);
      return { code, out: text(stdout), err: text(stderr) };
    })
  );
}

async function assertNoSecret(text: string): Promise<void> {
  await using sandbox = createSandbox();
  const { password, clientSecret } = sandbox.settings;
  assert(!text.includes(password), "the password is shown");
  assert(!text.includes(clientSecret), "the client secret is shown");
  assert(!text.includes("eyJ"), "the beginning of an access token is shown");
  // A refresh token is opaque, so it is recognized by its length.
  assert(!/[\w-]{40,}/.test(text), "something as long as a token is shown");
}

Deno.test("the demo runs all steps with the permissions of its task in any environment", async () => {
  const { code, out, err } = await runDemo(FLAGS, HOSTILE);
  assertEquals({ code, err }, { code: 0, err: "" });
  assertStringIncludes(out, "All 7 steps passed.");
  assert(!out.includes("\x1b"), "colors outside a terminal");
  assertStringIncludes(out, "> await login({ portalToken })");
  assertMatch(out, /bearer <access token, \d+ characters>/);
  assertEquals(out.match(/requests to the provider: .*/g), [
    "requests to the provider: none",
    "requests to the provider: InitiateAuth USER_PASSWORD_AUTH → 200",
    "requests to the provider: none",
    "requests to the provider: none",
    "requests to the provider: InitiateAuth REFRESH_TOKEN_AUTH → 200",
    "requests to the provider: none",
    "requests to the provider: RevokeToken → 200",
  ]);
  assertStringIncludes(out, "GET /v1/stations → 200 (20 times)");
  assertStringIncludes(out, "stations, session from the file");
  await assertNoSecret(out);
});

Deno.test("the demo stops at the first step that fails and reports the error", async () => {
  const flags = FLAGS.filter((flag) => !flag.startsWith("--allow-run"));
  const { code, out, err } = await runDemo(flags);
  assertEquals(code, 1);
  assertMatch(
    err,
    /^\nStep 6 failed\.\n {3}check: {4}deno run .* succeeds\n {3}expected: no error\n {3}seen: +\w+: /,
  );
  assertEquals(out.match(/^\d\. /gm)?.length, 6);
  assert(!out.includes("steps passed"));
  await assertNoSecret(out + err);
});
