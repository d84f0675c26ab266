import { assertEquals, assertStringIncludes } from "@std/assert";
import { fileURLToPath } from "node:url";
import { outputOf } from "../../support/child_deno.ts";
import { objections } from "../../../.ci/release_check.ts";

const REPOSITORY = '  "repository": "https://code.example/owner/name",\n';
const CONFIG = `{\n  "name": "a",\n  "version": "1.2.3",\n${REPOSITORY}}\n`;
const CHANGELOG = "# Changelog\n\n## Unreleased\n\n## 1.2.3\n\n- New.\n\n## 1.2.2\n\n- Old.\n";

Deno.test("a release is accepted if its tag, version and changelog agree", () => {
  assertEquals(objections("v1.2.3", CONFIG, CHANGELOG), []);
  assertEquals(objections("v1.2.3", CONFIG, CHANGELOG.replace("1.2.3", "1.2.3 - 2026-01-31")), []);
});

const HISTORY = 'does not begin with "## Unreleased"';

/** The defect of a release, and words of each objection. */
const REFUSED: Record<
  string,
  [{ tag?: string; config?: string; changelog?: string }, ...string[]]
> = {
  "a tag of another version": [{ tag: "v1.2.4" }, "the tag is v1.2.4, and"],
  "another version in deno.json": [
    { config: CONFIG.replace("1.2.3", "1.3.0") },
    ...["deno.json has the version 1.3.0", HISTORY],
  ],
  "no repository": [{ config: CONFIG.replace(/https:[^"]+/, "") }, "has no repository"],
  "unreleased changes": [{ changelog: CHANGELOG.replace("sed\n", "sed\n\n- x\n") }, HISTORY],
  "no section for its version": [{ changelog: CHANGELOG.replace("1.2.3", "1.2.0") }, HISTORY],
  "no Unreleased section": [{ changelog: CHANGELOG.replace("## Unreleased\n", "") }, HISTORY],
  "an empty section": [{ changelog: CHANGELOG.replace("3\n\n- New.", "3 - today\n") }, HISTORY],
};

for (const [what, [release, ...why]] of Object.entries(REFUSED)) {
  Deno.test(`a release with ${what} is refused`, () => {
    const { tag = "v1.2.3", config = CONFIG, changelog = CHANGELOG } = release;
    const found = objections(tag, config, changelog);
    assertEquals(found.length, why.length, found.join("\n"));
    found.forEach((each, index) => assertStringIncludes(each, why[index] ?? ""));
  });
}

Deno.test("deno task release:check reports what prevents a release of this project", async () => {
  const { code, stderr } = await outputOf(Deno.execPath(), {
    args: ["task", "--quiet", "release:check", "v0.0.0"],
    cwd: fileURLToPath(new URL("../../../", import.meta.url)),
  });
  assertEquals(code, 1);
  assertStringIncludes(stderr, "Cannot release: the tag is v0.0.0, and");
});
