/**
 * Refuses a release whose tag, version and changelog disagree, or that names no repository:
 * `deno task release:check v1.2.3`.
 *
 * The version is set in `deno.json` only.
 */

/** The problems that prevent this release, as sentences. */
export function objections(tag: string, config: string, changelog: string): string[] {
  const version = /^ {2}"version": "(.+)"/m.exec(config)?.[1];
  if (version === undefined || !/^\d+\.\d+\.\d+$/.test(version)) {
    return ["deno.json has no version of three numbers; write one, such as 1.2.3"];
  }
  const found: string[] = [];
  if (tag !== `v${version}`) {
    found.push(`the tag is ${tag}, and deno.json has the version ${version}; one of them is wrong`);
  }
  // npm takes a signed package only from the repository that its package.json names.
  if (!/^ {2}"repository": "https:\/\/[^"]+[^"/]"/m.test(config)) {
    found.push(
      "deno.json has no repository; write the address of the public one there, such as " +
        "https://github.com/OWNER/NAME",
    );
  }
  const [, unreleased, newest = ""] = changelog.split(/^(?=## )/m);
  if (!unreleased?.startsWith("## Unreleased\n")) {
    found.push('CHANGELOG.md does not begin with the section "Unreleased"; put it back, empty');
  } else if (contentOf(unreleased) !== "") {
    found.push(`CHANGELOG.md has changes under "Unreleased"; move them under "## ${version}"`);
  }
  const heading = newest.split("\n")[0] ?? "";
  if (heading.split(" ")[1] !== version) {
    found.push(`CHANGELOG.md has no section "## ${version}" below "Unreleased"; add it`);
  } else if (contentOf(newest) === "") {
    found.push(`CHANGELOG.md says nothing under "## ${version}"; tell what users will notice`);
  }
  return found;
}

/** The text below the heading of a section. */
function contentOf(section: string): string {
  return section.split("\n").slice(1).join("\n").trim();
}

if (import.meta.main) {
  const read = (name: string) => Deno.readTextFileSync(new URL(`../${name}`, import.meta.url));
  const [tag] = Deno.args;
  const found = tag === undefined
    ? ["no tag was given; write: deno task release:check v1.2.3"]
    : objections(tag, read("deno.json"), read("CHANGELOG.md"));
  for (const each of found) console.error(`Cannot release: ${each}`);
  if (found.length > 0) Deno.exit(1);
  console.log(`${tag} may be released`);
}
