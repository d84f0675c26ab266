/**
 * Runs `downloadAll()` on a given number of existing files, from a generator. Prints by how
 * many MiB the memory grew, and the heap after a garbage collection (`--v8-flags=--expose-gc`). A
 * thousand links to one folder turn a hundred files into a hundred thousand paths.
 */
import { createSession, type DownloadItem } from "../mod.ts";

const FILES = 100;
const count = Number(Deno.args[0]);
const folder = await Deno.makeTempDir({ prefix: "bench-" });
await Deno.mkdir(`${folder}/0`);
for (let file = 0; file < FILES; file++) await Deno.writeTextFile(`${folder}/0/${file}`, "");
for (let link = 1; link < count / FILES; link++) await Deno.symlink("0", `${folder}/${link}`);

function* items(from: number, to: number): Generator<DownloadItem> {
  for (let at = from; at < to; at++) {
    yield [`/${at}`, `${folder}/${Math.floor(at / FILES)}/${at % FILES}`];
  }
}

const session = createSession({ envFile: false, apiBaseUrl: "http://127.0.0.1:9" });
await session.downloadAll(items(0, FILES));
const { gc } = globalThis as { gc?: () => void };
gc?.();
const before = Deno.memoryUsage();
const result = await session.downloadAll(items(0, count));
const grown = (Deno.memoryUsage().rss - before.rss) / 1_048_576;
gc?.();
const held = (Deno.memoryUsage().heapUsed - before.heapUsed) / 1_048_576;
await Deno.remove(folder, { recursive: true });
console.log(JSON.stringify({ kept: result.counts.kept, grown, held }));
