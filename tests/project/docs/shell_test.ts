/** The shell commands of the documents run in the folder of a reader who has a session. */
import { assertEquals } from "@std/assert";
import { delimiter as PATH_SEPARATOR } from "node:path";
import { fileURLToPath } from "node:url";
import { MOD_PATH, outputOf } from "../../support/child_deno.ts";
import { childEnvironment, CLI_PATH, inCliWorld } from "../../support/cli_world.ts";
import { DOCUMENTS, documentText, filledIn } from "../../support/documented_flags.ts";
import { lackOfPrograms, needing, NO_SHELL, subject } from "../../support/needs.ts";
import { writeEnv } from "../../support/sandbox_env.ts";

const ROOT = fileURLToPath(new URL("../../../", import.meta.url));
const DENO = Deno.execPath();

/** Programs that the commands start. Without a network, only the names of tasks are checked. */
const PROGRAMS = {
  "platform-auth": `exec '${DENO}' run --no-lock -qA '${CLI_PATH}' "$@"`,
  deno: `exec '${DENO}' "$@"`,
  npx: `shift 2; '${DENO}' $1 --config '${ROOT}deno.json' 2>&1 | grep -w -- "- $2"`,
};
const SCRIPT = `import { login } from ${JSON.stringify(MOD_PATH)};\nawait login();\n`;

function runs(commands: string): Promise<void> {
  return inCliWorld(async ({ sandbox, folder, variables, signIn }) => {
    const bin = `${folder}/bin`;
    await Deno.mkdir(bin);
    for (const [name, line] of Object.entries(PROGRAMS)) {
      await Deno.writeTextFile(`${bin}/${name}`, `#!/bin/sh\n${line}\n`, { mode: 0o755 });
    }
    const service = { username: "service", password: crypto.randomUUID() };
    sandbox.addUser(service);
    const { username: USERNAME, password: PASSWORD } = service;
    await writeEnv(folder, { ...variables, USERNAME, PASSWORD }, ".env.service");
    await Deno.writeTextFile(`${folder}/script.ts`, SCRIPT);
    await Deno.writeTextFile(`${folder}/.gitignore`, "node_modules\n");
    await Deno.copyFile(`${ROOT}.env.example`, `${folder}/.env.example`);
    await Deno.symlink(`${ROOT}src`, `${folder}/src`);
    if (!commands.includes("cp .env.example")) await signIn();
    // The documents name hosts that do not exist.
    const hosts = { provider: new URL(sandbox.authUrl).host, api: new URL(sandbox.apiUrl).host };
    const text = filledIn([commands], hosts).join()
      .replaceAll("https://api.example.com", sandbox.apiUrl);
    const { code, stdout, stderr } = await outputOf("bash", {
      args: ["-eu", "-o", "pipefail", "-c", text, `${folder}/commands`],
      cwd: folder,
      clearEnv: true,
      env: childEnvironment({
        PATH: `${bin}${PATH_SEPARATOR}${Deno.env.get("PATH")}`,
        NO_COLOR: "1",
        DENO_INSTALL_ROOT: `${folder}/installed`,
        // A script without flags for the folder gets its settings from the environment.
        ...text.startsWith("deno run --allow-net=") && { ...variables, AUTH_ENV_FILE: "false" },
      }),
    });
    assertEquals(code, 0, stdout + stderr);
  });
}

subject(NO_SHELL, "the shell commands of the documents", (test) => {
  for (const path of DOCUMENTS) {
    const text = documentText(path);
    for (const { index, 1: commands = "" } of text.matchAll(/^```sh\n([^]*?)^```$/gm)) {
      const line = text.slice(0, index).split("\n").length;
      // A machine can have a shell and no curl.
      const lack = /\| curl /.test(commands) ? lackOfPrograms("curl") : undefined;
      test(needing(lack, `the shell commands at ${path}:${line} run`), () => runs(commands));
    }
  }
});
