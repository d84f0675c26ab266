/** A forward proxy, and certificates of a CA that no computer knows. */

/** Where `deno task windows` makes them: see tests/windows/outside.ts. */
const OUTSIDE = Deno.env.get("TESTS_OUTSIDE");

/** Whether certificates can be made here. */
export const openssl: boolean = await hasOpenssl();

async function hasOpenssl(): Promise<boolean> {
  if (OUTSIDE !== undefined) return true;
  try {
    return (await new Deno.Command("openssl", { args: ["version"] }).output()).success;
  } catch {
    return false;
  }
}

/** A certificate for `localhost`, its key, and the path of the CA's certificate. */
export async function makeCertificates(
  folder: string,
): Promise<{ ca: string; cert: string; key: string }> {
  if (OUTSIDE !== undefined) {
    const made = await (await fetch(`${OUTSIDE}/certificates`)).json();
    const files = { "ca.pem": made.ca, "own.pem": made.cert, "own.key": made.key };
    for (const [name, text] of Object.entries(files)) {
      await Deno.writeTextFile(`${folder}/${name}`, text);
    }
    return { ...made, ca: `${folder}/ca.pem` };
  }
  const run = async (...args: string[]) => {
    const { success, stderr } = await new Deno.Command("openssl", { args, cwd: folder }).output();
    if (!success) throw new Error(new TextDecoder().decode(stderr));
  };
  const curve = ["-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes"];
  const authority = ["-x509", "-days", "2", "-subj", "/CN=Example Company CA"];
  await run("req", ...authority, ...curve, "-keyout", "ca.key", "-out", "ca.pem");
  await run("req", "-subj", "/CN=localhost", ...curve, "-keyout", "own.key", "-out", "own.csr");
  await Deno.writeTextFile(`${folder}/own.ext`, "subjectAltName=DNS:localhost\n");
  const signed = ["-CA", "ca.pem", "-CAkey", "ca.key", "-CAcreateserial", "-days", "2"];
  const files = ["-in", "own.csr", "-out", "own.pem", "-extfile", "own.ext"];
  await run("x509", "-req", ...signed, ...files);
  return {
    ca: `${folder}/ca.pem`,
    cert: await Deno.readTextFile(`${folder}/own.pem`),
    key: await Deno.readTextFile(`${folder}/own.key`),
  };
}

export interface Proxy extends AsyncDisposable {
  readonly url: string;
  /** Where requests were sent on to: origins, and host and port of tunnels. */
  readonly targets: string[];
  close(): Promise<void>;
}

/** Passes on plain requests, one for each connection, and tunnels. */
export function startProxy(): Proxy {
  const listener = Deno.listen({ hostname: "127.0.0.1", port: 0 });
  const targets: string[] = [];
  const open = new Set<Deno.Conn>();
  const running: Promise<void>[] = [];

  async function serve(client: Deno.Conn): Promise<void> {
    open.add(client);
    try {
      const { head, rest } = await readHead(client);
      const [method = "", target = ""] = head.split(" ");
      const tunnel = method === "CONNECT";
      const url = new URL(tunnel ? `tcp://${target}` : target);
      targets.push(tunnel ? target : url.origin);
      const server = await Deno.connect({ hostname: url.hostname, port: Number(url.port || 80) });
      open.add(server);
      const first = tunnel
        ? rest
        : new Uint8Array([...new TextEncoder().encode(asSent(head, url)), ...rest]);
      if (tunnel) await writeAll(client, new TextEncoder().encode("HTTP/1.1 200 OK\r\n\r\n"));
      await writeAll(server, first);
      await Promise.all([pass(client, server), pass(server, client)]);
    } catch {
      // Either side went away: there is nobody to tell.
    }
  }

  async function pass(from: Deno.Conn, to: Deno.Conn): Promise<void> {
    try {
      await from.readable.pipeTo(to.writable);
    } catch {
      // The end of one direction is the end of the connection.
    } finally {
      for (const each of [from, to]) close(each);
    }
  }

  function close(connection: Deno.Conn): void {
    if (!open.delete(connection)) return;
    try {
      connection.close();
    } catch {
      // closed with its stream
    }
  }

  const accepting = (async () => {
    for await (const client of listener) running.push(serve(client));
  })();
  let closing: Promise<void> | undefined;
  const end = (): Promise<void> =>
    closing ??= (async () => {
      listener.close();
      for (const connection of [...open]) close(connection);
      await accepting;
      await Promise.all(running);
    })();
  const url = `http://127.0.0.1:${listener.addr.port}`;
  return { url, targets, close: end, [Symbol.asyncDispose]: end };
}

/** The head with the path alone, and an end to the connection after the answer. */
function asSent(head: string, url: URL): string {
  return head.replace(url.origin, "").replace("\r\n", "\r\nconnection: close\r\n");
}

async function readHead(client: Deno.Conn): Promise<{ head: string; rest: Uint8Array }> {
  let text = "";
  const buffer = new Uint8Array(65_536);
  const bytes: number[] = [];
  while (!text.includes("\r\n\r\n")) {
    const count = await client.read(buffer);
    if (count === null) throw new TypeError("the client sent no whole head");
    bytes.push(...buffer.subarray(0, count));
    text = String.fromCharCode(...bytes);
  }
  const end = text.indexOf("\r\n\r\n") + 4;
  return { head: text.slice(0, end), rest: new Uint8Array(bytes.slice(end)) };
}

async function writeAll(connection: Deno.Conn, bytes: Uint8Array): Promise<void> {
  for (let at = 0; at < bytes.length;) at += await connection.write(bytes.subarray(at));
}
