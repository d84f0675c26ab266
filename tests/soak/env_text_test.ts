/** Long tests, for `deno task soak` only: many more cases, each time others. */
import { assert, assertEquals } from "@std/assert";
import { fc, rounds, SOAK } from "../support/property.ts";
import { editEnvText } from "../../src/settings/env_text.ts";
import { benignEnvText, hostileEnvText, OWN_KEYS } from "../support/env_texts.ts";
import {
  availableReaders,
  type EnvReader,
  type EnvReading,
  readAllWith,
} from "../peers/env_readers.ts";

const ignore = SOAK === 0;
const FILES = rounds(1_000, 10_000);
const SAMPLE = rounds(50, 500);

const TOKENS = new Map<string, string | undefined>([
  ["ACCESS_TOKEN", "new.a-b_c=="],
  ["REFRESH_TOKEN", "new/refresh+1"],
  ["ACCESS_TOKEN_EXPIRES_AT", "2030-01-01T00:00:00.000Z"],
  ["AUTHENTICATED_AT", undefined],
]);
const NONE = new Map<string, string | undefined>(OWN_KEYS.map((key) => [key, undefined]));

/** Lines with their ends, so that a changed end is a changed line, without byte order marks. */
function linesOf(text: string): string[] {
  return text.replaceAll("\ufeff", "").match(/[^\n]*\n|[^\n]+$/g) ?? [];
}

/**
 * Without values that have no name, and without values of ours that go on below: beside all else that
 * is strange, what is foreign around them is anybody's guess.
 */
function realHostileText(): fc.Arbitrary<string> {
  const goesOn = new RegExp(`(${OWN_KEYS.join("|")})[^\\n]*=[^\\n]*(["'\`])(?![^\\n]*\\2)`);
  return hostileEnvText().filter((text) => !/(^|[\r\n])\W*=/.test(text) && !goesOn.test(text));
}

/** The lines that are still there when all of ours are gone; not the comments that a removal left behind. */
function foreignLines(text: string): string[] | undefined {
  const given = new Set(linesOf(text));
  const left = editEnvText(text, NONE);
  return typeof left !== "string" ? undefined : linesOf(left).filter((line) => given.has(line));
}

/** Whether lines are all in a text, in their order, byte for byte. */
function assertWithin(lines: string[], whole: string): void {
  const rest = linesOf(whole).values();
  for (const line of lines) {
    // A last line without an end gets one when something is added behind it.
    const found = rest.some((each) => each === line || each === `${line}\n`);
    assert(found, `${JSON.stringify(line)} is not in ${JSON.stringify(whole)}`);
  }
}

Deno.test(`${FILES} random .env files keep every foreign line, byte for byte`, { ignore }, () => {
  let edited = 0;
  fc.assert(
    fc.property(fc.oneof(realHostileText(), benignEnvText()), (text) => {
      const foreign = foreignLines(text);
      const result = editEnvText(text, TOKENS);
      if (foreign === undefined || typeof result !== "string") return;
      edited++;
      assertWithin(foreign, result);
      for (const [key, value] of TOKENS) {
        if (value !== undefined) {
          assert(linesOf(result).some((line) => line.endsWith(`${key}=${value}\n`)));
        }
      }
      const again = editEnvText(result, TOKENS);
      if (typeof again === "string") assert(again.length <= result.length, "no save makes it grow");
    }),
    { numRuns: FILES },
  );
  assert(edited > FILES * 0.6, `${edited} of ${FILES} were edited`);
});

/** What all readers found in each file, or `null` where they do not agree. */
async function agreed(readers: EnvReader[], paths: string[]): Promise<EnvReading[]> {
  const all = await Promise.all(readers.map((reader) => readAllWith(reader, paths)));
  return paths.map((_, at) => {
    const readings = all.map((each) => JSON.stringify(sorted(each[at] ?? null)));
    return new Set(readings).size === 1 ? all[0]?.[at] ?? null : null;
  });
}

function sorted(reading: EnvReading): [string, string][] | null {
  // Node takes a comment below an indented one for a name, if there is a sign of equality in it.
  return reading && Object.entries(reading).filter(([name]) => !name.startsWith("#"))
    .sort(([a], [b]) => a < b ? -1 : 1);
}

Deno.test(`${SAMPLE} files that all readers agree on are read alike after an edit`, {
  ignore,
}, async () => {
  const readers = await availableReaders();
  const folder = await Deno.makeTempDir({ prefix: "env-soak-" });
  try {
    const texts = fc.sample(benignEnvText(), { numRuns: SAMPLE * 3 });
    const paths = texts.map((_, at) => `${folder}/${at}.env`);
    for (const [at, path] of paths.entries()) await Deno.writeTextFile(path, texts[at] ?? "");
    const before = await agreed(readers, paths);
    const chosen = paths.map((path, at) => ({
      path,
      text: texts[at] ?? "",
      was: before[at] ?? null,
    }))
      .filter(({ was }) => was !== null).slice(0, SAMPLE);
    assertEquals(chosen.length, SAMPLE, "enough files are agreed on");
    let refused = 0;
    for (const { path, text } of chosen) {
      const edited = editEnvText(text, TOKENS);
      if (typeof edited !== "string") refused++;
      else await Deno.writeTextFile(path, edited);
    }
    const after = await agreed(readers, chosen.map(({ path }) => path));
    for (const [at, { text, was }] of chosen.entries()) {
      const edited = editEnvText(text, TOKENS);
      if (typeof edited !== "string") continue;
      const wanted: Record<string, string> = { ...was };
      for (const [key, value] of TOKENS) {
        if (value === undefined) delete wanted[key];
        else wanted[key] = value;
      }
      const found = sorted(after[at] ?? null);
      assertEquals(
        found,
        sorted(wanted),
        `${JSON.stringify(text)} became ${JSON.stringify(edited)}`,
      );
    }
    console.log(`${readers.join(", ")}: ${SAMPLE - refused} files alike, ${refused} refused`);
  } finally {
    await Deno.remove(folder, { recursive: true });
  }
});
