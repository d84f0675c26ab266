import { assert, assertEquals } from "@std/assert";
import { inFolder } from "../support/child_deno.ts";

const ROOT = new URL("../../", import.meta.url);
const FILES = ["accepted.ts", "refused.ts"];

/** Checks both files in a folder of somebody else's. */
async function errorsIn(
  folder: string,
  edit: (text: string) => string = (text) => text,
): Promise<string> {
  for (const name of FILES) {
    const text = await Deno.readTextFile(new URL(`./${name}`, import.meta.url));
    await Deno.writeTextFile(`${folder}/${name}`, edit(text.replaceAll("../../", ROOT.href)));
  }
  const { success, stderr } = await new Deno.Command(Deno.execPath(), {
    args: ["check", "--quiet", "--no-lock", ...FILES],
    cwd: folder,
    env: { NO_COLOR: "1" },
  }).output();
  const text = new TextDecoder().decode(stderr);
  assertEquals(success, text === "", text);
  return text;
}

Deno.test("types tell the truth where no compiler option is set", () =>
  inFolder(async (folder) => assertEquals(await errorsIn(folder), "")));

Deno.test("types tell the truth under the stricter options of a reader", () =>
  inFolder(async (folder) => {
    const names = ["noUncheckedIndexedAccess", "exactOptionalPropertyTypes", "noImplicitReturns"];
    const compilerOptions = Object.fromEntries(names.map((name) => [name, true]));
    await Deno.writeTextFile(`${folder}/deno.json`, JSON.stringify({ compilerOptions }));
    assertEquals(await errorsIn(folder), "");
  }));

Deno.test("each refusal is one of the compiler's, not of the comment", () =>
  inFolder(async (folder) => {
    let expected = 0;
    const errors = await errorsIn(
      folder,
      (text) => text.replaceAll(/^\/\/ @ts-expect-error.*$/gm, () => `// expected ${++expected}`),
    );
    const found = [...errors.matchAll(/refused\.ts:(\d+):/g)].map(([, line]) => line);
    assert(expected > 20);
    assertEquals(new Set(found).size, expected, errors);
  }));
