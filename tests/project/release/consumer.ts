/** A user's project: an empty folder, an empty cache, and a source of the released files. */
import { assertEquals } from "@std/assert";
import { fileURLToPath } from "node:url";
import { type ChildResult, inFolder, neededVariables, outputOf } from "../../support/child_deno.ts";
import { serveLocal } from "../../support/local_server.ts";

/** The folder that `deno task build` wrote. */
export const DIST: string = fileURLToPath(new URL("../../../dist/", import.meta.url));

/** Name and version in the released `package.json`. */
export const PACKAGE: { name: string; version: string } = JSON.parse(
  Deno.readTextFileSync(`${DIST}package.json`),
);

/** A place from which a project imports the module. */
export interface Source extends AsyncDisposable {
  /** The specifier of an entry point, such as `mod`. */
  readonly specifier: (entry: string) => string;
  readonly flags: readonly string[];
  readonly env: Readonly<Record<string, string>>;
}

/** The files on a web server. */
export function fromUrl(): Source {
  const server = serveLocal(async ({ url }) => {
    const { pathname } = new URL(url);
    const type = pathname.endsWith(".d.ts") ? "application/typescript" : "text/javascript";
    const body = await Deno.readFile(`${DIST}${pathname.slice(1)}`);
    return new Response(body, { headers: { "content-type": type } });
  });
  const specifier = (entry: string) => `${server.origin}/${entry}.js`;
  return { ...server, specifier, flags: [`--allow-import=${server.host}`], env: {} };
}

/** The package in a registry, as `npm publish` would upload it. */
export async function fromRegistry(): Promise<Source> {
  const { name, version } = PACKAGE;
  const tarball = await packed(DIST);
  const digest = new Uint8Array(await crypto.subtle.digest("SHA-512", tarball));
  const server = serveLocal(({ url }) => {
    const path = decodeURIComponent(new URL(url).pathname);
    if (path.endsWith(".tgz")) return new Response(tarball);
    const dist = {
      tarball: `${server.origin}${path}/package.tgz`,
      integrity: `sha512-${digest.toBase64()}`,
    };
    const versions = { [version]: { ...PACKAGE, dist } };
    return Response.json({ name, "dist-tags": { latest: version }, versions });
  });
  const root = `npm:${name}@${version}`;
  return {
    ...server,
    // The package itself is also the command line.
    specifier: (entry) => entry === "mod" || entry === "cli" ? root : `${root}/${entry}`,
    flags: [],
    env: { NPM_CONFIG_REGISTRY: `${server.origin}/` },
  };
}

/** What `npm publish` would upload from this folder. Only npm knows; it needs no network for it. */
export function packed(source: string): Promise<Uint8Array<ArrayBuffer>> {
  return inFolder(async (folder) => {
    const { code, stderr } = await outputOf("npm", {
      args: ["pack", "--offline", "--pack-destination", folder, source],
      cwd: folder,
    });
    assertEquals(code, 0, stderr);
    const [file] = [...Deno.readDirSync(folder)].filter(({ name }) => name.endsWith(".tgz"));
    return await Deno.readFile(`${folder}/${file?.name}`);
  });
}

/** Runs a command of Deno's, with a script as its last argument if there is one. */
export type RunDeno = (args: readonly string[], script?: string) => Promise<ChildResult>;

/** Makes an empty folder with an empty cache, uses it, and removes it. */
export function asConsumer(source: Source, use: (deno: RunDeno) => Promise<void>): Promise<void> {
  return inFolder((folder) =>
    use(async ([command = "", ...args], script) => {
      if (script !== undefined) await Deno.writeTextFile(`${folder}/main.ts`, script);
      return await outputOf(Deno.execPath(), {
        args: [command, "--quiet", ...args, ...script === undefined ? [] : ["main.ts"]],
        cwd: folder,
        clearEnv: true,
        env: {
          ...neededVariables(),
          ...source.env,
          DENO_DIR: `${folder}/cache`,
          NO_PROXY: "127.0.0.1",
          NO_COLOR: "1",
        },
      });
    })
  );
}
