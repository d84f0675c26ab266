/**
 * Takes the commands out of the README, in order, and runs them in a clean clone, as a reader would:
 * `deno run -A tests/docs/readme_commands.ts`. Tells how long it takes from the clone to the first answer
 * of the API, downloads included.
 *
 * Options: `--working-tree` takes the files as they are instead of the last commit, `--cached` lets
 * the runtime and the packages of this machine be used, `--all` also runs all tests.
 */
import { fileURLToPath } from "node:url";
import { startSandbox } from "../../src/sandbox/mod.ts";
import { filledIn } from "../support/documented_flags.ts";
import { variablesOf } from "../support/sandbox_env.ts";

const ROOT = fileURLToPath(new URL("../../", import.meta.url));
const LIMIT_SECONDS = 120;

export interface ReadmeOptions {
  /** The files as they are, not as they were committed. */
  workingTree?: boolean;
  /** Use what this machine has in its caches, and its own Deno. */
  cached?: boolean;
  /** Also run the command that runs all tests. */
  all?: boolean;
}

export interface ReadmeRun {
  readonly steps: readonly { command: string; seconds: number; code: number; output: string }[];
  readonly skipped: readonly string[];
  /** From the clone to the first answer of the API. */
  readonly firstAnswerSeconds: number | undefined;
}

