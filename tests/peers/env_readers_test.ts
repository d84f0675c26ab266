import { assert, assertEquals, assertNotEquals, assertRejects } from "@std/assert";
import { withEnvironment } from "../support/environment.ts";
import { fc } from "../support/property.ts";
import { benignEnvText, hostileEnvText } from "../support/env_texts.ts";
import { type Lack, needing, subject, testNeeding } from "../support/needs.ts";
import {
  availableReaders,
  ENV_READERS,
  type EnvReader,
  type EnvReading,
  lackOfReader,
  lackOnWindows,
  readAllWith,
  readWith,
} from "./env_readers.ts";

async function withFiles(
  texts: string[],
  use: (paths: string[], folder: string) => Promise<void>,
): Promise<void> {
  const folder = await Deno.makeTempDir({ prefix: "env-readers-" });
  try {
    const paths = texts.map((_, at) => `${folder}/${at}.env`);
    for (const [at, path] of paths.entries()) await Deno.writeTextFile(path, texts[at] ?? "");
    await use(paths, folder);
  } finally {
    await Deno.remove(folder, { recursive: true });
  }
}

async function readings(text: string): Promise<Partial<Record<EnvReader, EnvReading>>> {
  const all: Partial<Record<EnvReader, EnvReading>> = {};
  await withFiles([text], async ([path = ""]) => {
    for (const reader of await availableReaders()) all[reader] = await readWith(reader, path);
  });
  return all;
}

const runsSomething = [
  ...["A=$(touch ran)", "A=`touch ran`", 'A="$(touch ran)"', "touch ran", "A=1 touch ran"],
  ...["A=1;touch ran", "A=1&touch ran", "A=1|touch ran", "A=<(touch ran)", "A=1\ntouch ran"],
  ...["A='\n'touch ran", "A='1' touch ran", 'A="\\" touch ran #"', "A=\\\ntouch ran", "PATH=."],
  ...["export A=1 $(touch ran)", "A[$(touch ran)]=1", "# note\r\n\r\ntouch ran", "BASH_ENV=x"],
];

const [lacking, lack] = await lackOnWindows();
const lacks = new Map<EnvReader, Lack | undefined>();
for (const reader of ENV_READERS) lacks.set(reader, await lackOfReader(reader));
for (const reader of ENV_READERS) if (!lacking.has(reader)) readerTests(Deno.test, reader);
subject(lack, "programs that read a .env", (test) => {
  for (const reader of lacking) readerTests(test, reader);
});

function readerTests(test: typeof Deno.test, reader: EnvReader): void {
  test({
    ...needing(lacks.get(reader), `readWith() reads plain assignments with ${reader}`),
  }, async () => {
    const text =
      '# note\nexport A=a/b+c==\nB=\'it "is" $A #1\'\nC="it\'s é 🌊"\nACCESS_TOKEN=\nD=1\n';
    const wanted = { A: "a/b+c==", B: 'it "is" $A #1', C: "it's é 🌊", ACCESS_TOKEN: "", D: "1" };
    await withFiles([text], async ([path = ""]) => {
      assertEquals(await readWith(reader, path), wanted);
    });
  });

  // Deno starts once for each file.
  const count = reader === "deno" ? 50 : 500;
  const name = `readAllWith() reads ${count} files with ${reader}, in their order`;
  test(needing(lacks.get(reader), name), async () => {
    const texts = fc.sample(benignEnvText(), { numRuns: count, seed: 1 })
      .map((text, at) => `FILE=${at}\n${text}`);
    await withFiles(texts, async (paths) => {
      const all = await readAllWith(reader, paths);
      assertEquals(all.map((reading) => reading?.FILE), texts.map((_, at) => `${at}`));
    });
  });

  if (reader !== "bash") return;
  const inert = "readWith() gives bash no text that runs something";
  test(needing(lacks.get(reader), inert), async () => {
    await withFiles(runsSomething, async (paths, folder) => {
      for (const path of paths) await assertRejects(() => readWith("bash", path), RangeError);
      assertEquals([...Deno.readDirSync(folder)].length, paths.length);
    });
  });
}

Deno.test("readWith() shows that only deno takes the first of two lines for a key", async () => {
  for (const [reader, reading] of Object.entries(await readings("A=first\nA=last\n"))) {
    assertEquals(reading, { A: reader === "deno" ? "first" : "last" }, reader);
  }
});

