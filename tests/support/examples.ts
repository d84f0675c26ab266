/** The examples of the documents and of docstrings, as files that import this source. */
import { denoConfig, DOCUMENTS, documentText } from "./documented_flags.ts";

const ROOT = new URL("../../", import.meta.url);

/** The text, with the URLs of the public modules instead of their specifiers. */
export function withUrls(text: string): string {
  let found = text.replaceAll(/"(\.{1,2}\/)+(?=mod\.ts"|src\/)/g, `"${ROOT.href}`);
  for (const [name, path] of Object.entries(denoConfig().exports)) {
    const specifier = `"@platform-auth/platform-auth${name.slice(1)}"`;
    found = found.replaceAll(specifier, JSON.stringify(new URL(path, ROOT).href));
  }
  return found;
}

/** All TypeScript examples with names for their files. Docstring examples lose their asterisks. */
export function allExamples(): [name: string, text: string][] {
  return [...DOCUMENTS, "mod.ts", ...sourcesIn("src/")].flatMap((path) =>
    [...documentText(path).matchAll(/^( *\* )?```ts\n([^]*?)^(?: *\* )?```$/gm)].map(
      ([, , code = ""], index): [string, string] => [
        `${path.replaceAll(/\W/g, "_")}_${index}.ts`,
        `${withUrls(code.replaceAll(/^ *\* ?/gm, ""))}\nexport {};\n`,
      ],
    )
  );
}

function sourcesIn(folder: string): string[] {
  return [...Deno.readDirSync(new URL(folder, ROOT))].flatMap(({ name, isDirectory }) =>
    isDirectory ? sourcesIn(`${folder}${name}/`) : name.endsWith(".ts") ? [`${folder}${name}`] : []
  );
}
