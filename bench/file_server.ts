/** Serves `/<bytes>/<name>` as so many bytes with an ETag. Prints where it is. */
const LONGEST = 50_000_000;
const bytes = new Uint8Array(LONGEST).map((_, at) => at % 251);
Deno.serve({
  hostname: "127.0.0.1",
  port: 0,
  onListen: ({ port }) => console.log(JSON.stringify({ origin: `http://127.0.0.1:${port}` })),
}, (request) => {
  const size = Number(new URL(request.url).pathname.split("/")[1]);
  return new Response(bytes.subarray(0, size), {
    headers: { "content-type": "application/octet-stream", "etag": `"${size}"` },
  });
});
