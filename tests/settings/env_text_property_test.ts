import { assert, assertEquals } from "@std/assert";
import { fc, rounds } from "../support/property.ts";
import { parseEnvText } from "../../src/settings/env_parser.ts";
import { editEnvText } from "../../src/settings/env_text.ts";
import { benignEnvText, hostileEnvText, OWN_KEYS } from "../support/env_texts.ts";
import {
  ENV_READERS,
  type EnvReader,
  lackOfReader,
  lackOnWindows,
  readAllWith,
} from "../peers/env_readers.ts";
import { inFolder } from "../support/child_deno.ts";
import { type Lack, needing, subject } from "../support/needs.ts";

/** How many texts each property is tried on, many more with SOAK set. */
const RUNS = rounds(3_000, 50_000);

type Changes = Map<string, string | undefined>;

const TOKENS: Changes = new Map([["ACCESS_TOKEN", "new.a-b_c=="], [
  "REFRESH_TOKEN",
  "new/refresh+1",
]]);
const NONE: Changes = new Map(OWN_KEYS.map((key) => [key, undefined]));

/** A piece of a file and what the editor must make of it. */
interface Piece {
  readonly text: string;
  /** Key of ours that it assigns. */
  readonly key?: string;
  readonly exported?: boolean;
}

const plain = fc.string({ unit: fc.constantFrom(..."abzAZ019_-./+=:@%,"), maxLength: 12 });
const lineEnd = fc.constantFrom("\n", "\n", "\r\n");

function foreignPiece(): fc.Arbitrary<Piece> {
  const key = fc.constantFrom("A", "DB_URL", "APP_CLIENT_ID", "ACCESS_TOKEN2", "MY_REFRESH_TOKEN");
  const words = fc.constantFrom("a b", "it is #1", "x\nREFRESH_TOKEN=decoy\ny", "x\r\n# y", "");
  const value = fc.oneof(plain, words.map((it) => `"${it}"`), words.map((it) => `'${it}'`));
  const assignment = fc.tuple(
    fc.constantFrom("", "export ", "  "),
    key,
    value,
    fc.constantFrom("", " # ACCESS_TOKEN=decoy"),
  )
    .map(([before, name, text, after]) => `${before}${name}=${text}${after}`);
  const other = fc.constantFrom(
    "",
    "# note",
    "#ACCESS_TOKEN=decoy",
    "  # export REFRESH_TOKEN=decoy",
  );
  return fc.tuple(fc.oneof(assignment, other), lineEnd).map(([text, end]) => ({
    text: text + end,
  }));
}

function ownPiece(): fc.Arbitrary<Piece> {
  const value = fc.oneof(
    fc.string({ unit: fc.constantFrom(..."abzAZ019_-./+"), minLength: 1, maxLength: 12 }),
    fc.constantFrom('"a b"', "'#1'", '""'),
  );
  return fc.record({
    exported: fc.boolean(),
    key: fc.constantFrom(...OWN_KEYS),
    value,
    comment: fc.constantFrom("", "", "# note", '# it\'s "mine"'),
    end: lineEnd,
  }).map(({ exported, key, value, comment, end }) => ({
    text: `${exported ? "export " : ""}${key}=${value}${comment && ` ${comment}`}${end}`,
    key,
    exported,
  }));
}

function changes(): fc.Arbitrary<Changes> {
  const value = fc.oneof(fc.constant(undefined), plain);
  return fc.dictionary(fc.constantFrom(...OWN_KEYS), value).map((it) =>
    new Map(Object.entries(it))
  );
}

/** The rules for an edit, implemented a second time in another way. */
function expected(pieces: Piece[], wanted: Changes): string {
  const done = new Set<string>();
  let text = "";
  for (const piece of pieces) {
    const { key, exported } = piece;
    if (key === undefined || !wanted.has(key)) {
      text += piece.text;
      continue;
    }
    const value = wanted.get(key);
    if (value !== undefined && !done.has(key)) {
      text += `${exported ? "export " : ""}${key}=${value}\n`;
    }
    done.add(key);
  }
  for (const [key, value] of wanted) {
    if (value !== undefined && !done.has(key)) text += `${key}=${value}\n`;
  }
  return text;
}

