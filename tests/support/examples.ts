/** The examples of the documents and of docstrings, as files that import this source. */
import { documentText } from "./documented_flags.ts";

const ROOT = new URL("../../", import.meta.url);

/** The public modules, as examples import them. */
const PUBLIC: readonly [specifier: RegExp, path: string][] = [
  [/"@platform-auth\/platform-auth"|"\.{1,2}\/mod\.ts"/g, "mod.ts"],
  [
    /"@platform-auth\/platform-auth\/sandbox"|"\.\.\/src\/sandbox\/mod\.ts"/g,
    "src/sandbox/mod.ts",
  ],
  [
    /"@platform-auth\/platform-auth\/notebook"|"\.\.\/src\/notebook\/mod\.ts"/g,
    "src/notebook/mod.ts",
  ],
  [/"@platform-auth\/platform-auth\/redis"|"\.\.\/src\/redis\/mod\.ts"/g, "src/redis/mod.ts"],
  [/"@platform-auth\/platform-auth\/cli"/g, "src/cli.ts"],
];

/** The text, with the URLs of the public modules instead of their specifiers. */
export function withUrls(text: string): string {
  let found = text.replaceAll(/(\.\.\/){2,3}/g, ROOT.href);
  for (const [specifier, path] of PUBLIC) {
    found = found.replaceAll(specifier, JSON.stringify(new URL(path, ROOT).href));
  }
  return found;
}

/** The TypeScript examples by file name. Docstring examples lose their asterisks. */
export function examplesIn(paths: readonly string[]): Record<string, string> {
  return Object.fromEntries(
    paths.flatMap((path) =>
      [...documentText(path).matchAll(/^( *\* )?```ts\n([^]*?)^(?: *\* )?```$/gm)].map(
        ([, , code = ""], index) => [
          `${path.replaceAll(/\W/g, "_")}_${index}.ts`,
          `${withUrls(code.replaceAll(/^ *\* ?/gm, ""))}\nexport {};\n`,
        ],
      )
    ),
  );
}

/** The source files of the public modules. */
export const SOURCES: readonly string[] = ["mod.ts", ...sourcesIn("src/")];

function sourcesIn(folder: string): string[] {
  return [...Deno.readDirSync(new URL(folder, ROOT))].flatMap(({ name, isDirectory }) =>
    isDirectory ? sourcesIn(`${folder}${name}/`) : name.endsWith(".ts") ? [`${folder}${name}`] : []
  );
}
