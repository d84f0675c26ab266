import { assert, assertEquals } from "@std/assert";
import { Buffer } from "node:buffer";
import { contentOf, startFileServer } from "../../support/file_server.ts";
import { startSandbox } from "../../../src/sandbox/mod.ts";
import { inFolder, MOD_PATH, namesIn, startScript } from "../../support/child_deno.ts";
import { variablesOf, writeEnv } from "../../support/sandbox_env.ts";
import { rounds } from "../../support/property.ts";

/** 60 MB, or 300 MB with SOAK set. */
const SIZE = rounds(60, 300) * 1_000_000;
const DROP_AFTER = 20_000_000;
const MOST_MEMORY = 64 * 1_048_576;

/** Downloads the file, and prints the result and the memory that it took. */
const SCRIPT = `
  import { download, login } from ${JSON.stringify(MOD_PATH)};
  await login();
  const idle = Deno.memoryUsage().rss;
  let peak = idle;
  const onProgress = () => peak = Math.max(peak, Deno.memoryUsage().rss);
  const saved = await download("/files/data", "data.bin", { onProgress });
  console.log(JSON.stringify({ ...saved, memory: peak - idle }));`;

/** Resolves when the unfinished file has this size. */
async function partOf(folder: string, size: number): Promise<void> {
  using watcher = Deno.watchFs(folder);
  const isThere = () =>
    namesIn(folder).some((name) =>
      /^data\.bin\.[0-9a-f]{8}\.part$/.test(name) &&
      Deno.statSync(`${folder}/${name}`).size === size
    );
  if (isThere()) return;
  for await (const _ of watcher) if (isThere()) return;
}

Deno.test(
  "a new process resumes the download of a killed process, with constant memory",
  () =>
    inFolder(async (folder) => {
      await using sandbox = await startSandbox();
      const stalled = Promise.withResolvers<void>();
      await using server = startFileServer({
        content: contentOf(SIZE),
        dropAfter: DROP_AFTER,
        beforeDrop: () => stalled.promise,
      });
      const variables = { ...variablesOf(sandbox.settings), API_BASE_URL: server.origin };
      await writeEnv(folder, variables);
      await Deno.writeTextFile(`${folder}/script.ts`, SCRIPT);
      const first = startScript(folder);
      const output = first.output();
      await Promise.race([partOf(folder, DROP_AFTER), output]);
      first.kill("SIGKILL");
      await output;
      stalled.resolve();
      const { stdout } = await startScript(folder).output();
      const saved = JSON.parse(new TextDecoder().decode(stdout));
      assertEquals([saved.bytes, saved.resumedFrom], [SIZE, DROP_AFTER]);
      assertEquals(server.asked.map(({ range = "" }) => range), [
        "",
        ...Array.from({ length: Math.ceil(SIZE / DROP_AFTER) - 1 }, (_, at) =>
          `bytes=${(at + 1) * DROP_AFTER}-`),
      ]);
      assertEquals(
        server.asked.reduce((sum, { sent }) =>
          sum + sent, 0),
        SIZE,
        "no byte is sent twice",
      );
      const whole = await Deno.readFile(`${folder}/data.bin`);
      assertEquals(Buffer.compare(whole, server.options.content), 0);
      assert(saved.memory <= MOST_MEMORY, `${saved.memory} bytes above idle`);
      assertEquals(namesIn(folder).filter((name) => name.startsWith("data")), ["data.bin"]);
    }),
);
