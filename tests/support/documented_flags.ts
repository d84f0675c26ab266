/** The permission flags that are enough according to the documents. Tests run with exactly these. */

const ROOT = new URL("../../", import.meta.url);

/** The documents with flags. */
export const DOCUMENTS: readonly string[] = [
  "README.md",
  ...[...Deno.readDirSync(new URL("docs/", ROOT))].map(({ name }) => `docs/${name}`)
    .filter((path) => path.endsWith(".md")).sort(),
];

/** The text of a document. */
export function documentText(path: string): string {
  return Deno.readTextFileSync(new URL(path, ROOT));
}

/** The text of a section of a document, with its subsections. */
export function sectionOf(path: string, heading: string): string {
  const [, text = ""] = documentText(path).split(`\n## ${heading}\n`);
  return text.split(/^## /m)[0] ?? "";
}

/** The code blocks in a section of a document. */
export function codeBlocks(path: string, heading: string): string[] {
  return [...sectionOf(path, heading).matchAll(/^```.*\n([^]*?)^```$/gm)]
    .map(([, block = ""]) => block);
}

/** The flags of each command, from the table in `docs/security.md`. */
export const COMMAND_FLAGS: ReadonlyMap<string, readonly string[]> = new Map(
  [...documentText("docs/security.md").matchAll(/^\| `(.+)` +\| (?:`(--allow[^`]+)`|none) +\|$/gm)]
    .map(([, command = "", flags]) => [command, flags?.split(" ") ?? []]),
);

/** The flags of a script, with and without a `.env`, from `docs/security.md`. */
export const SCRIPT_FLAGS: readonly (readonly string[])[] = scriptFlagsIn("docs/security.md");

/** The flags of each `deno run … script.ts` in a document. */
export function scriptFlagsIn(path: string): string[][] {
  return [...documentText(path).matchAll(/^deno run (.*) script\.ts\b/gm)]
    .map(([, flags = ""]) => flags.split(" ").filter((word) => word !== ""));
}

/** The flags with hosts instead of `<provider>` and `<api>`. */
export function filledIn(
  flags: readonly string[],
  hosts: { provider: string; api: string },
): string[] {
  return flags.map((flag) =>
    flag.replace("<provider>", hosts.provider).replace("<api>", hosts.api)
  );
}

/** The content of `deno.json`, whose comments are on separate lines. */
export function denoConfig(): {
  version: string;
  exports: Record<string, string>;
  tasks: Record<string, string>;
} {
  return JSON.parse(documentText("deno.json").replaceAll(/^\s*\/\/.*$/gm, ""));
}
