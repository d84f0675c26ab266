/** The store in docs/clusters.md, for use as in other programs. */
import { pathToFileURL } from "node:url";
import type { SessionStore } from "../../mod.ts";
import { documentText } from "./documented_flags.ts";
import { withUrls } from "./examples.ts";

/** A SQLite file with a session, which any process can open. */
export interface SqliteFile {
  /** The URL of the documented store. */
  readonly module: string;
  readonly path: string;
}

/** Writes the documented store to a module in a folder. */
export function sqliteIn(folder: string): SqliteFile {
  const code = /^```ts\n(import \{ DatabaseSync[^]*?)^configure\(/m.exec(
    documentText("docs/clusters.md"),
  )?.[1];
  if (code === undefined) throw new Error("docs/clusters.md shows no store");
  Deno.writeTextFileSync(
    `${folder}/store.ts`,
    withUrls(code.replace("function inTable", "export function inTable")),
  );
  return { module: pathToFileURL(`${folder}/store.ts`).href, path: `${folder}/session.db` };
}

export async function openSqlite({ module, path }: SqliteFile): Promise<SessionStore> {
  return (await import(module)).inTable(path);
}
