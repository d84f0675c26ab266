import { assertEquals, assertMatch, assertStringIncludes } from "@std/assert";
import { pathToFileURL } from "node:url";
import { startSandbox } from "../../../src/sandbox/mod.ts";
import { lackOf, testNeeding } from "../../support/needs.ts";
import { variablesOf, writeEnv } from "../../support/sandbox_env.ts";
import { asConsumer, fromPath, fromRegistry, fromUrl, PACKAGE, type Source } from "./consumer.ts";

const npmPackage = () => fromRegistry();

/** The ways to import, and what is requested for the first import of the module. */
const WAYS: [string, () => Source | Promise<Source>, string[]][] = [
  ["by path", fromPath, []],
  ["by URL", fromUrl, ["/mod.js"]],
  ["from a registry", npmPackage, [`/${PACKAGE.name}`, `/${PACKAGE.name}/package.tgz`]],
];
Deno.test("instanceof recognizes the errors of the source and of each copy of the released file", async () => {
  await using source = fromPath();
  await asConsumer(source, async ({ run }) => {
    const released = pathToFileURL(source.specifiers.mod).href;
    const { stdout, stderr } = await run(`
      import * as a from ${JSON.stringify(import.meta.resolve("../../../mod.ts"))};
      import * as b from ${JSON.stringify(released)};
      import * as c from ${JSON.stringify(`${released}?copy`)};
      for (const { createSession } of [a, b, c]) {
        const error = await createSession({ envFile: false }).accessToken().catch((error) => error);
        console.log([a, b, c].map(({ AuthError, SessionExpiredError, ConfigError }) =>
          [AuthError, SessionExpiredError, ConfigError].map((each) => error instanceof each ? 1 : 0).join("")
        ).join(" "));
      }`);
    assertEquals([stdout, stderr], ["110 110 110\n".repeat(3), ""]);
  });
});

const noNpm = await lackOf("npm", "--version");

/** What the first import does: it asks for nothing but the module, and not for its source map later. */
const FAILING = `
  async function mine() {
    await createSession({ envFile: false }).accessToken();
  }
  await mine().catch(({ stack }) => console.log(stack.match(/^ +at .*$/gm).length, stack));`;

