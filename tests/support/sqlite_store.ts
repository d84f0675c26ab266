/** The store in docs/clusters.md, for use as in other programs. */
import type { SessionStore } from "../../mod.ts";
import { documentText } from "./documented_flags.ts";
import { withUrls } from "./examples.ts";

/** Writes the store to a module in a folder. Its function `inTable()` opens a file. */
export async function documentedStore(
  folder: string,
): Promise<{ readonly inTable: (file: string) => SessionStore }> {
  const code = /^```ts\n(import \{ DatabaseSync[^]*?)^configure\(/m.exec(
    documentText("docs/clusters.md"),
  )?.[1];
  if (code === undefined) throw new Error("docs/clusters.md shows no store");
  const path = `${folder}/store.ts`;
  await Deno.writeTextFile(
    path,
    withUrls(code.replace("function inTable", "export function inTable")),
  );
  return await import(new URL(`file://${path}`).href);
}
