/** The sandbox in a process of its own, and what a test may ask of it. Run as a script, it is that process. */
import {
  type SandboxSettings,
  startSandbox,
  type StartSandboxOptions,
} from "../../src/sandbox/mod.ts";
import { IMPORT_FLAGS } from "../support/child_deno.ts";
import { TextLineStream } from "../support/text_lines.ts";
import "../support/sandbox_key.ts";

/** What the token endpoint of the other process was asked. */
export interface WorldRequest {
  readonly operation: string;
  readonly authFlow?: string;
  readonly status: number;
}

export interface WorldProcess extends AsyncDisposable {
  readonly settings: SandboxSettings;
  /** What the token endpoint received so far. */
  requests(): Promise<WorldRequest[]>;
  /** The API answers 401 to every access token issued so far. */
  expireAccessTokens(): Promise<void>;
}

/** Starts the sandbox in a process of its own. */
export async function startWorldProcess(options: StartSandboxOptions = {}): Promise<WorldProcess> {
  const child = new Deno.Command(Deno.execPath(), {
    args: [
      "run",
      "--quiet",
      "--no-prompt",
      "-A",
      ...IMPORT_FLAGS,
      import.meta.url,
      JSON.stringify(options),
    ],
    stdin: "piped",
    stdout: "piped",
    stderr: "inherit",
  }).spawn();
  const lines = child.stdout.pipeThrough(new TextLineStream()).getReader();
  const commands = child.stdin.getWriter();
  const next = async () => JSON.parse((await lines.read()).value ?? "null");
  const ask = async (command: string) => {
    await commands.write(new TextEncoder().encode(`${command}\n`));
    return await next();
  };
  return {
    settings: await next(),
    requests: () => ask("requests"),
    expireAccessTokens: () => ask("expire"),
    async [Symbol.asyncDispose]() {
      await commands.close();
      await lines.cancel();
      await child.status;
    },
  };
}

async function serve(options: StartSandboxOptions): Promise<void> {
  await using sandbox = await startSandbox(options);
  console.log(JSON.stringify(sandbox.settings));
  const lines = Deno.stdin.readable.pipeThrough(new TextLineStream());
  for await (const line of lines) {
    if (line === "expire") sandbox.expireAccessTokens();
    console.log(JSON.stringify(line === "requests" ? sandbox.requests : null));
  }
}

if (import.meta.main) await serve(JSON.parse(Deno.args[0] ?? "{}"));