Deno.test("editEnvText() changes only its own lines, and those as agreed", () => {
  const pieces = fc.array(fc.oneof(foreignPiece(), ownPiece()), { maxLength: 8 });
  fc.assert(
    fc.property(fc.constantFrom("", "", "\ufeff"), pieces, changes(), (bom, parts, wanted) => {
      const text = bom + parts.map((piece) => piece.text).join("");
      assertEquals(editEnvText(text, wanted), bom + expected(parts, wanted));
    }),
    { numRuns: RUNS },
  );
});

Deno.test("editEnvText() reads back as wanted, whatever the text, or refuses", () => {
  let refused = 0;
  fc.assert(
    fc.property(hostileEnvText(), changes(), (text, wanted) => {
      const edited = editEnvText(text, wanted);
      if (typeof edited !== "string") {
        refused++;
        return;
      }
      const values = parseEnvText(text);
      for (const [key, value] of wanted) {
        if (value === undefined) values.delete(key);
        else values.set(key, value);
      }
      assertEquals(new Map([...parseEnvText(edited)].sort()), new Map([...values].sort()));
      assert(!text.startsWith("\ufeff") || edited.startsWith("\ufeff"));
    }),
    { numRuns: RUNS },
  );
  assert(refused < RUNS * 0.4, `${refused} of ${RUNS} texts were refused`);
});

Deno.test("editEnvText() leaves no token behind when it removes its keys, or refuses", () => {
  let refused = 0;
  const token = "eyJhbGciOi.eyJzdWIiOi.c2lnbmF0dX";
  const tokens = new Map([["ACCESS_TOKEN", token], ["REFRESH_TOKEN", token]]);
  const runs = 1_000;
  fc.assert(
    fc.property(benignEnvText(), (text) => {
      const signedIn = editEnvText(text, tokens);
      const signedOut = typeof signedIn === "string" ? editEnvText(signedIn, NONE) : undefined;
      if (typeof signedOut !== "string") refused++;
      else assert(!signedOut.includes(token));
    }),
    { numRuns: runs },
  );
  assert(refused < runs * 0.4, `${refused} of ${runs} texts were refused`);
});

/** Texts with tokens in them. Some readers stumble over lines that begin with blanks, whoever wrote them. */
function editedTexts(): string[] {
  // Windows takes access_token for ACCESS_TOKEN.
  const other = Deno.build.os === "windows" ? /access_token/ : /^(?!)/;
  const text = benignEnvText().filter((it) => !/^[ \t]+(#|$)/m.test(it) && !other.test(it));
  const edited = fc.sample(text, { numRuns: 120, seed: 7 }).map((it) => editEnvText(it, TOKENS));
  return edited.filter((it) => typeof it === "string");
}

const [lacking, lack] = await lackOnWindows();
for (const reader of ENV_READERS) {
  if (!lacking.has(reader)) readerTest(Deno.test, reader, await lackOfReader(reader));
}
subject(lack, "programs that find what editEnvText() wrote", (test) => {
  for (const reader of lacking) readerTest(test, reader);
});

function readerTest(test: typeof Deno.test, reader: EnvReader, missing?: Lack): void {
  test(needing(missing, `${reader} finds the tokens that editEnvText() wrote`), async () => {
    const texts = editedTexts();
    assert(texts.length > 90, `${texts.length} were edited`);
    await inFolder(async (folder) => {
      const paths = texts.map((_, at) => `${folder}/${at}.env`);
      for (const [at, path] of paths.entries()) await Deno.writeTextFile(path, texts[at] ?? "");
      for (const [at, found] of (await readAllWith(reader, paths)).entries()) {
        for (const [key, value] of TOKENS) assertEquals(found?.[key], value, texts[at]);
      }
    });
  });
}
