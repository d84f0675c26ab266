/**
 * Serves `/<bytes>/<name>` as that many bytes with an ETag, and `/<bytes>/<ms>/<name>` after that
 * many milliseconds. Prints its address.
 */
const LONGEST = 50_000_000;
const bytes = new Uint8Array(LONGEST).map((_, at) => at % 251);
Deno.serve({
  hostname: "127.0.0.1",
  port: 0,
  onListen: ({ port }) => console.log(JSON.stringify({ origin: `http://127.0.0.1:${port}` })),
}, async (request) => {
  const [size, ms] = new URL(request.url).pathname.split("/").slice(1, -1).map(Number);
  if (ms !== undefined) await new Promise((resolve) => setTimeout(resolve, ms));
  return new Response(bytes.subarray(0, size), {
    headers: { "content-type": "application/octet-stream", "etag": `"${size}"` },
  });
});
