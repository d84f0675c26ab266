import { assertEquals, assertMatch } from "@std/assert";
import { type Lack, lackOf, testNeeding } from "../../support/needs.ts";
import { asConsumer, DIST, fromRegistry, fromUrl, type Source } from "./consumer.ts";

const noNpm = await lackOf("npm", "--version");

const WAYS: [string, Lack | undefined, () => Source | Promise<Source>][] = [
  ["by URL", undefined, fromUrl],
  ["from npm", noNpm, fromRegistry],
];

for (const [way, lack, start] of WAYS) {
  testNeeding(
    lack,
    `an empty project imports the modules ${way}, and then needs no network`,
    async () => {
      await using source = await start();
      const [mod, notebook, redis, sandbox, cli] = ["mod", "notebook", "redis", "sandbox", "cli"]
        .map(source.specifier);
      await asConsumer(source, async (deno) => {
        const wrong = `
        import { login } from "${mod}";
        import { startSandbox } from "${sandbox}";
        const length: number = (await startSandbox()).apiUrl.length;
        const state: Date = (await login({ force: true })).canRefresh;
        console.log(length, state);`;
        const checked = await deno(["check", ...source.flags], wrong);
        assertEquals(checked.stderr.match(/TS\d+ .*/g), [
          "TS2322 [ERROR]: Type 'boolean' is not assignable to type 'Date'.",
        ]);

        const script = `
        import { authFetch, configure, login } from "${mod}";
        import { show, table } from "${notebook}";
        import { redisStore } from "${redis}";
        import { startSandbox } from "${sandbox}";
        await using sandbox = await startSandbox();
        configure(sandbox.settings);
        const { state } = await login();
        await show(state + " " + (await authFetch("/v1/whoami")).status);
        await table([{ a: 1 }]);
        configure({ store: redisStore("redis://127.0.0.1") });`;
        const shown = ["valid 200\na\n-\n1\n1 row, 1 column\n", ""];
        const ran = await deno(["run", "-A"], script);
        assertEquals([ran.stdout, ran.stderr], shown);
        const version = await deno(["run", "-A", cli ?? "", "--version"]);
        assertMatch(version.stdout, /^platform-auth [\d.]+, run from .*\/cli\.js\n$/);

        await source[Symbol.asyncDispose]();
        const again = await deno(["run", "--cached-only", "-A"], script);
        assertEquals([again.stdout, again.stderr], shown);
        const python = await deno(["run", "--cached-only", ...source.flags, cli ?? "", "python"]);
        assertEquals(python.stdout, Deno.readTextFileSync(`${DIST}platform_auth.py`));
      });
    },
  );
}
