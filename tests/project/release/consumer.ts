/** A project of somebody else's: an empty folder, an empty cache, and the places it may import from. */
import { assert } from "@std/assert";
import { fileURLToPath } from "node:url";
import {
  type ChildResult,
  inFolder,
  neededVariables,
  runScript,
} from "../../support/child_deno.ts";

/** The folder that `deno task build` wrote. */
export const DIST: string = fileURLToPath(new URL("../../dist/", import.meta.url));

/** What the released `package.json` says. */
export const PACKAGE: { name: string; version: string } = JSON.parse(
  Deno.readTextFileSync(`${DIST}package.json`),
);

const ENTRIES = ["mod", "notebook", "sandbox", "cli"] as const;
type Specifiers = Readonly<Record<typeof ENTRIES[number], string>>;

function specifiersBy(at: (name: string) => string): Specifiers {
  return Object.fromEntries(ENTRIES.map((name) => [name, at(name)])) as Specifiers;
}

/** Where a consumer imports from, with what it was asked for. */
export interface Source extends AsyncDisposable {
  /** The specifiers of the modules, by entry point. */
  readonly specifiers: Specifiers;
  readonly flags: readonly string[];
  readonly env: Readonly<Record<string, string>>;
  /** Paths of the requests so far. */
  readonly requests: string[];
}

type Answers = (path: string, origin: string) => Promise<Response> | Response;

function serve(requests: string[], answer: Answers): Deno.HttpServer<Deno.NetAddr> {
  return Deno.serve({ hostname: "127.0.0.1", port: 0, onListen: () => {} }, (request) => {
    const { origin, pathname } = new URL(request.url);
    requests.push(decodeURIComponent(pathname));
    return answer(decodeURIComponent(pathname), origin);
  });
}

/** The files in a folder of this computer. */
export function fromPath(): Source {
  const specifiers = specifiersBy((name) => `${DIST}${name}.js`);
  return { specifiers, flags: [], env: {}, requests: [], [Symbol.asyncDispose]: async () => {} };
}

/** The files on a web server. */
export function fromUrl(): Source {
  const requests: string[] = [];
  const server = serve(requests, async (path) => {
    const type = path.endsWith(".d.ts") ? "application/typescript" : "text/javascript";
    const body = await Deno.readFile(`${DIST}${path.slice(1)}`);
    return new Response(body, { headers: { "content-type": type } });
  });
  const host = `127.0.0.1:${server.addr.port}`;
  return {
    specifiers: specifiersBy((name) => `http://${host}/${name}.js`),
    flags: [`--allow-import=${host}`],
    env: {},
    requests,
    [Symbol.asyncDispose]: () => server.shutdown(),
  };
}

let tarball: Promise<Uint8Array<ArrayBuffer>> | undefined;

/**
 * The package in a registry, as `npm publish` would upload it.
 *
 * @param others Further packages there: the text of the one module of each, by name and version.
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
  const server = serve(requests, async (path, origin) => {
    const found = stored.get(path.slice(1).replace(/\/package\.tgz$/, ""));
    if (found === undefined) return new Response(null, { status: 404 });
    const { manifest, tarball } = found;
    if (path.endsWith(".tgz")) return new Response(tarball);
    const digest = new Uint8Array(await crypto.subtle.digest("SHA-512", tarball));
    const dist = {
      tarball: `${origin}${path}/package.tgz`,
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
    // The command line is what runs the package itself.
    specifiers: { ...specifiersBy((name) => `${root}/${name}`), mod: root, cli: root },
    flags: [],
    env: { NPM_CONFIG_REGISTRY: `http://127.0.0.1:${server.addr.port}/` },
    requests,
    [Symbol.asyncDispose]: () => server.shutdown(),
  };
}

/** What `npm publish` would upload from this folder. */
export function packed(source: string): Promise<Uint8Array<ArrayBuffer>> {
  return inFolder(async (folder) => {
    const { success, stderr } = await new Deno.Command("npm", {
      args: ["pack", "--offline", "--pack-destination", folder, source],
      cwd: folder,
      stdin: "null",
    }).output();
    assert(success, new TextDecoder().decode(stderr));
    const [file] = [...Deno.readDirSync(folder)].filter(({ name }) => name.endsWith(".tgz"));
    return await Deno.readFile(`${folder}/${file?.name}`);
  });
}

/** A folder with a cache of its own, and what runs there. */
export interface Consumer {
  readonly folder: string;
  readonly env: Record<string, string>;
  run(script: string, ...flags: string[]): Promise<ChildResult>;
  /** Runs another command of Deno's, with a script as its last argument if there is one. */
  deno(args: string[], script?: string): Promise<ChildResult>;
}

/** Makes a consumer with an empty cache, uses it, and takes it away. */
export async function asConsumer(
  source: Source,
  use: (consumer: Consumer) => Promise<void>,
): Promise<void> {
  await inFolder(async (cache) => {
    await inFolder(async (folder) => {
      const env = { ...source.env, DENO_DIR: cache, NO_PROXY: "127.0.0.1" };
      await use({
        folder,
        env,
        run: (script, ...flags) =>
          runScript(script, { cwd: folder, env, flags: [...source.flags, ...flags] }),
        async deno(args, script) {
          const file = script === undefined ? [] : ["main.ts"];
          if (script !== undefined) await Deno.writeTextFile(`${folder}/main.ts`, script);
          const { code, stdout, stderr } = await new Deno.Command(Deno.execPath(), {
            args: [args[0] ?? "", "--quiet", ...args.slice(1), ...file],
            cwd: folder,
            stdin: "null",
            clearEnv: true,
            env: { ...neededVariables(), ...env, NO_COLOR: "1" },
          }).output();
          const [out = "", err = ""] = [stdout, stderr].map((it) => new TextDecoder().decode(it));
          return { code, stdout: out, stderr: err };
        },
      });
    });
  });
}
