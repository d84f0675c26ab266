/** A forward proxy, and certificates of a CA that no computer trusts. */
import { mustRun } from "./child_deno.ts";
import { type Lack, lackOf, missingOnWindows } from "./needs.ts";
import { type LocalServer, readText, serveRaw } from "./local_server.ts";

/** The missing requirement for making certificates, if any. */
export const NO_OPENSSL: Lack | undefined = missingOnWindows("Windows has no openssl") ??
  await lackOf("openssl", "version");

/** A certificate for `localhost`, its key, and the path of the CA's certificate. */
export async function makeCertificates(
  folder: string,
): Promise<{ ca: string; cert: string; key: string }> {
  const run = (...args: string[]) => mustRun("openssl", { args, cwd: folder });
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

/** A proxy for `HTTPS_PROXY`, which opens tunnels. `targets` has the host and port of each. */
export function startProxy(): LocalServer & { readonly targets: string[] } {
  const targets: string[] = [];
  const proxy = serveRaw(async (client) => {
    const [, target = ""] = (await readText(client)).split(" ");
    targets.push(target);
    const { hostname, port } = new URL(`tcp://${target}`);
    using server = await Deno.connect({ hostname, port: Number(port) });
    await client.write(new TextEncoder().encode("HTTP/1.1 200 OK\r\n\r\n"));
    const options = { preventClose: true };
    await Promise.race([
      client.readable.pipeTo(server.writable, options),
      server.readable.pipeTo(client.writable, options),
    ]);
  });
  return { ...proxy, targets };
}
