import { assert, assertEquals } from "@std/assert";
import { inCliWorld } from "../../support/cli_world.ts";
import { MOD_PATH, runScript } from "../../support/child_deno.ts";
import { documentText } from "../../support/documented_flags.ts";
import { serveLocal } from "../../support/local_server.ts";
import { writeEnv } from "../../support/sandbox_env.ts";

const PAGE = documentText("docs/files.md");

/** Runs the example of a section and counts the bytes of the API's responses. */
async function bytesFetched(section: string): Promise<{ fetched: number; size: number }> {
  const [, text = ""] = PAGE.split(`## ${section}\n`);
  const [, example = ""] = /^```ts\n([^]*?)^```$/m.exec(text) ?? [];
  let [fetched, size] = [0, 0];
  await inCliWorld(async ({ sandbox, folder, variables }) => {
    await using api = serveLocal(async (request) => {
      const { pathname } = new URL(request.url);
      const { method, headers } = request;
      const response = await fetch(sandbox.apiUrl + pathname, { method, headers });
      const bytes = await response.arrayBuffer();
      fetched += bytes.byteLength;
      const whole = response.headers.get("content-range")?.split("/")[1];
      size = Number(whole ?? response.headers.get("content-length"));
      return new Response(method === "HEAD" ? null : bytes, response);
    });
    await writeEnv(folder, { ...variables, API_BASE_URL: api.origin });
    const script = example.replace('"../mod.ts"', JSON.stringify(MOD_PATH));
    const { code, stderr } = await runScript(script, { cwd: folder, flags: ["-A"] });
    assertEquals(code, 0, stderr);
  });
  return { fetched, size };
}

const kilobytes = (bytes: number) => Number((bytes / 1000).toFixed(1));

for (
  const [file, section] of [
    ["observations.parquet", "A part of a Parquet file"],
    ["temperature.tif", "A window of a GeoTIFF"],
  ] as const
) {
  Deno.test(`the example for ${file} fetches as little as docs/files.md says`, async () => {
    const row = PAGE.split("\n").find((line) => line.startsWith(`| \`${file}\``)) ?? "";
    const [said = 0, of = 0] = [...row.matchAll(/([\d.]+) kB/g)].map(([, kB]) => Number(kB));
    const { fetched, size } = await bytesFetched(section);
    assertEquals(kilobytes(size), of);
    // A later version of the reader may ask for a little more or less.
    assert(
      Math.abs(kilobytes(fetched) - said) < said / 5,
      `${fetched} bytes, the page says ${said}`,
    );
    assert(fetched < size / 4);
  });
}
