import { assertEquals } from "@std/assert";
import { startSandbox } from "../../src/sandbox/mod.ts";
import { variablesOf } from "../support/sandbox_env.ts";

const ROOT = new URL("../../", import.meta.url);

Deno.test("examples of README and docstrings run, with settings from the environment", async () => {
  await using sandbox = await startSandbox();
  const { settings } = sandbox;
  const { code, stdout, stderr } = await new Deno.Command(Deno.execPath(), {
    args: ["test", "--doc", "--quiet", "-A", "README.md", "mod.ts", "src"],
    cwd: ROOT,
    env: {
      ...variablesOf(settings),
      AUTH_ENV_FILE: settings.envFile,
      NO_COLOR: "1",
    },
  }).output();
  assertEquals(code, 0, new TextDecoder().decode(stdout) + new TextDecoder().decode(stderr));
});

Deno.test("every exported function has an example", async () => {
  const { stdout } = await new Deno.Command(Deno.execPath(), {
    args: ["doc", "--json", "mod.ts"],
    cwd: ROOT,
  }).output();
  const { nodes } = JSON.parse(new TextDecoder().decode(stdout));
  const without = Object.values(nodes as Record<string, { symbols: Symbol_[] }>)
    .flatMap(({ symbols }) => symbols)
    .filter((symbol) =>
      symbol.declarations.some(({ kind, jsDoc }) =>
        kind === "function" && !jsDoc?.tags?.some(({ kind }) => kind === "example")
      )
    ).map(({ name }) => name);
  assertEquals(without, []);
});

interface Symbol_ {
  name: string;
  declarations: { kind: string; jsDoc?: { tags?: { kind: string }[] } }[];
}
