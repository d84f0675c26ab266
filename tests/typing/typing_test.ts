import { assert, assertEquals } from "@std/assert";
import { inFolder } from "../support/child_deno.ts";
import { DOCUMENTS, documentText } from "../support/documented_flags.ts";

const ROOT = new URL("../../", import.meta.url);

/** The public modules, as examples import them. */
const PUBLIC: readonly [specifier: RegExp, path: string][] = [
  [/"@platform-auth\/platform-auth"|"\.{1,2}\/mod\.ts"/g, "mod.ts"],
  [/"@platform-auth\/platform-auth\/sandbox"/g, "src/sandbox/mod.ts"],
  [
    /"@platform-auth\/platform-auth\/notebook"|"\.\.\/src\/notebook\/mod\.ts"/g,
    "src/notebook/mod.ts",
  ],
  [/"@platform-auth\/platform-auth\/cli"/g, "src/cli.ts"],
];

function withUrls(text: string): string {
  let found = text.replaceAll("../../", ROOT.href);
  for (const [specifier, path] of PUBLIC) {
    found = found.replaceAll(specifier, JSON.stringify(new URL(path, ROOT).href));
  }
  return found;
}

/** The examples of a text in TypeScript; those of docstrings without the stars. */
function examplesIn(text: string): string[] {
  return [...text.matchAll(/^( *\* )?```ts\n([^]*?)^(?: *\* )?```$/gm)].map(([, , code = ""]) =>
    code.replaceAll(/^ *\* ?/gm, "")
  );
}

function sources(folder: string): string[] {
  return [...Deno.readDirSync(new URL(folder, ROOT))].flatMap(({ name, isDirectory }) =>
    isDirectory ? sources(`${folder}${name}/`) : name.endsWith(".ts") ? [`${folder}${name}`] : []
  );
}

/** What the compiler says about these files in somebody else's folder, where no option is set. */
async function errorsIn(files: Readonly<Record<string, string>>): Promise<string> {
  return await inFolder(async (folder) => {
    for (const [name, text] of Object.entries(files)) {
      await Deno.writeTextFile(`${folder}/${name}`, text);
    }
    const { success, stderr } = await new Deno.Command(Deno.execPath(), {
      args: ["check", "--quiet", "--no-lock", ...Object.keys(files)],
      cwd: folder,
      env: { NO_COLOR: "1" },
    }).output();
    const text = new TextDecoder().decode(stderr);
    assertEquals(success, text === "", text);
    return text;
  });
}

// `deno task check` checks the first two under the strictest options, and a check takes seconds.
Deno.test("types and all examples tell the truth, and a wrong example is found", async () => {
  const own = ["accepted.ts", "refused.ts"].map((name): [string, string] => [
    name,
    withUrls(documentText(`tests/typing/${name}`)),
  ]);
  const examples = [...DOCUMENTS, "mod.ts", ...sources("src/")].flatMap((path) =>
    examplesIn(documentText(path)).map((text, index): [string, string] => [
      `${path.replaceAll(/\W/g, "_")}_${index}.ts`,
      `${withUrls(text)}\nexport {};\n`,
    ])
  );
  assert(examples.length > 30, `${examples.length} examples`);
  const wrong = withUrls('import { login } from "./mod.ts";\nlogin("bearer eyJ");\n');
  const errors = await errorsIn({
    ...Object.fromEntries([...own, ...examples]),
    "wrong.ts": wrong,
  });
  // A module of ours in a place below an error explains that error.
  const places = errors.split(/^(?:error: )?TS\d+ /m).slice(1)
    .map((error) => /([\w.]+\.ts):\d+:\d+$/m.exec(error)?.[1]);
  assertEquals([...new Set(places)], ["wrong.ts"], errors);
});
