import { assert, assertEquals } from "@std/assert";
import { createSandbox } from "../../../src/sandbox/mod.ts";
import { inFolder, MOD_PATH, runScript } from "../../support/child_deno.ts";
import { documentText } from "../../support/documented_flags.ts";
import { variablesOf, writeEnv } from "../../support/sandbox_env.ts";

const PAGE = documentText("docs/files.md");
const ON_LOOPBACK = { hostname: "127.0.0.1", port: 0, onListen: () => {} };

/** Runs the example of a section and counts the bytes of the responses under `/v1`. */
async function bytesFetched(section: string): Promise<{ fetched: number; size: number }> {
  const [, text = ""] = PAGE.split(`## ${section}\n`);
  const [, example = ""] = /^```ts\n([^]*?)^```$/m.exec(text) ?? [];
  const ready = Promise.withResolvers<(request: Request) => Promise<Response>>();
  let [fetched, size] = [0, 0];
  await using api = Deno.serve(ON_LOOPBACK, async (request) => {
    const response = await (await ready.promise)(request);
    const bytes = await response.arrayBuffer();
    fetched += bytes.byteLength;
    const whole = response.headers.get("content-range")?.split("/")[1];
    size = Number(whole ?? response.headers.get("content-length"));
    return new Response(request.method === "HEAD" ? null : bytes, response);
  });
  await using provider = Deno.serve(ON_LOOPBACK, async (request) => (await ready.promise)(request));
  const origin = ({ addr }: { addr: Deno.NetAddr }) => `http://127.0.0.1:${addr.port}`;
  await using sandbox = createSandbox({}, {
    authUrl: origin(provider),
    apiUrl: origin(api),
    portalUrl: "http://127.0.0.1:1",
  });
  ready.resolve(sandbox.handle);
  return await inFolder(async (cwd) => {
    await writeEnv(cwd, variablesOf(sandbox.settings));
    const script = example.replace('"../mod.ts"', JSON.stringify(MOD_PATH));
    const { code, stderr } = await runScript(script, { cwd, flags: ["-A"] });
    assertEquals(code, 0, stderr);
    return { fetched, size };
  });
}

const kilobytes = (bytes: number) => Number((bytes / 1000).toFixed(1));

for (
  const [file, section] of [
    ["observations.parquet", "A part of a Parquet file"],
    ["temperature.tif", "A window of a GeoTIFF"],
  ] as const
) {
  Deno.test(`${file}: only as much of the file is fetched as the page says`, async () => {
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
