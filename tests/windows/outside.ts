/**
 * Servers and certificates that tests on Windows need and Windows cannot make: `deno task windows`
 * offers them from Linux, and tells their address in `TESTS_OUTSIDE`.
 */
import { makeCertificates } from "../support/tls_and_proxy.ts";
import { type RedisServer, startRedis } from "../support/redis_server.ts";
import { inFolder } from "../support/child_deno.ts";
import { windowsRoot } from "../support/windows_command.ts";

/** Offers them until it is disposed of. */
export function startOutside(): { url: string } & AsyncDisposable {
  const servers = new Map<string, { server: RedisServer; folder: string }>();
  const handle = async (request: Request): Promise<Response> => {
    const [what = "", id = "", action = ""] = new URL(request.url).pathname.split("/").slice(1);
    const found = servers.get(id);
    if (what === "certificates") {
      return Response.json(
        await inFolder(async (folder) => {
          const { ca, ...others } = await makeCertificates(folder);
          return { ...others, ca: await Deno.readTextFile(ca) };
        }),
      );
    }
    if (found === undefined) {
      const { isKept, more } = await request.json();
      const folder = await Deno.makeTempDir();
      const server = await startRedis(folder, isKept, more.map(pathOutside));
      const name = crypto.randomUUID();
      servers.set(name, { server, folder });
      return Response.json({ id: name, port: portOf(more) ?? server.port });
    }
    if (action === "dump") return new Response(await found.server.dump());
    if (action === "kill" || action === "start") await found.server[action]();
    if (action === "pause" || action === "resume") await found.server[action]();
    if (action === "end") {
      await found.server.kill();
      await Deno.remove(found.folder, { recursive: true });
      servers.delete(id);
    }
    return new Response();
  };
  const options = { hostname: "127.0.0.1", port: 0, onListen: () => {} };
  const service = Deno.serve(options, handle);
  return {
    url: `http://127.0.0.1:${service.addr.port}`,
    async [Symbol.asyncDispose]() {
      await service.shutdown();
      for (const { server, folder } of servers.values()) {
        await server.kill();
        await Deno.remove(folder, { recursive: true });
      }
    },
  };
}

function portOf(more: string[]): number | undefined {
  const at = more.indexOf("--tls-port");
  return at < 0 ? undefined : Number(more[at + 1]);
}

/** Where a file of Windows is, seen from Linux. */
function pathOutside(word: string): string {
  const [drive = "", rest = ""] = /^[CZ]:[\\/]/.test(word) ? [word[0], word.slice(2)] : [];
  if (drive === "") return word;
  const { root } = windowsRoot();
  return (drive === "C" ? `${root}/prefix/drive_c` : root) + rest.replaceAll("\\", "/");
}
