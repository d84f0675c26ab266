import { ConfigError } from "../errors/errors.ts";

/**
 * Loads a package that few users need. The import is not literal, so that programs that check,
 * cache or bundle this module do not fetch the package.
 *
 * @param action The action that needs the package, such as `draw a plot`.
 * @throws {ConfigError} `PACKAGE_UNAVAILABLE` if the package is not in Deno's cache and cannot be
 * fetched.
 */
// deno-lint-ignore no-explicit-any
export async function loadPackage(action: string, specifier: string): Promise<any> {
  // A separate module imports the package, because this one may be part of an npm package, in which
  // `npm:` fails.
  const module = `export * from ${JSON.stringify(specifier)};`;
  try {
    return await import(`data:text/javascript,${encodeURIComponent(module)}`);
  } catch (error) {
    if (!isUnloadable(error)) throw error;
    throw new ConfigError(
      "PACKAGE_UNAVAILABLE",
      `Cannot ${action}: the package ${specifier} is not in Deno's cache and cannot be fetched`,
      `connect this computer to the network and run \`deno cache ${specifier}\`, then try again; in a ` +
        `project with a node_modules folder run \`deno add ${specifier}\``,
    );
  }
}

/**
 * Whether the runtime could not load a module or one of its packages. An error of the module's own
 * code has no such code.
 */
export function isUnloadable(error: unknown): boolean {
  return Object(error).code === "ERR_MODULE_NOT_FOUND";
}
