/** Tests that need a program which not every machine has. */

/**
 * Registers a test. Where something is missing it is ignored and its name says what; where `CI` is
 * `true` it runs all the same, and fails.
 */
export function testWith(
  missing: string | undefined,
  name: string,
  fn: (t: Deno.TestContext) => void | Promise<void>,
): void {
  Deno.test({
    name: missing === undefined ? name : `${name} (${missing})`,
    ignore: missing !== undefined && Deno.env.get("CI") !== "true",
    fn,
  });
}

/** Path of the first of these commands that is on `PATH`. */
export function commandPath(...names: string[]): string | undefined {
  const windows = Deno.build.os === "windows";
  const folders = (Deno.env.get("PATH") ?? "").split(windows ? ";" : ":");
  return names.flatMap((name) => folders.map((folder) => `${folder}/${name}`)).find(isFile);
}

export function isFile(path: string): boolean {
  try {
    return Deno.statSync(path).isFile;
  } catch {
    return false;
  }
}
