/** Many files over a network that fails at random, saved by processes that are killed. */
import { assert, assertEquals } from "@std/assert";
import { createHash } from "node:crypto";
import { inFolder, MOD_PATH, startScript } from "../support/child_deno.ts";
import { contentOf } from "../support/file_server.ts";
import { rounds, SOAK } from "../support/property.ts";
import { randomFrom } from "../support/random.ts";

const FILES = rounds(80, 500);
const KILLS = rounds(3, 10);
const SEED = 23;

/** What came over the network. */
interface Traffic {
  requests: number;
  bytes: number;
  drops: number;
  stalls: number;
  refusals: number;
  /** Files that were asked for although they were whole on disk. */
  again: string[];
}

/** Files with ranges, over a network that drops, stalls and throttles a third of the requests. */
function startBadServer(contents: ReadonlyMap<string, Uint8Array<ArrayBuffer>>, folder: string) {
  const random = randomFrom(SEED);
  const traffic: Traffic = { requests: 0, bytes: 0, drops: 0, stalls: 0, refusals: 0, again: [] };
  let onRequest = () => {};
  const stalled = new Set<() => void>();
  const server = Deno.serve({ hostname: "127.0.0.1", port: 0, onListen() {} }, async (request) => {
    const name = new URL(request.url).pathname.slice(1);
    const content = contents.get(name) ?? new Uint8Array();
    traffic.requests++;
    onRequest();
    try {
      Deno.statSync(`${folder}/data/${name}`);
      traffic.again.push(name);
    } catch {
      // It is not there, as it should be.
    }
    const fate = random();
    if (fate < 0.05) {
      traffic.refusals++;
      return new Response("", { status: 429, headers: { "retry-after": "1" } });
    }
    if (fate < 0.08) {
      traffic.stalls++;
      await new Promise<void>((resolve) => stalled.add(resolve));
    }
    const etag = `"${name}"`;
    const isRest = request.headers.get("if-range") === etag;
    const start = isRest
      ? Number(/^bytes=(\d+)-$/.exec(request.headers.get("range") ?? "")?.[1])
      : 0;
    const end = fate < 0.33 ? start + Math.floor((content.length - start) * random()) : undefined;
    const isStall = end !== undefined && fate < 0.15;
    if (isStall) traffic.stalls++;
    else if (end !== undefined) traffic.drops++;
    let at = start;
    const body = new ReadableStream<Uint8Array<ArrayBuffer>>({
      async pull(controller) {
        const piece = content.subarray(at, Math.min(at + 65_536, end ?? content.length));
        at += piece.length;
        traffic.bytes += piece.length;
        if (piece.length > 0) controller.enqueue(piece);
        if (at === content.length) return controller.close();
        if (at < (end ?? Infinity)) return;
        if (isStall) await new Promise<void>((resolve) => stalled.add(resolve));
        // Before the announced end: the server closes the connection.
        controller.close();
      },
    });
    return new Response(body, {
      status: isRest ? 206 : 200,
      headers: {
        etag,
        "content-length": String(content.length - start),
        ...(isRest && {
          "content-range": `bytes ${start}-${content.length - 1}/${content.length}`,
        }),
      },
    });
  });
  return {
    origin: `http://127.0.0.1:${server.addr.port}`,
    traffic,
    /** Resolves after so many requests. */
    after: (count: number) =>
      new Promise<void>((resolve) => {
        onRequest = () => {
          if (traffic.requests >= count) resolve();
        };
        onRequest();
      }),
    async [Symbol.asyncDispose]() {
      for (const release of stalled) release();
      await server.shutdown();
    },
  };
}

/** Saves all files, and prints what came of them. Pauses are a hundredth of the real ones. */
const scriptFor = (origin: string) => `
  import { createSession } from ${JSON.stringify(MOD_PATH)};
  const session = createSession({
    envFile: false,
    apiBaseUrl: ${JSON.stringify(origin)},
    sleep: (ms) => new Promise((resolve) => setTimeout(resolve, ms / 100)),
  });
  await session.login({ portalToken: "bearer a-portal-token-of-this-test" });
  const items = Array.from({ length: ${FILES} }, (_, at) => ["/" + at, "data/" + at]);
  const { counts, failed } = await session.downloadAll(items, { idleTimeoutMs: 1_500 });
  console.log(JSON.stringify({ counts, failed: failed.map(({ error }) => error.message) }));`;

Deno.test(
  `${FILES} files over a bad network, ${KILLS} times killed: each is whole, and none is fetched again`,
  () =>
    inFolder(async (folder) => {
      const random = randomFrom(SEED + 1);
      const contents = new Map(Array.from({ length: FILES }, (_, at) => {
        // A few are so long that a part of them is kept when the process is killed.
        const size = Math.floor(random() * (at % 25 === 0 ? 3_000_000 : 40_000)) + 1;
        return [String(at), contentOf(size + at).slice(at)] as const;
      }));
      await using server = startBadServer(contents, folder);
      const { traffic } = server;
      const script = scriptFor(server.origin);
      const start = () => startScript(folder);
      await Deno.writeTextFile(`${folder}/script.ts`, script);
      for (let kill = 1; kill <= KILLS; kill++) {
        const child = start();
        const output = child.output();
        await Promise.race([server.after(Math.floor(FILES * kill / (KILLS + 1))), output]);
        child.kill("SIGKILL");
        await output;
      }
      // One that goes on beside another must not disturb it.
      const last = await Promise.all([start().output(), start().output()]);
      const found = last.map(({ stdout }) => JSON.parse(new TextDecoder().decode(stdout)));
      for (const { failed } of found) assertEquals(failed, []);
      const saved = found.map(({ counts }) => counts.saved);
      // One may do nothing but wait for the other's files, which it then keeps.
      assert(saved.some((count) => count > 0), `${saved}`);
      const digest = (bytes: Uint8Array) => createHash("sha256").update(bytes).digest("hex");
      for (const [name, content] of contents) {
        const bytes = Deno.readFileSync(`${folder}/data/${name}`);
        assertEquals(digest(bytes), digest(content), name);
      }
      assertEquals([...Deno.readDirSync(`${folder}/data`)].length, FILES);
      assertEquals(traffic.again, []);
      const total = [...contents.values()].reduce((sum, { length }) => sum + length, 0);
      const share = traffic.bytes / total;
      assert(share < 1.6, `${share} times the bytes`);
      if (SOAK > 0) {
        console.log(JSON.stringify({ ...traffic, saved, share: Number(share.toFixed(3)) }));
      }
    }),
);
