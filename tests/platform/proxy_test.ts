import { assert, assertEquals } from "@std/assert";
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

const variables = {
  "HTTP_PROXY": {},
  "http_proxy": {},
  "ALL_PROXY": {},
  "HTTP_PROXY beside a NO_PROXY of others": { NO_PROXY: "intranet.example,10.0.0.0/8" },
};

for (const [what, more] of Object.entries(variables)) {
  Deno.test(`neither token nor password goes through the proxy in ${what} to loopback`, async () => {
    await using sandbox = await startSandbox();
    await using proxy = startTcpCapture(Array.from({ length: 9 }, () => rawAnswer(200, "{}")));
    for (const host of ["127.0.0.1", "localhost"]) {
      await inFolder(async (folder) => {
        const settings = variablesOf(sandbox.settings);
        const at = (url = "") => url.replace("127.0.0.1", host);
        const { AUTH_URL, API_BASE_URL } = settings;
        await writeEnv(folder, {
          ...settings,
          AUTH_URL: at(AUTH_URL),
          API_BASE_URL: at(API_BASE_URL),
        });
        const { code, stdout, stderr } = await runScript(SCRIPT, {
          cwd: folder,
          flags: ["-A"],
          env: { [what.split(" ")[0] ?? ""]: proxy.url, ...more },
        });
        // First: what went to the proxy, if anything did, must not be shown either.
        assertEquals(proxy.requests.length, 0, `requests through the proxy to ${host}`);
        assertEquals([code, stderr], [0, ""]);
        const noProxy = "NO_PROXY" in more ? more.NO_PROXY : "unset";
        assertEquals(stdout, `200 true\n201 true\n200 true\n${noProxy}\n`);
      });
    }
  });
}

Deno.test("requests beyond loopback go through the proxy, encrypted", async () => {
  await using proxy = startTcpCapture([rawAnswer(502, "")]);
  await inFolder(async (folder) => {
    const script = `
      import { createSession } from ${JSON.stringify(MOD_PATH)};
      const session = createSession({ apiBaseUrl: "https://api.example" });
      await session.login({ portalToken: "bearer opaque-token" });
      console.log(await session.authFetch("/v1/x?secret=1").catch((error) => error.message));`;
    const { stdout } = await runScript(script, {
      cwd: folder,
      flags: ["-A"],
      env: { HTTPS_PROXY: proxy.url },
    });
    assert(
      stdout.startsWith(
        "Cannot reach https://api.example/v1/x (the proxy refused the connection); check the address, " +
          "the network and any proxy, then try again",
      ),
      stdout,
    );
  });
  const [tunnel = new Uint8Array()] = proxy.requests;
  const text = new TextDecoder().decode(tunnel);
  assert(text.startsWith("CONNECT api.example:443 "), "a tunnel, not the call");
  assert(!text.includes("opaque-token") && !text.includes("secret"));
});
