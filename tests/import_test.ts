import { assert, assertEquals } from "@std/assert";
import { startSandbox } from "../src/sandbox/mod.ts";
import { inFolder, MOD_PATH, MOD_URL, runScript } from "./support/child_deno.ts";
import { variablesOf, writeEnv } from "./support/sandbox_env.ts";

Deno.test("imports of the module by path and by other addresses share one session", async () => {
  await using sandbox = await startSandbox();
  await inFolder(async (cwd) => {
    await writeEnv(cwd, variablesOf(sandbox.settings));
    const script = `
      import { login } from ${JSON.stringify(MOD_PATH)};
      import { authFetch, logout, status } from ${JSON.stringify(`${MOD_URL}?again`)};
      console.log((await login()).state, (await authFetch("/v1/whoami")).status);
      await logout();
      console.log(status().state, Deno.env.has("ACCESS_TOKEN"));`;
    const env = { NO_PROXY: "127.0.0.1" };
    const { stdout, stderr } = await runScript(script, { cwd, flags: ["-A"], env });
    assertEquals([stdout, stderr], ["valid 200\nnone false\n", ""]);
  });
});

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
