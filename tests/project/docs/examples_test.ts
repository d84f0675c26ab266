import { assert, assertEquals } from "@std/assert";
import { startSandbox } from "../../../src/sandbox/mod.ts";
import { inFolder, MOD_URL, runScript } from "../../support/child_deno.ts";
import { examplesIn, SOURCES } from "../../support/examples.ts";
import { variablesOf } from "../../support/sandbox_env.ts";
import { documentText } from "../../support/documented_flags.ts";
import { NOTICES } from "../../../src/session/notices.ts";

const ROOT = new URL("../../../", import.meta.url);

interface Declaration {
  readonly kind: string;
  readonly jsDoc?: { readonly doc?: string; readonly tags?: readonly { readonly kind: string }[] };
  readonly def?: unknown;
}

/** The output of `deno doc` for an exported name, which an editor shows. */
async function declarations(): Promise<[name: string, Declaration][]> {
  const { stdout } = await new Deno.Command(Deno.execPath(), {
    args: ["doc", "--json", "mod.ts"],
    cwd: ROOT,
  }).output();
  const { nodes } = JSON.parse(new TextDecoder().decode(stdout));
  const modules = Object.values(nodes) as {
    symbols: { name: string; declarations: Declaration[] }[];
  }[];
  return modules.flatMap(({ symbols }) =>
    symbols.flatMap(({ name, declarations }) =>
      declarations.map((each): [string, Declaration] => [name, each])
    )
  );
}

// Their types are checked with those of the other examples, in one go: see tests/project/typing/.
Deno.test("examples of README and docstrings run, with settings from the environment", async () => {
  await using sandbox = await startSandbox();
  const { settings } = sandbox;
  const examples = examplesIn(["README.md", ...SOURCES]);
  const names = Object.keys(examples);
  assert(names.length > 20, `${names.length} examples`);
  await inFolder(async (cwd) => {
    for (const [name, text] of Object.entries(examples)) {
      await Deno.writeTextFile(`${cwd}/${name}`, text);
    }
    // One after the other, each with a default session as new.
    const script = `
      import { configure } from ${JSON.stringify(MOD_URL)};
      for (const name of ${JSON.stringify(names)}) {
        console.log(name);
        configure({});
        await import("./" + name);
      }`;
    const env = { ...variablesOf(settings), AUTH_ENV_FILE: settings.envFile };
    const { code, stdout, stderr } = await runScript(script, { cwd, flags: ["-A"], env });
    assertEquals(code, 0, `${stdout}${stderr}`);
  });
});

Deno.test("every exported function has an example, and no hover cites another document", async () => {
  const found = await declarations();
  assert(found.length > 40, `${found.length} declarations`);
  const without = found.filter(([, { kind, jsDoc }]) =>
    kind === "function" && !jsDoc?.tags?.some(({ kind }) => kind === "example")
  );
  assertEquals(without.map(([name]) => name), []);
  // The text of a hover can be understood without another document.
  const cited = found.filter(([, each]) => /\bsections? \d/.test(JSON.stringify(each)));
  assertEquals(cited.map(([name]) => name), []);
});

Deno.test("the hover of a code describes each of its values, as explain does", () => {
  const described = (path: string, type: string) => {
    const [, doc = "", union = ""] =
      new RegExp(`/\\*\\*((?:(?!\\*/)[^])*?)\\*/\\nexport type ${type} =([^;]*);`)
        .exec(documentText(path)) ?? [];
    const text = doc.replaceAll(/\n \* ? ?/g, " ").replaceAll(/\s+/g, " ");
    const meanings = [...text.matchAll(/- `(\w+)`: (.*?)(?= - `|$)/g)].map(([, code, said]) =>
      [code ?? "", (said ?? "").trim()] as const
    );
    const codes = [...union.matchAll(/"(\w+)"/g)].map(([, code = ""]) => code);
    assertEquals(meanings.map(([code]) => code), codes, type);
    return Object.fromEntries(meanings);
  };
  for (const owner of ["Config", "Provider", "Challenge", "Api", "SessionExpired"]) {
    described("src/errors/codes.ts", `${owner}ErrorCode`);
  }
  assertEquals(described("src/session/notices.ts", "NoticeCode"), NOTICES);
});
