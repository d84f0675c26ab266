import { assert, assertEquals } from "@std/assert";
import { MOD_URL, runScript } from "../../support/child_deno.ts";
import { inCliWorld } from "../../support/cli_world.ts";
import { allExamples } from "../../support/examples.ts";
import { lackOfPrograms } from "../../support/needs.ts";
import { writeEnv } from "../../support/sandbox_env.ts";

/** The lines that the comments after `console.log()` promise. An explanation may follow a colon. */
function promisedBy(example: string): string[] {
  return [...example.matchAll(/^console\.log\(.*\); \/\/ (.+)$/gm)]
    .map(([, line = ""]) => line.replace(/: .*/, ""));
}

// tests/project/typing checks their types, all at once.
Deno.test("the examples in documents and docstrings run and print what their comments promise", () =>
  inCliWorld(async ({ sandbox, folder, variables }) => {
    const service = { username: "service", password: crypto.randomUUID() };
    sandbox.addUser(service);
    const { username: USERNAME, password: PASSWORD } = service;
    await writeEnv(folder, { ...variables, USERNAME, PASSWORD }, ".env.service");
    const hasPython = lackOfPrograms("python3") === undefined;
    const examples = allExamples()
      .filter(([, text]) => hasPython || !text.includes('"python3"'));
    assert(examples.length > 30, `${examples.length} examples`);
    for (const [name, text] of examples) {
      const example = text.replaceAll("https://api.example.com", sandbox.apiUrl);
      await Deno.writeTextFile(`${folder}/${name}`, example);
    }
    // Runs the examples in turn, each with a new default session.
    const script = `
      import { configure } from ${JSON.stringify(MOD_URL)};
      for (const name of ${JSON.stringify(examples.map(([name]) => name))}) {
        console.log("== " + name);
        configure({});
        await import("./" + name);
      }`;
    const env = { NO_PROXY: "127.0.0.1" };
    const { code, stdout, stderr } = await runScript(script, { cwd: folder, flags: ["-A"], env });
    assertEquals(code, 0, `${stdout}${stderr}`);
    const [, ...outputs] = stdout.split(/^== .*\n/m);
    for (const [index, [name, text]] of examples.entries()) {
      const promised = promisedBy(text);
      if (promised.length === 0) continue;
      const lines = outputs[index]?.trimEnd().split("\n");
      assertEquals(lines?.slice(-promised.length), promised, name);
    }
  }));
