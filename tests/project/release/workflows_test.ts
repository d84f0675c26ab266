/** The workflow that publishes, which cannot run here, and the version of Deno that all files name. */
import { assert, assertEquals } from "@std/assert";

const ROOT = new URL("../../../", import.meta.url);
const read = (path: string) => Deno.readTextFileSync(new URL(path, ROOT));
const FOLDER = ".github/workflows/";

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

Deno.test("all files that install Deno install the same version", () => {
  const files = [
    ...[".ci/run", "binder/Dockerfile", `${FOLDER}publish.yml`, "CONTRIBUTING.md"],
    ".ci/npm/package.json",
  ];
  const versions = files.map((path) =>
    read(path).match(/(?<=deno@|deno-version: |Deno |"@deno\/.+": ")2\.\d+\.\d+/g)
  );
  assertEquals(new Set(versions.flat()).size, 1, JSON.stringify(versions));
});
