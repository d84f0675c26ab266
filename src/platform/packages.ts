import { ConfigError } from "../errors/errors.ts";

/**
 * Loads a package that few users need. Its name is not a literal import, so that programs that check,
 * cache or bundle this module do not fetch it.
 *
 * @param doing The action that needs it, such as `draw a plot`.
 * @throws {ConfigError} `PACKAGE_UNAVAILABLE` if it is not in Deno's cache and cannot be fetched.
 */
// deno-lint-ignore no-explicit-any
export async function loadPackage(doing: string, specifier: string): Promise<any> {
  // Imported by a module of its own, because this one may be part of an npm package, where `npm:` fails.
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