const carriageReturn = "readWith() shows that bash keeps a carriage return which the others drop";
testNeeding(lacks.get("bash"), carriageReturn, async () => {
  for (const [reader, reading] of Object.entries(await readings("A=1\r\nB='2'\r\n"))) {
    const end = reader === "bash" ? "\r" : "";
    assertEquals(reading, { A: `1${end}`, B: `2${end}` }, reader);
  }
});

Deno.test("readWith() shows that deno joins a value of blanks to the next line", async () => {
  const all = await readings("A= \nB=2\n");
  assertEquals(all.deno, { A: "B=2" });
  assertEquals(all["parse-env"], { A: "B=2" });
  assertEquals(all["npm-dotenv"], { A: "", B: "2" });
});

Deno.test("readWith() reads nothing from the environment of the tests", async () => {
  await withEnvironment({ ENV_READERS_TEST: "from the tests" }, async () => {
    for (const [reader, reading] of Object.entries(await readings("ENV_READERS_TEST=file\n"))) {
      assertEquals(reading, { ENV_READERS_TEST: "file" }, reader);
    }
    for (const [reader, reading] of Object.entries(await readings(""))) {
      assertEquals(reading, {}, reader);
    }
    await withFiles(['A="${ENV_READERS_TEST}"\n'], async ([path = ""]) => {
      for (const reader of (await availableReaders()).filter((name) => name !== "bash")) {
        assertNotEquals(await readWith(reader, path), { A: "from the tests" }, reader);
      }
    });
  });
});

Deno.test({
  ...needing(await lackOfReader("node"), "readWith() reads with node as node --env-file does"),
}, async () => {
  const texts = fc.sample(hostileEnvText(), { numRuns: 12, seed: 3 });
  await withFiles(texts, async (paths) => {
    const all = await readAllWith("node", paths);
    const environment = async (...flags: string[]) => {
      const { stdout } = await new Deno.Command("node", {
        args: [...flags, "-p", "JSON.stringify(process.env)"],
        env: { PATH: Deno.env.get("PATH") ?? "" },
        clearEnv: true,
      }).output();
      return JSON.parse(new TextDecoder().decode(stdout));
    };
    // PATH, and on Windows what no process there is without.
    const given = Object.keys(await environment());
    for (const [at, path] of paths.entries()) {
      const reading = Object.entries(await environment(`--env-file=${path}`));
      const read = reading.filter(([name]) => !given.includes(name));
      assertEquals(all[at], Object.fromEntries(read));
    }
  });
});

Deno.test("hostileEnvText() makes what people have in their files", () => {
  const texts = fc.sample(hostileEnvText(), { numRuns: 1000, seed: 1 });
  const kinds: Record<string, RegExp> = {
    "a byte order mark": /^\ufeff/,
    "CRLF line ends": /\r\n/,
    "mixed line ends": /\r\n[^]*[^\r]\n/,
    "a lone carriage return": /\r(?!\n)/,
    "no final line end": /[^\r\n]$/,
    "nothing at all": /^$/,
    "an exported key of ours": /^export ACCESS_TOKEN=/m,
    "a key of ours twice": /^REFRESH_TOKEN=[^]*^REFRESH_TOKEN=/m,
    "a key of ours in a comment": /^#.*ACCESS_TOKEN=/m,
    "spaces round the sign": /^ACCESS_TOKEN = /m,
    "a key of ours inside double quotes": /="first\nACCESS_TOKEN=decoy\n[^"\\]*"/,
    "a key of ours inside single quotes": /='first\nACCESS_TOKEN=decoy\n[^'\\]*'/,
    "a key of ours inside backticks": /=`first\nACCESS_TOKEN=decoy\n[^`\\]*`/,
    "a longer key": /^ACCESS_TOKEN2=/m,
    "a key no shell takes": /^my-key=/m,
    "a line without a sign": /^just words$/m,
    "a reference": /=.*\$\{HOME\}/,
    "a line separator that is not a line end": /\u2028/,
    "a note behind a value": /=\S+ # note/,
  };
  for (const [kind, pattern] of Object.entries(kinds)) {
    assert(texts.some((text) => pattern.test(text)), `no text has ${kind}`);
  }
});
