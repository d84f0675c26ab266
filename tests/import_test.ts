import { assert, assertEquals } from "@std/assert";
import { startSandbox } from "../src/sandbox/mod.ts";
import { inFolder, MOD_PATH, MOD_URL, runScript } from "./support/child_deno.ts";
import { variablesOf, writeEnv } from "./support/sandbox_env.ts";

/** A web server that serves the module's files as one on the internet would. */
function serveModule(): Deno.HttpServer<Deno.NetAddr> {
  const root = new URL("../", import.meta.url);
  return Deno.serve({ hostname: "127.0.0.1", port: 0, onListen: () => {} }, async (request) => {
    const path = new URL(request.url).pathname.slice(1);
    if (!/^(mod\.ts|src\/[\w/]+\.ts)$/.test(path)) return new Response(null, { status: 404 });
    const text = await Deno.readTextFile(new URL(path, root));
    return new Response(text, { headers: { "content-type": "application/typescript" } });
  });
}

Deno.test("imports of the module by path, by file URL and from a web server share one session", async () => {
  await using sandbox = await startSandbox();
  await using server = serveModule();
  const { hostname, port } = server.addr;
  const origin = `http://${hostname}:${port}`;
  try {
    await inFolder(async (cwd) => {
      await writeEnv(cwd, variablesOf(sandbox.settings));
      const script = `
        import { login } from ${JSON.stringify(MOD_PATH)};
        import { authFetch, status } from ${JSON.stringify(`${MOD_URL}?again`)};
        import { logout } from "${origin}/mod.ts";
        console.log((await login()).state, (await authFetch("/v1/whoami")).status);
        await logout();
        console.log(status().state, Deno.env.has("ACCESS_TOKEN"));`;
      const { stdout, stderr } = await runScript(script, {
        cwd,
        flags: [
          ...["--allow-net=127.0.0.1", "--allow-read=.", "--allow-write=.", "--allow-env"],
          ...[`--allow-import=${hostname}:${port}`, `--reload=${origin}/`],
        ],
        env: { NO_PROXY: "127.0.0.1" },
      });
      assertEquals([stdout, stderr], ["valid 200\nnone false\n", ""]);
    });
  } finally {
    await forget(hostname, port);
  }
});

/** Removes the files of a server on a random port from Deno's cache. */
async function forget(hostname: string, port: number): Promise<void> {
  const { stdout } = await new Deno.Command(Deno.execPath(), { args: ["info", "--json"] }).output();
  const { modulesCache } = JSON.parse(new TextDecoder().decode(stdout));
  const cached = `${modulesCache}/http/${hostname}_PORT${port}`;
  await Deno.remove(cached, { recursive: true }).catch(() => {});
}

Deno.test("importing the module has no side effects, even with all permissions", () =>
  inFolder(async (cwd) => {
    const script = `
      const used = [];
      const watch = (owner, name) => {
        const real = owner[name];
        Object.defineProperty(owner, name, {
          value: (...values) => (used.push(name), real.apply(owner, values)),
        });
      };
      for (const [name, value] of Object.entries(Deno)) {
        if (typeof value === "function" && !/^[A-Z]/.test(name)) watch(Deno, name);
      }
      for (const name of Object.keys(Deno.env)) watch(Deno.env, name);
      for (const name of Object.keys(Deno.permissions.constructor.prototype)) {
        watch(Deno.permissions, name);
      }
      for (const name of ["fetch", "prompt", "confirm", "alert", "setTimeout", "setInterval"]) {
        watch(globalThis, name);
      }
      const look = () => JSON.stringify([
        Object.entries(Deno.env.toObject()).sort(),
        Reflect.ownKeys(globalThis).map(String),
      ]);
      const before = look();
      used.length = 0;
      const module = await import(${JSON.stringify(MOD_PATH)});
      const during = used.join();
      const after = look();
      Deno.readTextFileSync(import.meta.filename);
      console.log(JSON.stringify([during, after === before, used.at(-1), typeof module.login]));`;
    await writeEnv(cwd, { ACCESS_TOKEN: "not-read", AUTH_URL: "https://provider.example" });
    const { stdout, stderr } = await runScript(script, { cwd, flags: ["-A"] });
    assertEquals(stderr, "");
    assertEquals(JSON.parse(stdout), ["", true, "readTextFileSync", "function"]);
    assert(![...Deno.readDirSync(cwd)].some(({ name }) => name === ".env.lock"));
  }));
