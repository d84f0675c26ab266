import { pathOf, run } from "./processes.ts";

/** The amount of code that a script loads, in KiB. */
export interface BytesLoaded {
  /** Source of the modules that the import itself loads. */
  readonly source: number;
  /** Source of the modules that are imported on demand. */
  readonly onDemand: number;
  /** The whole npm packages of the graph. */
  readonly packages: number;
}

interface Graph {
  readonly roots: readonly string[];
  readonly modules: readonly GraphModule[];
  readonly redirects: Readonly<Record<string, string>>;
  readonly npmPackages: Readonly<Record<string, { readonly localPath?: string }>>;
}

interface GraphModule {
  readonly specifier: string;
  readonly size?: number;
  readonly dependencies?: readonly {
    readonly code?: { readonly specifier: string };
    readonly isDynamic?: boolean;
  }[];
}

/** Asks `deno info` for the module graph of a script of this folder. */
export async function bytesLoaded(script: string, folder: string): Promise<BytesLoaded> {
  const args = ["info", "--json", "--no-config", "--no-lock", pathOf(script)];
  const { stdout } = await run({ command: Deno.execPath(), args, cwd: folder });
  const graph: Graph = JSON.parse(stdout);
  const modules = new Map(graph.modules.map((module) => [module.specifier, module]));
  const atOnce = new Set<string>();
  const follow = (specifier: string) => {
    if (atOnce.has(specifier)) return;
    atOnce.add(specifier);
    for (const { code, isDynamic } of modules.get(specifier)?.dependencies ?? []) {
      if (code !== undefined && isDynamic !== true) follow(code.specifier);
    }
  };
  graph.roots.forEach(follow);
  const total = (wanted: boolean) =>
    graph.modules.filter(({ specifier }) => atOnce.has(specifier) === wanted)
      .reduce((sum, { size = 0 }) => sum + size, 0) / 1024;
  const folders = Object.values(graph.npmPackages).map(({ localPath }) => localPath);
  const packages = folders.reduce((sum, path) => sum + (path ? folderSize(path) : 0), 0) / 1024;
  return { source: total(true), onDemand: total(false), packages };
}

function folderSize(path: string): number {
  let size = 0;
  for (const entry of Deno.readDirSync(path)) {
    const inner = `${path}/${entry.name}`;
    size += entry.isDirectory ? folderSize(inner) : Deno.statSync(inner).size;
  }
  return size;
}
