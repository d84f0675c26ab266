/** The connection file of a kernel: which loopback ports it listens on and which key signs. */

/** The sockets a client connects to. */
export type Channel = "shell" | "iopub" | "stdin" | "control";

export const HOSTNAME = "127.0.0.1";

/** The content of the file. `folder` contains nothing else; the caller removes it. */
export interface ConnectionFile {
  folder: string;
  path: string;
  key: string;
  ports: Record<Channel | "heartbeat", number>;
}

/** Writes a connection file with free ports and a new key into a new temporary folder. */
export async function writeConnectionFile(): Promise<ConnectionFile> {
  const folder = await Deno.makeTempDir({ prefix: "kernel-" });
  const path = `${folder}/connection.json`;
  const key = crypto.randomUUID();
  const ports = freePorts();
  const connection = {
    transport: "tcp",
    ip: HOSTNAME,
    shell_port: ports.shell,
    iopub_port: ports.iopub,
    stdin_port: ports.stdin,
    control_port: ports.control,
    hb_port: ports.heartbeat,
    key,
    signature_scheme: "hmac-sha256",
  };
  await Deno.writeTextFile(path, JSON.stringify(connection), { mode: 0o600 });
  return { folder, path, key, ports };
}

function freePorts(): ConnectionFile["ports"] {
  // All are held until the last is known, so that no two are the same.
  const listeners = Array.from({ length: 5 }, () => Deno.listen({ hostname: HOSTNAME, port: 0 }));
  const [shell = 0, iopub = 0, stdin = 0, control = 0, heartbeat = 0] = listeners.map(
    (listener) => listener.addr.transport === "tcp" ? listener.addr.port : 0,
  );
  for (const listener of listeners) listener.close();
  return { shell, iopub, stdin, control, heartbeat };
}
