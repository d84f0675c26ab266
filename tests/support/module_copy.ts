import { cpSync } from "node:fs";
import { fileURLToPath, pathToFileURL } from "node:url";
import type * as mod from "../../mod.ts";
import { inFolder } from "./child_deno.ts";

/**
 * Imports another copy of this module, in a separate folder.
 *
 * @param edits Texts that replace files in the copy, by path.
 */
export async function inCopy(
  use: (copy: typeof mod) => Promise<void>,
  edits: Readonly<Record<string, string>> = {},
): Promise<void> {
  await inFolder(async (folder) => {
    const root = fileURLToPath(new URL("../../", import.meta.url));
    cpSync(`${root}mod.ts`, `${folder}/mod.ts`);
    cpSync(`${root}src`, `${folder}/src`, { recursive: true });
    for (const [path, text] of Object.entries(edits)) {
      await Deno.writeTextFile(`${folder}/${path}`, text);
    }
    await use(await import(pathToFileURL(`${folder}/mod.ts`).href));
  });
}
