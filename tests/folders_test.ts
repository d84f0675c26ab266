/** The tree stays one in which a newcomer finds the way. */
import { assert, assertEquals } from "@std/assert";

const ROOT = new URL("../", import.meta.url);
const MOST_FILES = 14;
const MOST_BESIDE_FOLDERS = 5;

interface Folder {
  readonly path: string;
  readonly files: readonly string[];
}

/** A folder and all below it. */
function foldersOf(path: string): Folder[] {
  const entries = [...Deno.readDirSync(new URL(path, ROOT))];
  const files = entries.filter(({ isFile }) => isFile).map(({ name }) => name).sort();
  const below = entries.filter(({ isDirectory }) => isDirectory);
  return [{ path, files }, ...below.flatMap(({ name }) => foldersOf(`${path}${name}/`))];
}

const folders = ["src/", "tests/"].flatMap(foldersOf);

function tooFull({ path, files }: Folder): boolean {
  return files.length > (path === "src/" ? MOST_BESIDE_FOLDERS : MOST_FILES);
}

function firstModule({ path, files }: Folder): string | undefined {
  const name = files.find((file) => file.endsWith(".ts"));
  return name === undefined ? undefined : `${path}${name}`;
}

function textOf(path: string): string {
  return Deno.readTextFileSync(new URL(path, ROOT));
}

Deno.test("no folder holds more files than are seen at a glance", () => {
  assertEquals(folders.filter(tooFull).map(({ path, files }) => [path, files.length]), []);
  const planted = (path: string, count: number) => ({ path, files: Array(count).fill("a.ts") });
  const full = [planted("src/", 6), planted("src/api/", 15), planted("tests/", 15)];
  assertEquals(full.filter(tooFull), full);
  assertEquals([planted("src/", 5), planted("tests/api/", 14)].filter(tooFull), []);
});

Deno.test("the first file of each folder of tests says what is tested there", () => {
  const first = folders.filter(({ path }) => path.startsWith("tests/"))
    .map(firstModule).filter((path) => path !== undefined);
  assert(first.length > 20);
  assertEquals(first.filter((path) => !textOf(path).startsWith("/**")), []);
});

Deno.test("one file of each folder of src says what lives there", () => {
  const silent = folders.filter((folder) => {
    const { path, files } = folder;
    const own = `${path.split("/").at(-2)}.ts`;
    const names = ["mod.ts", "main.ts", own].filter((name) => files.includes(name));
    const candidates = [firstModule(folder), ...names.map((name) => `${path}${name}`)]
      .filter((each) => each !== undefined);
    return path.startsWith("src/") && path !== "src/" && candidates.length > 0 &&
      !candidates.some((each) => textOf(each).startsWith("/**"));
  });
  assertEquals(silent.map(({ path }) => path), []);
});

Deno.test("properties are tried with the seed of the test runner", () => {
  const paths = folders.flatMap(({ path, files }) => files.map((file) => `${path}${file}`));
  const direct = paths.filter((path) =>
    path.endsWith(".ts") && / from "fast-check";$/m.test(textOf(path))
  );
  assertEquals(direct, ["tests/support/property.ts"]);
});
