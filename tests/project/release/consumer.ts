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

const ENTRIES = ["mod", "notebook", "redis", "sandbox", "cli"] as const;
type Specifiers = Readonly<Record<typeof ENTRIES[number], string>>;

function specifiersBy(at: (name: string) => string): Specifiers {
  return Object.fromEntries(ENTRIES.map((name) => [name, at(name)])) as Specifiers;
}

/** A place from which a project imports the module. */
export interface Source extends AsyncDisposable {
  /** The specifiers of the modules, by entry point. */
  readonly specifiers: Specifiers;
  readonly flags: readonly string[];
  readonly env: Readonly<Record<string, string>>;
  /** Paths of the requests so far. */
  readonly requests: string[];
}

/** The files in a folder of this computer. */
export function fromPath(): Source {
  const specifiers = specifiersBy((name) => `${DIST}${name}.js`);
  return { specifiers, flags: [], env: {}, requests: [], [Symbol.asyncDispose]: async () => {} };
}

/** The files on a web server. */
export function fromUrl(): Source {
  const requests: string[] = [];
  const server = serveLocal(async ({ url }) => {
    const { pathname } = new URL(url);
    requests.push(pathname);
    const type = pathname.endsWith(".d.ts") ? "application/typescript" : "text/javascript";
    const body = await Deno.readFile(`${DIST}${pathname.slice(1)}`);
    return new Response(body, { headers: { "content-type": type } });
  });
  return {
    ...server,
    specifiers: specifiersBy((name) => `${server.origin}/${name}.js`),
    flags: [`--allow-import=${server.host}`],
    env: {},
    requests,
  };
}

let tarball: Promise<Uint8Array<ArrayBuffer>> | undefined;

/**
 * The package in a registry, as `npm publish` would upload it.
 *
 * @param others Further packages in it, of one module each: its source by name and version.
 */
export async function fromRegistry(others: Record<string, string> = {}): Promise<Source> {
  const { name, version } = PACKAGE;
  const stored = new Map([[name, {
    manifest: PACKAGE,
    tarball: await (tarball ??= packed(DIST)),
  }]]);
  for (const [id, text] of Object.entries(others)) {
    const [, other = "", version = ""] = /^(.+)@(.+)$/.exec(id) ?? [];
    const manifest = { name: other, version, type: "module", exports: "./index.js" };
    const tarball = await inFolder(async (folder) => {
      await Deno.writeTextFile(`${folder}/package.json`, JSON.stringify(manifest));
      await Deno.writeTextFile(`${folder}/index.js`, text);
      return await packed(folder);
    });
    stored.set(other, { manifest, tarball });
  }
  const requests: string[] = [];
  const server = serveLocal(async ({ url }) => {
    const path = decodeURIComponent(new URL(url).pathname);
    requests.push(path);
    const found = stored.get(path.slice(1).replace(/\/package\.tgz$/, ""));
    if (found === undefined) return new Response(null, { status: 404 });
    const { manifest, tarball } = found;
    if (path.endsWith(".tgz")) return new Response(tarball);
    const digest = new Uint8Array(await crypto.subtle.digest("SHA-512", tarball));
    const dist = {
      tarball: `${server.origin}${path}/package.tgz`,
      integrity: `sha512-${digest.toBase64()}`,
    };
    return Response.json({
      name: manifest.name,
      "dist-tags": { latest: manifest.version },
      versions: { [manifest.version]: { ...manifest, dist } },
    });
  });
  const root = `npm:${name}@${version}`;
  return {
    ...server,
    // The package itself runs as the command line.
    specifiers: { ...specifiersBy((name) => `${root}/${name}`), mod: root, cli: root },
    flags: [],
    env: { NPM_CONFIG_REGISTRY: `${server.origin}/` },
    requests,
  };
}

/** What `npm publish` would upload from this folder. */
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

/** A user's folder with a separate cache. */
export interface Consumer {
  readonly folder: string;
  readonly cache: string;
  /** Runs a command of Deno's, with a script as its last argument if there is one. */
  deno(args: readonly string[], script?: string): Promise<ChildResult>;
}

/** Makes a consumer with an empty cache, uses it, and removes it. */
export function asConsumer(
  source: Source,
  use: (consumer: Consumer) => Promise<void>,
): Promise<void> {
  return inFolder((cache) =>
    inFolder(async (folder) => {
      const deno: Consumer["deno"] = async ([command = "", ...args], script) => {
        const file = script === undefined ? [] : ["main.ts"];
        if (script !== undefined) await Deno.writeTextFile(`${folder}/main.ts`, script);
        return await outputOf(Deno.execPath(), {
          args: [command, "--quiet", ...args, ...file],
          cwd: folder,
          clearEnv: true,
          env: {
            ...neededVariables(),
            ...source.env,
            DENO_DIR: cache,
            NO_PROXY: "127.0.0.1",
            NO_COLOR: "1",
          },
        });
      };
      await use({ folder, cache, deno });
    })
  );
}