for (const [way, start, requests] of WAYS) {
  const lack = start === npmPackage ? noNpm : undefined;

  testNeeding(lack, `an empty folder imports the module ${way}, and logs in`, async () => {
    await using sandbox = await startSandbox();
    await using source = await start();
    await asConsumer(source, async ({ folder, run }) => {
      const mod = JSON.stringify(source.specifiers.mod);
      const first = await run(`import { createSession } from ${mod};${FAILING}`);
      assertStringIncludes(first.stdout, "2 SessionExpiredError: There is no session");
      assertEquals(source.requests, requests);
      // From here on nothing of the module is fetched.
      await source[Symbol.asyncDispose]();

      await writeEnv(folder, variablesOf(sandbox.settings));
      const hosts = [sandbox.authUrl, sandbox.apiUrl].map((url) => new URL(url).host);
      const { stdout, stderr } = await run(
        `import { authFetch, login } from ${mod};
        console.log((await login()).state, (await authFetch("/v1/whoami")).status);`,
        ...["--cached-only", "--allow-read=.", "--allow-write=.", "--allow-env"],
        `--allow-net=${hosts}`,
      );
      assertEquals([stdout, stderr], ["valid 200\n", ""]);
    });
  });

  testNeeding(lack, `the toolkit for notebooks comes ${way}, alone`, async () => {
    await using source = await start();
    await asConsumer(source, async ({ run }) => {
      const { stdout, stderr } = await run(`
        import { show, table } from ${JSON.stringify(source.specifiers.notebook)};
        await table([{ a: 1 }]);
        await show("shown");`);
      assertEquals([stdout, stderr], ["a\n-\n1\n1 row, 1 column\nshown\n", ""]);
      const expected = requests.map((path) => path.replace("/mod.js", "/notebook.js"));
      assertEquals(source.requests, expected);
    });
  });

  testNeeding(lack, `the sandbox and the command line come ${way}, too`, async () => {
    await using source = await start();
    await asConsumer(source, async ({ deno }) => {
      const { cli, mod, sandbox } = source.specifiers;
      const script = `
        import { configure, login } from ${JSON.stringify(mod)};
        import { startSandbox } from ${JSON.stringify(sandbox)};
        await using sandbox = await startSandbox();
        configure(sandbox.settings);
        console.log((await login()).state);`;
      assertEquals((await deno(["run", "-A"], script)).stdout, "valid\n");
      const { stdout } = await deno(["run", "-A", cli, "--version"]);
      assertStringIncludes(stdout, `platform-auth ${PACKAGE.version}, run from `);
      assertStringIncludes(stdout, "/cli.js\n");
    });
  });

  testNeeding(lack, `the types of the module are seen ${way}`, async () => {
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

/** The client of a store, so far as a session needs it to find that nobody is there. */
const REDIS_CLIENT = `
  export const createClient = () =>
    ({ on() {}, connect: async () => {}, eval: async () => "?", destroy() {} });
  export class ConnectionTimeoutError extends Error {}`;

/** What a lock file does to a package that is loaded on demand. */
const LOCKS: [string, (lock: string) => string, flags: string[], RegExp][] = [
  ["lists it", (lock) => lock, ["--frozen"], /^STORE_UNREACHABLE /],
  [
    "lists another integrity",
    (lock) => {
      const { npm, ...rest } = JSON.parse(lock);
      npm["@redis/client@5.12.1"].integrity = `sha512-${btoa("x".repeat(64))}`;
      return JSON.stringify({ ...rest, npm });
    },
    [],
    /^PACKAGE_UNAVAILABLE .* is not the one in the lock file|^error: .*[^]*checksum did not match/,
  ],
  [
    "is frozen without it",
    (lock) => {
      const { specifiers, npm, ...rest } = JSON.parse(lock);
      delete specifiers["npm:@redis/client@5.12.1"];
      delete npm["@redis/client@5.12.1"];
      return JSON.stringify({ ...rest, specifiers, npm });
    },
    ["--frozen"],
    /^PACKAGE_UNAVAILABLE .* lock file does not contain the package|lockfile is out of date/,
  ],
];
for (const way of ["from source", "from a registry"]) {
  testNeeding(
    noNpm,
    `a package that is loaded on demand is the one in the lock file, ${way}`,
    async () => {
      await using source = await fromRegistry({ "@redis/client@5.12.1": REDIS_CLIENT });
      const mod = way === "from source"
        ? import.meta.resolve("../../../mod.ts")
        : source.specifiers.mod;
      const script = `
      import { createSession } from ${JSON.stringify(mod)};
      const session = createSession({
        envFile: false, timeoutMs: 500, store: "redis://127.0.0.1:1", storeKey: "",
      });
      await session.accessToken().catch(({ code, problem }) => console.log(code, problem));`;
      const allowed = ["--allow-net", "--allow-env", "--allow-sys"];
      for (const [what, edited, flags, expected] of LOCKS) {
        await asConsumer(source, async ({ folder, env, deno }) => {
          await Deno.writeTextFile(`${folder}/deno.json`, "{}");
          const first = await deno(["run", ...allowed], script);
          assertMatch(first.stdout, /^STORE_UNREACHABLE /, first.stderr);
          // The first run wrote the lock file. The next one fetches everything again.
          const lock = `${folder}/deno.lock`;
          await Deno.writeTextFile(lock, edited(await Deno.readTextFile(lock)));
          await Deno.remove(`${env.DENO_DIR}/npm`, { recursive: true });
          const { stdout, stderr } = await deno(["run", ...allowed, ...flags], script);
          assertMatch(stdout + stderr, expected, what);
        });
      }
    },
  );
}
