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
  // npm accepts a signed package only from the repository that its package.json names.
  if (!/^ {2}"repository": "https:\/\/[^"]+[^"/]"/m.test(config)) {
    found.push(
      "deno.json has no repository; write the address of the public one there, such as " +
        "https://github.com/OWNER/NAME",
    );
  }
  const [, unreleased = "", newest = ""] = changelog.split(/^## /m);
  if (
    unreleased.trim() !== "Unreleased" || !new RegExp(`^${version}( .*)?\\n\\s*\\S`).test(newest)
  ) {
    found.push(
      'CHANGELOG.md does not begin with "## Unreleased", without changes, and ' +
        `"## ${version}", with what users will notice`,
    );
  }
  return found;
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
