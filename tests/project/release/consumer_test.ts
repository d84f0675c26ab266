import { assertEquals, assertMatch, assertStringIncludes } from "@std/assert";
import { startSandbox } from "../../../src/sandbox/mod.ts";
import { lackOf, testNeeding } from "../../support/needs.ts";
import { variablesOf, writeEnv } from "../../support/sandbox_env.ts";
import {
  asConsumer,
  DIST,
  fromPath,
  fromRegistry,
  fromUrl,
  PACKAGE,
  type Source,
} from "./consumer.ts";

const npmPackage = () => fromRegistry();

/** The ways to import, and the requests for the first import of the module. */
const WAYS: [string, () => Source | Promise<Source>, string[]][] = [
  ["by path", fromPath, []],
  ["by URL", fromUrl, ["/mod.js"]],
  ["from a registry", npmPackage, [`/${PACKAGE.name}`, `/${PACKAGE.name}/package.tgz`]],
];

const noNpm = await lackOf("npm", "--version");

for (const [way, start, requests] of WAYS) {
  const lack = start === npmPackage ? noNpm : undefined;

  testNeeding(lack, `an empty project imports the module ${way} and logs in`, async () => {
    await using sandbox = await startSandbox();
    await using source = await start();
    await asConsumer(source, async ({ folder, deno }) => {
      const mod = JSON.stringify(source.specifiers.mod);
      // A stack trace does not fetch the source map.
      const failing = `
        import { createSession } from ${mod};
        await createSession({ envFile: false }).accessToken().catch(({ stack }) => console.log(stack));`;
      const first = await deno(["run", "--allow-env", ...source.flags], failing);
      assertStringIncludes(first.stdout, "SessionExpiredError: There is no session");
      assertEquals(source.requests, requests);
      // From here on, everything comes from the cache.
      await source[Symbol.asyncDispose]();

      await writeEnv(folder, variablesOf(sandbox.settings));
      const hosts = [sandbox.authUrl, sandbox.apiUrl].map((url) => new URL(url).host);
      const flags = ["--allow-read=.", "--allow-write=.", "--allow-env", `--allow-net=${hosts}`];
      const { stdout, stderr } = await deno(
        ["run", "--cached-only", ...flags, ...source.flags],
        `import { authFetch, login } from ${mod};
        console.log((await login()).state, (await authFetch("/v1/whoami")).status);`,
      );
      assertEquals([stdout, stderr], ["valid 200\n", ""]);
    });
  });

  testNeeding(lack, `a project imports the toolkit, the store and the sandbox ${way}`, async () => {
    await using source = await start();
    await asConsumer(source, async ({ deno }) => {
      const { cli, mod, notebook, redis, sandbox } = source.specifiers;
      const script = `
        import { configure, login } from ${JSON.stringify(mod)};
        import { show, table } from ${JSON.stringify(notebook)};
        import { redisStore } from ${JSON.stringify(redis)};
        import { startSandbox } from ${JSON.stringify(sandbox)};
        await using sandbox = await startSandbox();
        configure(sandbox.settings);
        await show((await login()).state);
        await table([{ a: 1 }]);
        configure({ store: redisStore("redis://127.0.0.1") });`;
      const { stdout, stderr } = await deno(["run", "-A"], script);
      assertEquals([stdout, stderr], ["valid\na\n-\n1\n1 row, 1 column\n", ""]);
      const version = (await deno(["run", "-A", cli, "--version"])).stdout;
      assertMatch(version, /^platform-auth [\d.]+, run from .*\/cli\.js\n$/);
      const python = (await deno(["run", "--cached-only", ...source.flags, cli, "python"])).stdout;
      assertEquals(python, Deno.readTextFileSync(`${DIST}platform_auth.py`));
    });
  });

  testNeeding(lack, `the compiler finds the types of the module ${way}`, async () => {
    await using source = await start();
    await asConsumer(source, async ({ deno }) => {
      const { mod, sandbox } = source.specifiers;
      const script = `
        import { login } from ${JSON.stringify(mod)};
        import { startSandbox } from ${JSON.stringify(sandbox)};
        const length: number = (await startSandbox()).apiUrl.length;
        const state: Date = (await login({ force: true })).canRefresh;
        console.log(length, state);`;
      const { stderr } = await deno(["check", ...source.flags], script);
      assertEquals(stderr.match(/TS\d+ .*/g), [
        "TS2322 [ERROR]: Type 'boolean' is not assignable to type 'Date'.",
      ]);
    });
  });
}

/** The package as the source imports it. */
const CLIENT = "@redis/client@6.3.1";

/** A client package with which a session finds its store unreachable. */
const REDIS_CLIENT = `
  export const createClient = () =>
    ({ on() {}, connect: async () => {}, eval: async () => 5, destroy() {} });
  export class ConnectionTimeoutError extends Error {}`;

/** What a lock file says about a package that is loaded on demand, and the error that a user gets. */
const LOCKS: [string, (lock: string) => string, RegExp][] = [
  ["lists it", (lock) => lock, /^STORE_UNREACHABLE /],
  [
    "lists another integrity",
    (lock) => {
      const { npm, ...rest } = JSON.parse(lock);
      npm[CLIENT].integrity = `sha512-${btoa("x".repeat(64))}`;
      return JSON.stringify({ ...rest, npm });
    },
    /^PACKAGE_UNAVAILABLE .* the lock file does not allow it/,
  ],
  [
    "does not list it",
    (lock) => {
      const { specifiers, npm, ...rest } = JSON.parse(lock);
      delete specifiers[`npm:${CLIENT}`];
      delete npm[CLIENT];
      return JSON.stringify({ ...rest, specifiers, npm });
    },
    /^PACKAGE_UNAVAILABLE .* the lock file does not allow it/,
  ],
];
testNeeding(noNpm, "a package that is loaded on demand must be in the lock file", async () => {
  await using source = await fromRegistry({ [CLIENT]: REDIS_CLIENT });
  const script = `
    import { createSession } from ${JSON.stringify(import.meta.resolve("../../../mod.ts"))};
    const session = createSession({
      envFile: false, timeoutMs: 500, store: "redis://127.0.0.1:1", storeKey: "",
    });
    await session.accessToken().catch(({ code, problem }) => console.log(code, problem));`;
  const run = ["run", "--allow-net", "--allow-env", "--allow-sys"];
  for (const [what, edited, expected] of LOCKS) {
    await asConsumer(source, async ({ folder, cache, deno }) => {
      await Deno.writeTextFile(`${folder}/deno.json`, "{}");
      await deno(run, script);
      // The first run wrote the lock file. The next one fetches everything again.
      const lock = `${folder}/deno.lock`;
      await Deno.writeTextFile(lock, edited(await Deno.readTextFile(lock)));
      await Deno.remove(`${cache}/npm`, { recursive: true });
      const { stdout, stderr } = await deno([...run, "--frozen"], script);
      assertMatch(stdout + stderr, expected, what);
    });
  }
});