/** The commands in the README's shell blocks, without their comments. */
export function commandsIn(readme: string): string[] {
  return [...readme.matchAll(/^```sh\n([^]*?)^```$/gm)].flatMap(([, block = ""]) =>
    block.split("\n").map((line) => line.replace(/\s+# .*$/, "").trim()).filter((line) => line)
  );
}

/** Runs the README from the clone on. The first command that fails is the last. */
export async function runReadme(options: ReadmeOptions = {}): Promise<ReadmeRun> {
  await using sandbox = await startSandbox();
  const hosts = { provider: new URL(sandbox.authUrl).host, api: new URL(sandbox.apiUrl).host };
  const home = await Deno.makeTempDir({ prefix: "readme-" });
  const started = performance.now();
  const seconds = () => (performance.now() - started) / 1_000;
  const steps: ReadmeRun["steps"][number][] = [];
  const skipped: string[] = [];
  let firstAnswerSeconds: number | undefined;
  try {
    const folder = `${home}/clone`;
    await clone(folder, options.workingTree === true);
    const readme = await Deno.readTextFile(`${folder}/README.md`);
    const env = await environmentIn(home, options.cached === true);
    for (const written of commandsIn(readme)) {
      if (/\btask test\b/.test(written) && !options.all) {
        skipped.push(written);
        continue;
      }
      const [command = written] = filledIn([written], hosts);
      if (command.includes("script.ts")) await writeScript(folder, readme);
      const before = seconds();
      const { code, output } = await run(command, folder, env, (text) => {
        if (/^\s+200 /m.test(text)) firstAnswerSeconds ??= seconds();
      });
      if (sandbox.apiRequests.some(({ status }) => status === 200)) {
        firstAnswerSeconds ??= seconds();
      }
      steps.push({ command, seconds: seconds() - before, code, output });
      if (code !== 0) break;
      if (command.endsWith(" .env")) await fillIn(`${folder}/.env`, variablesOf(sandbox.settings));
    }
    return { steps, skipped, firstAnswerSeconds };
  } finally {
    // Deno keeps what it downloads write-protected.
    await new Deno.Command("chmod", { args: ["-R", "u+w", home] }).output();
    await Deno.remove(home, { recursive: true });
  }
}

async function clone(folder: string, workingTree: boolean): Promise<void> {
  if (!workingTree) return await git("clone", "--quiet", "--no-hardlinks", ROOT, folder);
  const { stdout } = await new Deno.Command("git", {
    args: ["ls-files", "-z", "-co", "--exclude-standard"],
    cwd: ROOT,
  }).output();
  for (const path of new TextDecoder().decode(stdout).split("\0")) {
    if (path === "") continue;
    const target = `${folder}/${path}`;
    await Deno.mkdir(target.replace(/\/[^/]*$/, ""), { recursive: true });
    // A file may have been deleted and not yet committed.
    await Deno.copyFile(`${ROOT}${path}`, target).catch(() => {});
  }
}

async function git(...args: string[]): Promise<void> {
  const { success, stderr } = await new Deno.Command("git", { args }).output();
  if (!success) throw new Error(new TextDecoder().decode(stderr));
}

/** What a reader has who has Node's `npx` and, from then on, a `deno`; nothing else is set. */
async function environmentIn(home: string, cached: boolean): Promise<Record<string, string>> {
  const kept = ["PATH", "NPM_CONFIG_REGISTRY", "SSL_CERT_FILE", "NODE_EXTRA_CA_CERTS", "DENO_CERT"];
  if (cached) kept.push("HOME", "DENO_DIR");
  const env = Object.fromEntries(kept.flatMap((name) => {
    const value = Deno.env.get(name);
    return value === undefined ? [] : [[name, value]];
  }));
  const bin = `${home}/bin`;
  await Deno.mkdir(bin);
  const program = (name: string, line: string) =>
    Deno.writeTextFile(`${bin}/${name}`, `#!/bin/sh\n${line}\n`, { mode: 0o755 });
  if (cached) {
    await program("npx", `shift 2\nexec '${Deno.execPath()}' "$@"`);
    await program("deno", `exec '${Deno.execPath()}' "$@"`);
  } else {
    await program("deno", 'exec npx --yes deno@2.9.6 "$@"');
    const own = `${Deno.env.get("HOME")}/.npmrc`;
    Object.assign(env, { HOME: home, DENO_DIR: `${home}/deno`, npm_config_cache: `${home}/npm` });
    Object.assign(env, { npm_config_userconfig: own });
  }
  return {
    ...env,
    PATH: `${bin}:${home}/installed/bin:${env["PATH"]}`,
    DENO_INSTALL_ROOT: `${home}/installed`,
    NO_COLOR: "1",
    NO_PROXY: "127.0.0.1",
  };
}

/** The first example of the README, which prints what it got. */
async function writeScript(folder: string, readme: string): Promise<void> {
  const [, example = ""] = /^```ts\n([^]*?)^```$/m.exec(readme) ?? [];
  await Deno.writeTextFile(`${folder}/script.ts`, `${example}console.log(rows.length, "rows");\n`);
}

/** Fills in the lines that the example leaves open. */
async function fillIn(path: string, variables: Record<string, string>): Promise<void> {
  let text = await Deno.readTextFile(path);
  for (const [name, value] of Object.entries(variables)) {
    const line = new RegExp(`^#?${name}=.*$`, "m");
    if (!line.test(text)) throw new Error(`.env.example has no line for ${name}`);
    text = text.replace(line, () => `${name}=${value}`);
  }
  await Deno.writeTextFile(path, text);
}

async function run(
  command: string,
  cwd: string,
  env: Record<string, string>,
  watch: (text: string) => void,
): Promise<{ code: number; output: string }> {
  await using child = new Deno.Command("bash", {
    args: ["-c", `exec 2>&1; ${command}`],
    cwd,
    env,
    clearEnv: true,
    stdin: "null",
    stdout: "piped",
  }).spawn();
  let output = "";
  for await (const chunk of child.stdout.pipeThrough(new TextDecoderStream())) {
    watch(output += chunk);
  }
  return { code: (await child.status).code, output };
}

if (import.meta.main) {
  const { steps, skipped, firstAnswerSeconds } = await runReadme({
    workingTree: Deno.args.includes("--working-tree"),
    cached: Deno.args.includes("--cached"),
    all: Deno.args.includes("--all"),
  });
  for (const { command, seconds, code, output } of steps) {
    console.log(`${code === 0 ? "ok" : "FAILED"} ${seconds.toFixed(1)} s  ${command}`);
    if (code !== 0) console.log(output);
  }
  for (const command of skipped) console.log(`skipped  ${command}`);
  console.log(`First answer of the API after ${firstAnswerSeconds?.toFixed(1) ?? "?"} s`);
  const inTime = firstAnswerSeconds !== undefined && firstAnswerSeconds < LIMIT_SECONDS;
  Deno.exit(inTime && steps.every(({ code }) => code === 0) ? 0 : 1);
}
