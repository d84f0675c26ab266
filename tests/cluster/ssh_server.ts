/** A real `sshd` on loopback that lets the user of this process in by a key, and what reaches it. */
import { freePort } from "../support/free_port.ts";
import { commandPath, type Lack, missingOnWindows, notInstalled } from "../support/needs.ts";
import { saysReady } from "../support/text_lines.ts";

const SERVER = commandPath("sshd") ?? commandPath("../sbin/sshd");

/** The missing requirement, if any. */
export const NO_SSH: Lack | undefined = missingOnWindows("sshd is set up otherwise on Windows") ??
  (SERVER && commandPath("ssh") && commandPath("ssh-keygen")
    ? undefined
    : notInstalled("sshd (openssh-server) or ssh (openssh-client) is not installed"));

export interface SshServer extends AsyncDisposable {
  /** The command that runs a line over there. */
  command(line: string): string[];
}

/** @param folder For keys and configuration. */
export async function startSshServer(folder: string): Promise<SshServer> {
  for (const name of ["host", "user"]) {
    await run("ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-f", `${folder}/${name}`);
  }
  const port = freePort();
  const login = await run("id", "-un");
  const config = [
    ...[`Port ${port}`, "ListenAddress 127.0.0.1", `HostKey ${folder}/host`, "PidFile none"],
    ...["StrictModes no", "UsePAM no", "PasswordAuthentication no", "PermitRootLogin yes"],
    // Without it a job array that starts at once is turned away.
    ...[`AuthorizedKeysFile ${folder}/user.pub`, "MaxStartups 100"],
  ];
  await Deno.writeTextFile(`${folder}/config`, config.map((line) => `${line}\n`).join(""));
  // Debian's makes it at the start of the machine. Only root needs it.
  if (Deno.uid() === 0) await Deno.mkdir("/run/sshd", { recursive: true });
  const server = new Deno.Command(SERVER ?? "sshd", {
    args: ["-D", "-e", "-f", `${folder}/config`],
    stdin: "null",
    stdout: "null",
    stderr: "piped",
  }).spawn();
  const { drained } = await saysReady(server.stderr, "Server listening", "sshd");
  const options = ["BatchMode=yes", "StrictHostKeyChecking=no", "UserKnownHostsFile=/dev/null"];
  return {
    command: (line) => [
      ...["ssh", "-q", "-F", "none", "-i", `${folder}/user`, "-p", `${port}`],
      ...[...options.flatMap((option) => ["-o", option]), `${login}@127.0.0.1`, line],
    ],
    async [Symbol.asyncDispose]() {
      server.kill("SIGTERM");
      await Promise.all([server.status, drained]);
    },
  };
}

async function run(program: string, ...args: string[]): Promise<string> {
  const { success, stdout } = await new Deno.Command(program, { args, stdin: "null" }).output();
  if (!success) throw new Error(`${program} failed`);
  return new TextDecoder().decode(stdout).trim();
}
