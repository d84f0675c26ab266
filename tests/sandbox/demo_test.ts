/** `deno task demo`: it runs every step, prints no secret, and leaves nothing behind. */
import { assert, assertEquals, assertStringIncludes } from "@std/assert";
import { fileURLToPath } from "node:url";
import { createSandbox } from "../../src/sandbox/mod.ts";
import { inFolder, namesIn, outputOf } from "../support/child_deno.ts";
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
  USERNAME: "somebody",
  PASSWORD: "something",
  AUTH_URL: "https://provider.example",
  AUTH_PROVIDER: "nonsense",
  AUTH_ENV_FILE: "/nowhere/.env",
  API_BASE_URL: "ftp://api.example",
  HTTP_PROXY: NO_WAY_OUT,
  http_proxy: NO_WAY_OUT,
  ALL_PROXY: NO_WAY_OUT,
  NO_PROXY: "",
};

Deno.test("the demo runs all steps with the permissions of its task in any environment", () =>
  inFolder((temporary) =>
    inFolder(async (cwd) => {
      const userEnv = "APP_CLIENT_ID=mine\nACCESS_TOKEN=mine\n";
      await Deno.writeTextFile(`${cwd}/.env`, userEnv);
      const { code, stdout, stderr } = await outputOf(Deno.execPath(), {
        args: ["run", ...FLAGS, DEMO],
        cwd,
        env: { TMPDIR: temporary, TMP: temporary, TEMP: temporary, ...HOSTILE },
      });
      assertEquals({ code, stderr }, { code: 0, stderr: "" });
      assertStringIncludes(stdout, "All 7 steps passed.");
      assert(!stdout.includes("\x1b"), "colors outside a terminal");
      assertEquals(stdout.match(/requests to the provider: .*/g), [
        "requests to the provider: none",
        "requests to the provider: InitiateAuth USER_PASSWORD_AUTH → 200",
        "requests to the provider: none",
        "requests to the provider: none",
        "requests to the provider: InitiateAuth REFRESH_TOKEN_AUTH → 200",
        "requests to the provider: none",
        "requests to the provider: RevokeToken → 200",
      ]);
      assertStringIncludes(stdout, "GET /v1/stations → 200 (20 times)");
      await using sandbox = createSandbox();
      const { password, clientSecret } = sandbox.settings;
      for (const secret of [password, clientSecret, "eyJ"]) assert(!stdout.includes(secret));
      // A refresh token is opaque, so it is recognized by its length.
      assert(!/[\w-]{40,}/.test(stdout), "something as long as a token is shown");
      assertEquals([namesIn(temporary), namesIn(cwd)], [[], [".env"]]);
      assertEquals(await Deno.readTextFile(`${cwd}/.env`), userEnv);
    })
  ));
