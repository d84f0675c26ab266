import { assert, assertEquals } from "@std/assert";
import { Buffer } from "node:buffer";
import { contentOf, startFileServer } from "../support/file_server.ts";
import { startSandbox } from "../../src/sandbox/mod.ts";
import { inFolder, MOD_PATH, startScript } from "../support/child_deno.ts";
import { variablesOf, writeEnv } from "../support/sandbox_env.ts";
import { rounds } from "../support/property.ts";

/** 60 MB; 300 in the long run. */
const SIZE = rounds(60, 300) * 1_000_000;
const DROP_AFTER = 20_000_000;
const MOST_MEMORY = 64 * 1_048_576;

/** Saves the file, and prints what came of it and how much memory that took. */
const SCRIPT = `
  import { download, login } from ${JSON.stringify(MOD_PATH)};
  await login();
  const idle = Deno.memoryUsage().rss;
  let peak = idle;
  const onProgress = () => peak = Math.max(peak, Deno.memoryUsage().rss);
  const saved = await download("/files/data", "data.bin", { onProgress });
  console.log(JSON.stringify({ ...saved, memory: peak - idle }));`;

/** Resolves when the part of a file has so many bytes. */
async function partOf(folder: string, size: number): Promise<void> {
  using watcher = Deno.watchFs(folder);
  const isThere = () =>
    [...Deno.readDirSync(folder)].some(({ name }) =>
      /^data\.bin\.[0-9a-f]{8}\.part$/.test(name) &&
      Deno.statSync(`${folder}/${name}`).size === size
    );
  if (isThere()) return;
  for await (const _ of watcher) if (isThere()) return;
}

Deno.test(
  "the next process resumes a killed download: no byte twice, constant memory",
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
      const start = () => startScript(folder);
      const first = start();
      const output = first.output();
      await Promise.race([partOf(folder, DROP_AFTER), output]);
      first.kill("SIGKILL");
      await output;
      stalled.resolve();
      const { stdout } = await start().output();
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
      );
      const whole = await Deno.readFile(`${folder}/data.bin`);
      assertEquals(Buffer.compare(whole, server.options.content), 0);
      assert(saved.memory <= MOST_MEMORY, `${saved.memory} bytes above idle`);
      const names = [...Deno.readDirSync(folder)].map(({ name }) => name);
      assertEquals(names.filter((name) => name.startsWith("data.bin")), ["data.bin"]);
    }),
);

/** Says when it begins, and replaces the file that is there. */
const REPLACING = `
  import { download, login } from ${JSON.stringify(MOD_PATH)};
  await login();
  console.log("begins");
  await download("/files/data", "data.bin", { ifExists: "replace" });`;

Deno.test("a file that changes while its downloads are killed is never a mix of two versions", () =>
  inFolder(async (folder) => {
    await using sandbox = await startSandbox();
    // Of one length, and with dates as their only validators.
    const versions = [1, 2].map((version) => ({
      content: contentOf(2_000_000).map((byte) => byte ^ version),
      etag: "",
      headers: {
        "last-modified": `Sun, 0${version} Nov 2026 10:00:00 GMT`,
        date: "Sat, 21 Nov 2026 10:00:00 GMT",
      },
    }));
    const [first, second] = versions;
    // It returns the rest of its file, whatever If-Range contains.
    await using server = startFileServer({
      content: new Uint8Array(),
      ignoresIfRange: true,
      ...first,
    });
    const isVersion = (bytes: Uint8Array) =>
      versions.some(({ content }) =>
        bytes.length === content.length && bytes.every((byte, at) => byte === content[at])
      );
    await writeEnv(folder, { ...variablesOf(sandbox.settings), API_BASE_URL: server.origin });
    await Deno.writeTextFile(`${folder}/script.ts`, REPLACING);
    const start = () => startScript(folder);
    const file = `${folder}/data.bin`;
    for (let round = 0; round < rounds(8, 80); round++) {
      Object.assign(server.options, round % 2 === 0 ? first : second);
      const child = start();
      const reader = child.stdout.getReader();
      await reader.read();
      await new Promise((done) => setTimeout(done, Math.random() * 40));
      try {
        child.kill("SIGKILL");
      } catch {
        // It was faster.
      }
      while (!(await reader.read()).done);
      await child.status;
      const saved = await Deno.readFile(file).catch(() => undefined);
      assert(saved === undefined || isVersion(saved), `round ${round}`);
    }
    assert((await start().output()).success);
    const last = await Deno.readFile(file);
    assert(last.every((byte, at) => byte === server.options.content[at]));
    const names = [...Deno.readDirSync(folder)].map(({ name }) => name);
    assertEquals(names.filter((name) => name.startsWith("data.bin")), ["data.bin"]);
  }));
