import { assertEquals, assertStringIncludes } from "@std/assert";
import { fileURLToPath } from "node:url";
import { outputOf } from "../../support/child_deno.ts";
import { objections } from "../../../.ci/release_check.ts";

const REPOSITORY = '  "repository": "https://code.example/owner/name",\n';
const CONFIG = `{\n  "name": "a",\n  "version": "1.2.3",\n${REPOSITORY}}\n`;
const CHANGELOG = "# Changelog\n\n## Unreleased\n\n## 1.2.3\n\n- New.\n\n## 1.2.2\n\n- Old.\n";

const HISTORY = "CHANGELOG.md does not begin with";
const withChangelog = (from: string, to: string) =>
  objections("v1.2.3", CONFIG, CHANGELOG.replace(from, to));

/** The objections to a release with a defect, and words of the only one. */
const REFUSED: [what: string, found: string[], why: string][] = [
  ["another tag", objections("v1.2.4", CONFIG, CHANGELOG), "the tag is v1.2.4"],
  ["no repository", objections("v1.2.3", CONFIG.replace(REPOSITORY, ""), CHANGELOG), "repository"],
  ["unreleased changes", withChangelog("sed\n", "sed\n\n- x\n"), HISTORY],
  ["no section for its version", withChangelog("1.2.3", "1.2.0"), HISTORY],
  ["an empty section", withChangelog("3\n\n- New.", "3\n"), HISTORY],
];

Deno.test("a release is refused unless its tag, version, changelog and repository agree", () => {
  assertEquals(objections("v1.2.3", CONFIG, CHANGELOG), []);
  for (const [what, found, why] of REFUSED) {
    assertEquals(found.length, 1, what);
    assertStringIncludes(found.join(), why);
  }
});

Deno.test("deno task release:check reports what prevents a release of this project", async () => {
  const { code, stderr } = await outputOf(Deno.execPath(), {
    args: ["task", "--quiet", "release:check", "v0.0.0"],
    cwd: fileURLToPath(new URL("../../../", import.meta.url)),
  });
  assertEquals(code, 1);
  assertStringIncludes(stderr, "Cannot release: the tag is v0.0.0, and");
});
