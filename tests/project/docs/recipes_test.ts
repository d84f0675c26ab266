import { assert, assertEquals, assertMatch } from "@std/assert";
import { fileURLToPath } from "node:url";
import { createSandbox, type Sandbox, startSandbox } from "../../../src/sandbox/mod.ts";
import { repeatedPart } from "../../support/canaries.ts";
import { inFolder, MOD_PATH, outputOf, runScript } from "../../support/child_deno.ts";
import { childEnvironment } from "../../support/cli_world.ts";
import { codeBlocks, filledIn, SCRIPT_FLAGS } from "../../support/documented_flags.ts";
import { REFUSING } from "../../support/free_port.ts";
import { serveLocal } from "../../support/local_server.ts";
import { NO_SHELL, testNeeding } from "../../support/needs.ts";
import { linesOf } from "../../support/portless.ts";
import { variablesOf, writeEnv } from "../../support/sandbox_env.ts";
import { makeCertificates, NO_OPENSSL, startProxy } from "../../support/tls_and_proxy.ts";

const CLI = fileURLToPath(new URL("../../../src/cli.ts", import.meta.url));

const SCRIPT = `
  import { authFetch, login, refresh } from ${JSON.stringify(MOD_PATH)};
  await login({ strategy: "environment" });
  await refresh();
  const answer = await authFetch("/v1/whoami?tag=seen");
  console.log(answer.status, (await answer.json()).username);`;

Deno.test("the CI recipe takes all settings from the environment and writes no file", async () => {
  const [yaml = ""] = codeBlocks("docs/recipes.md", "CI");
  const [, command = ""] = /^- run: deno run (.*) script\.ts$/m.exec(yaml) ?? [];
  const names = [...yaml.matchAll(/^ {4}(\w+):/gm)].map(([, name = ""]) => name);
  await using sandbox = await startSandbox();
  const variables: Record<string, string> = {
    ...variablesOf(sandbox.settings),
    AUTH_ENV_FILE: "false",
  };
  const env = Object.fromEntries(names.map((name) => [name, variables[name] ?? ""]));
  assertEquals(Object.values(env).includes(""), false, "the recipe names an unknown variable");
  const hosts = { provider: new URL(sandbox.authUrl).host, api: new URL(sandbox.apiUrl).host };
  assertEquals(command.split(" "), SCRIPT_FLAGS[1]);
  await inFolder(async (cwd) => {
    const flags = filledIn(command.split(" "), hosts);
    const { stdout, stderr } = await runScript(SCRIPT, {
      cwd,
      flags,
      env: { ...env, NO_PROXY: "127.0.0.1" },
    });
    assertEquals([stdout, stderr], ["200 student\n", ""]);
    assertEquals([...Deno.readDirSync(cwd)], []);
  });
});

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
      const run = (env: Record<string, string>) =>
        runScript(SCRIPT, {
          cwd,
          flags: ["-A"],
          // Deno's own search for updates would go through the proxy, too.
          env: { HTTPS_PROXY: proxy.url, DENO_NO_UPDATE_CHECK: "1", ...env },
        });
      const trusted = await run({ DENO_CERT: ca });
      assertEquals([trusted.stdout, trusted.stderr], ["200 student\n", ""]);
      const asked = proxy.targets.map((target) => `https://${target}`);
      assertEquals(asked, [authUrl, authUrl, apiUrl]);
      const around = await run({ DENO_CERT: ca, NO_PROXY: "127.0.0.1,localhost" });
      assertEquals([around.stdout, proxy.targets.length], ["200 student\n", 3]);
      // As if the company's CA were installed on this computer.
      const installed = { SSL_CERT_FILE: ca };
      const bySystem = await run({ ...installed, DENO_TLS_CA_STORE: "mozilla,system" });
      assertEquals([bySystem.stdout, bySystem.stderr], ["200 student\n", ""]);
      const unknown = await run(installed);
      const advice = /ProviderError: .*no trusted TLS connection.*DENO_TLS_CA_STORE=mozilla,system/;
      assertMatch(unknown.stderr.replace(/\s+/g, " "), advice);
      // Nothing listens on the discard port.
      const gone = await run({ HTTPS_PROXY: "http://127.0.0.1:9" });
      assertMatch(
        gone.stderr,
        /ProviderError: .*the proxy in HTTPS_PROXY cannot be reached.*check HTTPS_PROXY/,
      );
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
      const job = `${you}/job`;
      const root = `${you}/.deno`;
      await Deno.mkdir(job);
      await Deno.mkdir(`${root}/bin`, { recursive: true });
      await Deno.symlink(Deno.execPath(), `${root}/bin/deno`);
      await outputOf(Deno.execPath(), {
        args: ["install", "-g", "-A", "--quiet", "--root", root, "-n", "platform-auth", CLI],
        env: childEnvironment(),
      });
      await writeEnv(job, variablesOf(sandbox.settings));
      await Deno.writeTextFile(`${job}/job.sh`, script, { mode: 0o755 });
      const lines = table.trimEnd().split("\n");
      const variables = lines.flatMap((line) => {
        const [, name = "", value = ""] = /^(\w+)=(.*)$/.exec(line) ?? [];
        return name === "" ? [] : [[name, value]];
      });
      const [, command = ""] = /^[\d*]+(?: [\d*]+){4} (.*)$/.exec(lines.at(-1) ?? "") ?? [];
      // cron sets only a home folder, a shell and the variables of the crontab.
      const env = { ...childEnvironment({ HOME: you }), ...Object.fromEntries(variables) };
      const DENO_DIR = Deno.env.get("DENO_DIR") ?? `${Deno.env.get("HOME")}/.cache/deno`;
      const run = async () =>
        (await outputOf("/bin/sh", {
          args: ["-c", command],
          cwd: you,
          env: { ...env, DENO_DIR },
          clearEnv: true,
        })).code;
      const log = () => Deno.readTextFile(`${job}/job.log`);

      assertEquals([await run(), await run()], [0, 0], await log());
      const [file] = [...Deno.readDirSync(`${job}/data`)];
      assertMatch(await Deno.readTextFile(`${job}/data/${file?.name}`), /^time,temperatureC/);
      assertEquals(sandbox.apiRequests.length, 1, "the second run sends nothing");
      const tokens = linesOf(`${job}/.env`);

      await Deno.remove(`${job}/data`, { recursive: true });
      const ada = { username: "ada", password: "in-two-steps" };
      sandbox.addUser({ ...ada, challenge: "SMS_MFA", phone: "+15555550100" });
      const { username: USERNAME, password: PASSWORD } = ada;
      await writeEnv(job, { ...variablesOf(sandbox.settings), USERNAME, PASSWORD });
      assertEquals(await run(), 3, await log());
      assertMatch(await log(), /a login is needed: platform-auth login --env-file .*job\/\.env\n$/);
      await writeEnv(job, { ...variablesOf(sandbox.settings), API_BASE_URL: REFUSING });
      assertEquals(await run(), 1);
      assertMatch(await log(), /failed with 1; the next run resumes\n$/);
      const { ACCESS_TOKEN = "", REFRESH_TOKEN = "", APP_CLIENT_SECRET = "" } = tokens;
      assert(ACCESS_TOKEN !== "" && REFRESH_TOKEN !== "");
      const secrets = [ACCESS_TOKEN, REFRESH_TOKEN, APP_CLIENT_SECRET, ada.password];
      assertEquals(repeatedPart(await log(), secrets), undefined);
    }),
);
