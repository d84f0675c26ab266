import { assert, assertEquals, assertMatch } from "@std/assert";
import { createSandbox, type Sandbox, startSandbox } from "../../../src/sandbox/mod.ts";
import { repeatedPart } from "../../support/canaries.ts";
import { inFolder, MOD_PATH, namesIn, outputOf, runScript } from "../../support/child_deno.ts";
import { childEnvironment, CLI_PATH } from "../../support/cli_world.ts";
import { codeBlocks, filledIn } from "../../support/documented_flags.ts";
import { REFUSING } from "../../support/free_port.ts";
import { serveLocal } from "../../support/local_server.ts";
import { NO_SHELL, testNeeding } from "../../support/needs.ts";
import { linesOf } from "../../support/portless.ts";
import { variablesOf, writeEnv } from "../../support/sandbox_env.ts";
import { makeCertificates, NO_OPENSSL, startProxy } from "../../support/tls_and_proxy.ts";

const SCRIPT = `
  import { authFetch, login, refresh } from ${JSON.stringify(MOD_PATH)};
  await login({ strategy: "environment" });
  await refresh();
  const answer = await authFetch("/v1/whoami?tag=seen");
  console.log(answer.status, (await answer.json()).username);`;

Deno.test("the CI recipe takes all settings from the environment and writes no file", () =>
  inFolder(async (cwd) => {
    const [yaml = ""] = codeBlocks("docs/recipes.md", "CI");
    const [, command = ""] = /^- run: deno run (.*) script\.ts$/m.exec(yaml) ?? [];
    await using sandbox = await startSandbox();
    const hosts = { provider: new URL(sandbox.authUrl).host, api: new URL(sandbox.apiUrl).host };
    const variables = { ...variablesOf(sandbox.settings), AUTH_ENV_FILE: "false" };
    const named = Object.entries(variables).filter(([name]) => yaml.includes(` ${name}: `));
    const { stdout, stderr } = await runScript(SCRIPT, {
      cwd,
      flags: filledIn(command.split(" "), hosts),
      env: { ...Object.fromEntries(named), NO_PROXY: "127.0.0.1" },
    });
    assertEquals([stdout, stderr, namesIn(cwd)], ["200 student\n", "", []]);
  }));

testNeeding(
  NO_OPENSSL,
  "the recipe for a company proxy with its own CA works",
  () =>
    inFolder(async (cwd) => {
      const { ca, cert, key } = await makeCertificates(cwd);
      // The servers start first because the sandbox has to know their ports.
      const started = Promise.withResolvers<Sandbox>();
      const handle = async (request: Request) => await (await started.promise).handle(request);
      await using provider = serveLocal(handle, { cert, key });
      await using api = serveLocal(handle, { cert, key });
      const [authUrl, apiUrl] = [provider.origin, api.origin];
      await using sandbox = createSandbox({}, { authUrl, apiUrl, portalUrl: "https://localhost" });
      started.resolve(sandbox);
      await using proxy = startProxy();
      await writeEnv(cwd, variablesOf(sandbox.settings));
      // As if the company's CA were installed on this computer.
      const installed = { SSL_CERT_FILE: ca };
      const rows: [env: Record<string, string>, output: RegExp][] = [
        [{ DENO_CERT: ca }, /^200 student\n$/],
        [{ ...installed, DENO_TLS_CA_STORE: "mozilla,system" }, /^200 student\n$/],
        [installed, /no trusted TLS connection[^]*DENO_TLS_CA_STORE=mozilla,system/],
      ];
      for (const [env, output] of rows) {
        const { stdout, stderr } = await runScript(SCRIPT, {
          cwd,
          flags: ["-A"],
          env: { HTTPS_PROXY: proxy.origin, ...env },
        });
        assertMatch(stdout + stderr, output);
      }
      assertEquals(new Set(proxy.targets), new Set([provider.host, api.host]));
    }),
);

testNeeding(
  NO_SHELL,
  "the cron recipe works in the environment of cron",
  () =>
    inFolder(async (you) => {
      await using sandbox = await startSandbox();
      const [table = "", script = ""] = codeBlocks("docs/recipes.md", "cron")
        .map((block) => block.replaceAll("/home/you", you));
      const [, PATH = "", command = ""] = /^PATH=(.*)\n[\d* ]+ (.*)$/m.exec(table) ?? [];
      const [bin, job] = [`${you}/.deno/bin`, `${you}/job`];
      await Deno.mkdir(bin, { recursive: true });
      await Deno.mkdir(job);
      const installed =
        `#!/bin/sh\nexec '${Deno.execPath()}' run --no-lock -qA '${CLI_PATH}' "$@"\n`;
      await Deno.writeTextFile(`${bin}/platform-auth`, installed, { mode: 0o755 });
      await Deno.writeTextFile(`${job}/job.sh`, script, { mode: 0o755 });
      // cron sets only a home folder, a shell and the variables of the table.
      const DENO_DIR = Deno.env.get("DENO_DIR") ?? `${Deno.env.get("HOME")}/.cache/deno`;
      const env = childEnvironment({ HOME: you, PATH, DENO_DIR });
      const run = async (variables: Record<string, string>) => {
        await writeEnv(job, { ...variablesOf(sandbox.settings), ...variables });
        const options = { args: ["-c", command], cwd: you, env, clearEnv: true };
        return (await outputOf("/bin/sh", options)).code;
      };
      const log = () => Deno.readTextFile(`${job}/job.log`);

      assertEquals(await run({}), 0, await log());
      const [file = ""] = namesIn(`${job}/data`);
      assertMatch(await Deno.readTextFile(`${job}/data/${file}`), /^time,temperatureC/);
      const { ACCESS_TOKEN = "", REFRESH_TOKEN = "" } = linesOf(`${job}/.env`);
      assert(ACCESS_TOKEN !== "" && REFRESH_TOKEN !== "");

      await Deno.remove(`${job}/data`, { recursive: true });
      assertEquals(await run({ PASSWORD: "" }), 3, await log());
      assertMatch(await log(), /a login is needed: platform-auth login --env-file .*job\/\.env\n$/);
      assertEquals(await run({ API_BASE_URL: REFUSING }), 1);
      assertMatch(await log(), /failed with 1; the next run resumes\n$/);
      const { clientSecret, password } = sandbox.settings;
      const secrets = [ACCESS_TOKEN, REFRESH_TOKEN, clientSecret, password];
      assertEquals(repeatedPart(await log(), secrets), undefined);
    }),
);
