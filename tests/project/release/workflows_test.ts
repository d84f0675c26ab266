/** The text of the release workflow, which cannot run in a test, and the version of Deno in all files. */
import { assert, assertEquals } from "@std/assert";

const ROOT = new URL("../../../", import.meta.url);
const read = (path: string) => Deno.readTextFileSync(new URL(path, ROOT));
const FOLDER = ".github/workflows/";

Deno.test("the release workflow checks the tag and both packages before it publishes", () => {
  const steps = read(`${FOLDER}publish.yml`);
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
