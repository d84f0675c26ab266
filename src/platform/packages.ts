import { ConfigError } from "../errors/errors.ts";

/**
 * Loads a package that few users need. The specifier is not a literal in an `import`, so programs
 * that check, cache or bundle this module do not fetch the package. As with any import, Deno takes
 * the version and the checksum from the current lock file, and adds missing entries to this file.
 *
 * @param action The action that needs the package, such as `draw a plot`.
 * @throws {ConfigError} `PACKAGE_UNAVAILABLE` if the package is not in Deno's cache and cannot be
 * fetched, or if the lock file does not allow it.
 */
// deno-lint-ignore no-explicit-any
export async function loadPackage(action: string, specifier: string): Promise<any> {
  // An `npm:` import fails in the code of an npm package, which this module may be part of. A
  // module in a `data:` URL is not part of a package, so it imports the package.
  const module = `export * from ${JSON.stringify(specifier)};`;
  try {
    return await import(`data:text/javascript,${encodeURIComponent(module)}`);
  } catch (error) {
    if (!isUnloadable(error)) throw error;
    // The runtime's error is not quoted, because the address of the registry may contain a password.
    throw new ConfigError(
      "PACKAGE_UNAVAILABLE",
      `Cannot ${action}: the package ${specifier} is not in Deno's cache and cannot be fetched, ` +
        "or the lock file does not allow it",
      `run \`deno cache ${specifier}\`, which fetches the package or shows why it cannot, then ` +
        `try again; in a project with a node_modules folder run \`deno add ${specifier}\``,
    );
  }
}

/**
 * Whether the runtime could not load a module or one of its packages. An error that the module's
 * own code throws does not have the code `ERR_MODULE_NOT_FOUND`.
 */
export function isUnloadable(error: unknown): error is TypeError {
  return error instanceof TypeError && "code" in error && error.code === "ERR_MODULE_NOT_FOUND";
}
