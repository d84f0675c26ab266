/** `deno task demo`: it runs every step, prints no secret, and leaves nothing behind. */
import { assert, assertEquals, assertMatch, assertStringIncludes } from "@std/assert";
import { fileURLToPath } from "node:url";
import { createSandbox } from "../../src/sandbox/mod.ts";
import { denoConfig } from "../support/documented_flags.ts";
import { needing, NO_SIGNALS } from "../support/needs.ts";

const ROOT = fileURLToPath(new URL("../../", import.meta.url));
const DEMO = `${ROOT}src/demo/main.ts`;
/** The flags of `deno task demo`, with the path of the executable that its shell inserts. */
const FLAGS = (denoConfig().tasks["demo"] ?? "")
  .replace(/"\$\(deno eval --print 'Deno\.execPath\(\)'\)"/, "EXEC_PATH")
  .split(" ").filter((word) => word.startsWith("--"))
  .map((flag) => flag.replace("EXEC_PATH", Deno.execPath()).replace("--lock=", `--lock=${ROOT}`));
// Nothing listens on the discard port, so a request through this proxy fails.
const NO_WAY_OUT = "http://127.0.0.1:9";
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

/** Two folders: the demo's working folder with a `.env` of the user, and one for temporary files. */
class Place implements Disposable {
  readonly cwd = Deno.makeTempDirSync();
  readonly #temporary = Deno.makeTempDirSync();
  readonly #userEnv = "APP_CLIENT_ID=mine\nACCESS_TOKEN=mine\n";

  constructor() {
    Deno.writeTextFileSync(`${this.cwd}/.env`, this.#userEnv);
  }

  command(flags: string[], env: Record<string, string> = {}): Deno.Command {
    const temporary = { TMPDIR: this.#temporary, TMP: this.#temporary, TEMP: this.#temporary };
    return new Deno.Command(Deno.execPath(), {
      args: ["run", ...flags, DEMO],
      cwd: this.cwd,
      env: { ...temporary, ...env },
      stdin: "null",
      stdout: "piped",
      stderr: "piped",
    });
  }

  assertUntouched(): void {
    assertEquals([...Deno.readDirSync(this.#temporary)].map((entry) => entry.name), []);
    assertEquals([...Deno.readDirSync(this.cwd)].map((entry) => entry.name), [".env"]);
    assertEquals(Deno.readTextFileSync(`${this.cwd}/.env`), this.#userEnv);
  }

  [Symbol.dispose](): void {
    for (const folder of [this.cwd, this.#temporary]) Deno.removeSync(folder, { recursive: true });
  }
}

async function runDemo(
  { flags = FLAGS, env = {} }: { flags?: string[]; env?: Record<string, string> } = {},
): Promise<{ code: number; out: string; err: string }> {
  using place = new Place();
  const { code, stdout, stderr } = await place.command(flags, env).output();
  place.assertUntouched();
  const [out, err] = [stdout, stderr].map((bytes) => new TextDecoder().decode(bytes));
  return { code, out: out ?? "", err: err ?? "" };
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

function assertPassed({ code, out, err }: { code: number; out: string; err: string }): void {
  assertEquals({ code, err }, { code: 0, err: "" });
  assertEquals(out.match(/^\d\. /gm)?.length, 7);
  assertStringIncludes(out, "All 7 steps passed.");
  assert(!out.includes("\x1b"), "colors outside a terminal");
}

Deno.test("the demo runs all steps with the permissions of its task, whatever the environment", async () => {
  const run = await runDemo({ env: HOSTILE });
  assertPassed(run);
  assertStringIncludes(run.out, "> await login({ portalToken })");
  assertMatch(run.out, /bearer <access token, \d+ characters>/);
  assertEquals(run.out.match(/requests to the provider: .*/g), [
    "requests to the provider: none",
    "requests to the provider: InitiateAuth USER_PASSWORD_AUTH → 200",
    "requests to the provider: none",
    "requests to the provider: none",
    "requests to the provider: InitiateAuth REFRESH_TOKEN_AUTH → 200",
    "requests to the provider: none",
    "requests to the provider: RevokeToken → 200",
  ]);
  assertStringIncludes(run.out, "GET /v1/stations → 200 (20 times)");
  assertStringIncludes(run.out, "stations, session from the file");
  await assertNoSecret(run.out);
});

Deno.test("the demo stops at a step that fails, and says what was seen", async () => {
  const flags = FLAGS.filter((flag) => !flag.startsWith("--allow-run"));
  const { code, out, err } = await runDemo({ flags });
  assertEquals(code, 1);
  assertMatch(
    err,
    /^\nStep 6 failed\.\n {3}check: {4}deno run .* succeeds\n {3}expected: no error\n {3}seen: +\w+: /,
  );
  assertEquals(out.match(/^\d\. /gm)?.length, 6);
  assert(!out.includes("steps passed"));
  await assertNoSecret(out + err);
});

Deno.test({
  ...needing(NO_SIGNALS, "the demo removes its folder when it is interrupted"),
  async fn() {
    using place = new Place();
    await using process = place.command(FLAGS).spawn();
    const reader = process.stdout.pipeThrough(new TextDecoderStream()).getReader();
    let text = "";
    while (!text.includes("the session will be saved in")) {
      const { value, done } = await reader.read();
      assert(!done, "it ended early");
      text += value;
    }
    process.kill("SIGINT");
    await process.stderr.cancel();
    await reader.cancel();
    const { code } = await process.status;
    // 0 if the demo ended before the signal arrived, on a busy machine.
    assert(code === 130 || code === 0, `it exited with ${code}`);
    place.assertUntouched();
  },
});
