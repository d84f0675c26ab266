import { assert, assertEquals } from "@std/assert";
import { inFolder } from "../support/child_deno.ts";

const ROOT = new URL("../../", import.meta.url);

/** One of the files, as it is written in a folder of somebody else's. */
async function textOf(name: string): Promise<string> {
  const text = await Deno.readTextFile(new URL(`./${name}`, import.meta.url));
  return text.replaceAll("../../", ROOT.href);
}

/** What the compiler says of these files. */
async function errorsIn(folder: string, files: Record<string, string>): Promise<string> {
  for (const [name, text] of Object.entries(files)) {
    await Deno.writeTextFile(`${folder}/${name}`, text);
  }
  const { success, stderr } = await new Deno.Command(Deno.execPath(), {
    args: ["check", "--quiet", "--no-lock", ...Object.keys(files)],
    cwd: folder,
    env: { NO_COLOR: "1" },
  }).output();
  const text = new TextDecoder().decode(stderr);
  assertEquals(success, text === "", text);
  return text;
}

// A check takes seconds: one for all that is asked of the same options.
Deno.test("types tell the truth where no compiler option is set, and each refusal is the compiler's", () =>
  inFolder(async (folder) => {
    let expected = 0;
    const refused = await textOf("refused.ts");
    const bare = refused.replaceAll(
      /^\/\/ @ts-expect-error.*$/gm,
      () => `// expected ${++expected}`,
    );
    assert(expected > 20);
    const accepted = await textOf("accepted.ts");
    const errors = await errorsIn(folder, {
      "accepted.ts": accepted,
      "refused.ts": refused,
      "bare.ts": bare,
    });
    // Behind the place of an error stand places that explain it.
    const places = errors.split(/^(?:error: )?TS\d+ /m).slice(1)
      .map((error) => /(\w+\.ts):(\d+):\d+$/m.exec(error)?.slice(1) ?? []);
    assertEquals([...new Set(places.map(([file]) => file))], ["bare.ts"], errors);
    assertEquals(new Set(places.map(([, line]) => line)).size, expected, errors);
  }));

Deno.test("types tell the truth under the stricter options of a reader", () =>
  inFolder(async (folder) => {
    const names = ["noUncheckedIndexedAccess", "exactOptionalPropertyTypes", "noImplicitReturns"];
    const compilerOptions = Object.fromEntries(names.map((name) => [name, true]));
    await Deno.writeTextFile(`${folder}/deno.json`, JSON.stringify({ compilerOptions }));
    const [accepted, refused] = [await textOf("accepted.ts"), await textOf("refused.ts")];
    const errors = await errorsIn(folder, { "accepted.ts": accepted, "refused.ts": refused });
    assertEquals(errors, "");
  }));
