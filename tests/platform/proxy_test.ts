import { assert, assertEquals, assertMatch } from "@std/assert";
import { startSandbox } from "../../src/sandbox/mod.ts";
import { inFolder, MOD_PATH, runScript } from "../support/child_deno.ts";
import { variablesOf, writeEnv } from "../support/sandbox_env.ts";
import { rawAnswer, startTcpCapture } from "../support/tcp_capture.ts";

const SCRIPT = `
  import { authFetch, login, refresh } from ${JSON.stringify(MOD_PATH)};
  await login({ force: true });
  await refresh();
  const answers = [
    await authFetch("/v1/stations"),
    await authFetch("/v1/annotations", { method: "POST", body: "{}" }),
    await authFetch("/v1/stations/" + (await (await authFetch("/v1/stations")).json())[0].id + "/download"),
  ];
  for (const answer of answers) console.log(answer.status, (await answer.text()).length > 0);
  console.log(Deno.env.get("NO_PROXY") ?? "unset");`;

const VARIABLES = [
  ["HTTP_PROXY", "127.0.0.1", "unset"],
  ["ALL_PROXY", "localhost", "intranet.example,10.0.0.0/8"],
] as const;
for (const [name, host, noProxy] of VARIABLES) {
  Deno.test(`no request to ${host} goes through the proxy in ${name}`, async () => {
    await using sandbox = await startSandbox();
    await using proxy = startTcpCapture(Array.from({ length: 9 }, () => rawAnswer(200, "{}")));
    await inFolder(async (folder) => {
      const settings = Object.entries(variablesOf(sandbox.settings))
        .map(([key, value]) => [key, value?.replace("http://127.0.0.1", `http://${host}`)]);
      await writeEnv(folder, Object.fromEntries(settings));
      const { code, stdout, stderr } = await runScript(SCRIPT, {
        cwd: folder,
        flags: ["-A"],
        env: { [name]: proxy.url, ...(noProxy !== "unset" && { NO_PROXY: noProxy }) },
      });
      // Asserted first, because a failure must not print what the proxy received.
      assertEquals(proxy.requests.length, 0, "requests through the proxy");
      assertEquals([code, stderr], [0, ""]);
      assertEquals(stdout, `200 true\n201 true\n200 true\n${noProxy}\n`);
    });
  });
}

Deno.test("requests to other hosts go through an encrypted tunnel of the proxy", async () => {
  await using proxy = startTcpCapture([rawAnswer(502, "")]);
  await inFolder(async (folder) => {
    const script = `
      import { createSession } from ${JSON.stringify(MOD_PATH)};
      const session = createSession({ apiBaseUrl: "https://api.example" });
      await session.login({ portalToken: "bearer an-opaque-portal-token" });
      console.log(await session.authFetch("/v1/x?secret=1").catch((error) => error.message));`;
    const { stdout } = await runScript(script, {
      cwd: folder,
      flags: ["-A"],
      env: { HTTPS_PROXY: proxy.url },
    });
    assertMatch(stdout, /^Cannot reach https:\S+\/v1\/x \(the proxy refused the connection\)/);
  });
  const [tunnel = new Uint8Array()] = proxy.requests;
  const text = new TextDecoder().decode(tunnel);
  assert(text.startsWith("CONNECT api.example:443 "), "a tunnel, not the call");
  assert(!text.includes("opaque-token") && !text.includes("secret"));
});
