import { assertEquals, assertStringIncludes } from "@std/assert";
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
];

Deno.test("a release is refused unless its tag, version, changelog and repository agree", () => {
  assertEquals(objections("v1.2.3", CONFIG, CHANGELOG), []);
  for (const [what, found, why] of REFUSED) {
    assertEquals(found.length, 1, what);
    assertStringIncludes(found.join(), why);
  }
});
