import { assert, assertEquals, assertMatch } from "@std/assert";
import { createSandbox, type Sandbox, startSandbox } from "../../../src/sandbox/mod.ts";
import { repeatedPart } from "../../support/canaries.ts";
import { inFolder, MOD_PATH, MOD_URL, namesIn, runScript } from "../../support/child_deno.ts";
import { documentText, filledIn, SCRIPT_FLAGS } from "../../support/documented_flags.ts";
import { withUrls } from "../../support/examples.ts";
import { codeCells, readNotebook } from "../../notebook/kernel/notebook.ts";
import { serveLocal } from "../../support/local_server.ts";
import { NO_SHELL, testNeeding } from "../../support/needs.ts";
import { linesOf } from "../../support/portless.ts";
import { variablesOf, writeEnv } from "../../support/sandbox_env.ts";
import { makeCertificates, NO_OPENSSL, startProxy } from "../../support/tls_and_proxy.ts";

const RECIPES = documentText("docs/recipes.md");

const SCRIPT = `
  import { authFetch, login, refresh } from ${JSON.stringify(MOD_PATH)};
  await login({ strategy: "environment" });
  await refresh();
  const answer = await authFetch("/v1/whoami?tag=seen");
  console.log(answer.status, (await answer.json()).username);`;

Deno.test("the CI recipe takes all settings from the environment and writes no file", async () => {
  const [, yaml = ""] = /^```yaml\n([^]*?)^```$/m.exec(RECIPES) ?? [];
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

/** Prints the token in a file, as `ssh … platform-auth token` does. */
const SSH =
  '#!/bin/sh\ntest "$*" = "-o BatchMode=yes login-node platform-auth token" && cat token\n';

testNeeding(
  NO_SHELL,
  "the recipe for a token from a command works with its permissions",
  () =>
    inFolder(async (cwd) => {
      const [, recipe = ""] = /^```ts\n([^]*?new Deno\.Command\("ssh"[^]*?)^```$/m
        .exec(documentText("docs/clusters.md")) ?? [];
      await using sandbox = await startSandbox();
      await Deno.writeTextFile(`${cwd}/ssh`, SSH, { mode: 0o700 });
      await Deno.writeTextFile(`${cwd}/token`, await sandbox.portalToken());
      const script = `${withUrls(recipe).replace("https://api.example.com", sandbox.apiUrl)}
      import { fetchJson } from ${JSON.stringify(MOD_URL)};
      console.log((await fetchJson("/v1/whoami")).username, Deno.env.get("ACCESS_TOKEN"));`;
      const env = { PATH: `${cwd}:${Deno.env.get("PATH")}`, NO_PROXY: "127.0.0.1" };
      const flags = [
        "--allow-run=ssh",
        "--allow-env",
        `--allow-net=${new URL(sandbox.apiUrl).host}`,
      ];
      const { stdout, stderr } = await runScript(script, { cwd, flags, env });
      assertEquals([stdout, stderr], ["student undefined\n", ""]);
      assertEquals(namesIn(cwd), ["ssh", "token"]);
    }),
);

Deno.test("OpenTelemetry exports contain the requests and no secret", async () => {
  const exported: Uint8Array[] = [];
  await using collector = serveLocal(async (request) => {
    const packed = request.headers.get("content-encoding") === "gzip";
    const body = request.body ?? new Blob([]).stream();
    const plain = packed ? body.pipeThrough(new DecompressionStream("gzip")) : body;
    exported.push(new Uint8Array(await new Response(plain).arrayBuffer()));
    return new Response();
  });
  await using sandbox = await startSandbox();
  await inFolder(async (cwd) => {
    await writeEnv(cwd, variablesOf(sandbox.settings));
    const noted = `${SCRIPT}\nconsole.log("a log of its own", await login());`;
    const env = {
      OTEL_DENO: "true",
      NO_PROXY: "127.0.0.1",
      OTEL_EXPORTER_OTLP_PROTOCOL: "http/json",
      OTEL_EXPORTER_OTLP_ENDPOINT: collector.origin,
    };
    const { stdout } = await runScript(noted, { cwd, flags: ["-A"], env });
    assertMatch(stdout, /^200 student\n/);
    const text = exported.map((bytes) => new TextDecoder().decode(bytes)).join("\n");
    // The export contains the URL of a call, and the text of a log.
    for (const seen of ["/v1/whoami", "tag=seen", "a log of its own"]) assert(text.includes(seen));
    const lines = linesOf(`${cwd}/.env`);
    const names = ["ACCESS_TOKEN", "REFRESH_TOKEN", "APP_CLIENT_SECRET", "PASSWORD"];
    const secrets = names.map((name) => (lines[name] ?? "").replace(/^eyJ[\w-]+\./, ""));
    assertEquals(secrets.includes(""), false);
    assertEquals(repeatedPart(text, secrets), undefined);
  });
});

Deno.test("notebook 04 contains the code of each row in the table for pandas users", async () => {
  const [, section = ""] = documentText("docs/notebooks.md").split("## Coming from pandas\n");
  const [table = ""] = section.split(/^## /m);
  const rows = [...table.matchAll(/^\| `.*` +\| (.*`.*) +\|$/gm)].map(([, here = ""]) => here);
  assert(rows.length > 14, `${rows.length} rows`);
  const notebook = await readNotebook(
    new URL("../../../notebooks/04_explore_data.ipynb", import.meta.url),
  );
  const code = codeCells(notebook).map(({ cell }) => cell.source).join("\n");
  const lines = rows.flatMap((here) => [...here.matchAll(/`([^`]+)`/g)].map(([, text]) => text));
  const missing = lines.filter((text = "") => text !== ".env" && !isPartOf(text, code));
  assertEquals(missing, []);
  const packages = (text: string) =>
    [...text.matchAll(/from "(npm:[^"]+)"/g)].map(([, name]) => name).sort();
  assertEquals(packages(table), packages(code), "the page imports the notebook's versions");
  assertEquals(isPartOf("await plot({ … marks: (Plot) => Plot.barY(", code), false);
});

/** Whether `code` contains `text`, in which "…" stands for anything. Line breaks do not matter. */
function isPartOf(text: string, code: string): boolean {
  const bare = (words: string) => words.replace(/\s+/g, "").replace(/,(?=[}\])])/g, "");
  let at = 0;
  return text.split("…").map(bare).every((piece) => {
    const found = bare(code).indexOf(piece, at);
    at = found + piece.length;
    return found >= 0;
  });
}
