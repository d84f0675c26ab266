import { ConfigError } from "../errors/errors.ts";

/**
 * Loads a package that few users need. It is named only here and now: whatever checks, caches or bundles
 * this module does not fetch it.
 *
 * @param doing What is done with it, such as `draw a plot`.
 * @throws {ConfigError} `PACKAGE_UNAVAILABLE` if it is not in Deno's cache and cannot be fetched.
 */
// deno-lint-ignore no-explicit-any
export async function loadPackage(doing: string, specifier: string): Promise<any> {
  // A module of its own imports it: this one may lie in an npm package, where `npm:` is not known.
  const module = `export * from ${JSON.stringify(specifier)};`;
  try {
    return await import(`data:text/javascript,${encodeURIComponent(module)}`);
  } catch (error) {
    if (!(error instanceof TypeError)) throw error;
    throw new ConfigError(
      "PACKAGE_UNAVAILABLE",
      `Cannot ${doing}: the package ${specifier} is not in Deno's cache and cannot be fetched`,
      `connect this computer to the network and run \`deno cache ${specifier}\`, then try again; in a ` +
        `project with a node_modules folder run \`deno add ${specifier}\``,
    );
  }
}
