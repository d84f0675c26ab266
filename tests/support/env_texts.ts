/** Generates `.env` texts: as strange as people have them, or plain enough for bash to run. */
import { fc } from "./property.ts";

/**
 * The keys that the module stores in a `.env`, and similar ones that must not be mistaken for them.
 */
export const OWN_KEYS = [
  "ACCESS_TOKEN",
  "REFRESH_TOKEN",
  "ACCESS_TOKEN_EXPIRES_AT",
  "AUTHENTICATED_AT",
];

const FOREIGN_KEYS = ["APP_CLIENT_ID", "USERNAME", "PASSWORD", "DB_URL", "A", "_x1"];
const NEAR_KEYS = ["ACCESS_TOKEN2", "MY_ACCESS_TOKEN", "access_token", "ACCESS_TOKEN_", "ACCESS"];
const ODD_KEYS = ["my-key", "a.b", "1A", "ключ", "KEY[0]", "a b", ""];

const PLAIN_CHARS = [..."abzAZ019_-./+=:@%,"];

/** A name which every reader takes, often one of ours. */
export function envKey(): fc.Arbitrary<string> {
  const own = fc.constantFrom(...OWN_KEYS);
  return fc.oneof({ arbitrary: own, weight: 2 }, fc.constantFrom(...FOREIGN_KEYS, ...NEAR_KEYS));
}

/** Text like a token, which no reader needs in quotes. Sometimes empty. */
export function plainValue(): fc.Arbitrary<string> {
  return fc.string({ unit: fc.constantFrom(...PLAIN_CHARS), maxLength: 40 });
}

/**
 * Any text that a setting may contain, with many characters that readers treat differently. Neither
 * NUL nor half characters.
 */
export function awkwardValue(): fc.Arbitrary<string> {
  const pieces = fc.constantFrom(
    ..."\"'`\\$#=!&|;<>(){}[]*?~^ \t\n\r\u2028\u2029\u00a0\u0085\ufeffé🌊",
    ...[
      "\r\n",
      "\\n",
      "\\\\",
      "${HOME}",
      "$HOME",
      "$(true)",
      " # note",
      "export ",
      "\nACCESS_TOKEN=x",
    ],
  );
  const unit = fc.oneof(pieces, fc.constantFrom(...PLAIN_CHARS), anyCharacter());
  return fc.string({ unit, maxLength: 12 });
}

/** A `.env` as strange as people have them. Not for bash: it would run some of this. */
export function hostileEnvText(): fc.Arbitrary<string> {
  return joined(fc.oneof({ arbitrary: hostileLine(), weight: 3 }, inertLine()), {
    bom: ["", "", "", "\ufeff"],
    lineEnds: [["\n"], ["\r\n"], ["\n", "\r\n"], ["\n", "\r\n", "\r"]],
  });
}

/** A `.env` of blank lines, comments and plain assignments, which bash may be given. */
export function benignEnvText(): fc.Arbitrary<string> {
  return joined(inertLine(), { bom: [""], lineEnds: [["\n"]] });
}

function joined(
  line: fc.Arbitrary<string>,
  { bom, lineEnds }: { bom: string[]; lineEnds: string[][] },
): fc.Arbitrary<string> {
  return fc.constantFrom(...lineEnds).chain((ends) =>
    fc.tuple(
      fc.constantFrom(...bom),
      fc.array(fc.tuple(line, fc.constantFrom(...ends)), { maxLength: 8 }),
      fc.boolean(),
    )
  ).map(([mark, lines, ended]) => {
    const text = lines.map(([content, end]) => content + end).join("");
    const last = lines.at(-1)?.[1] ?? "";
    return mark + (ended ? text : text.slice(0, text.length - last.length));
  });
}

function inertLine(): fc.Arbitrary<string> {
  const text = fc.string({
    unit: fc.constantFrom(...PLAIN_CHARS, " ", "#", "é", "🌊", "\n"),
    maxLength: 12,
  });
  const value = fc.oneof(
    plainValue(),
    text.map((inside) => `'${inside}'`),
    text.map((inside) => `"${inside}"`),
    fc.constantFrom("'say \"hi\"'", `"it's"`, "'$A \\ `'", "'\nACCESS_TOKEN=decoy\n'"),
  );
  const assignment = fc.tuple(
    fc.constantFrom("", "", "", "export ", "export   ", "  "),
    envKey(),
    value,
    fc.constantFrom("", "", "", " # note", "  # it's ACCESS_TOKEN=decoy", "  "),
  ).map(([before, key, text, after]) => `${before}${key}=${text}${after}`);
  return fc.oneof({ arbitrary: assignment, weight: 4 }, blankOrComment());
}

function blankOrComment(): fc.Arbitrary<string> {
  return fc.constantFrom(
    ...[
      "",
      " \t",
      "# note",
      "#",
      "  # it's \"quoted",
      "#ACCESS_TOKEN=decoy",
      "# export ACCESS_TOKEN=decoy",
    ],
  );
}

function hostileLine(): fc.Arbitrary<string> {
  const key = fc.oneof(envKey(), fc.constantFrom(...ODD_KEYS));
  const quoted = fc.tuple(fc.constantFrom(..."\"'`"), awkwardValue());
  const value = fc.oneof(
    awkwardValue(),
    quoted.map(([quote, inside]) => `${quote}${inside}${quote}`),
    quoted.map(([quote, inside]) => `${quote}${inside.replaceAll(quote, `\\${quote}`)}${quote}`),
    quoted.map(([quote, inside]) => `${quote}${inside}`),
    quoted.map(([quote, inside]) => `${quote}first\nACCESS_TOKEN=decoy\n${inside}${quote}`),
    fc.constantFrom("", " ", '""', "''", "x".repeat(5000)),
  );
  const equals = fc.constantFrom("=", "=", "=", " = ", " =", "= ", "=\t", "==", ": ", "");
  const before = fc.constantFrom("", "", "", "export ", "export\t", "  ", "\t", "\u00a0", "set ");
  const after = fc.constantFrom("", "", "", " # note", "# note", " ", "\t", " trailing words", ";");
  return fc.oneof(
    {
      arbitrary: fc.tuple(before, key, equals, value, after).map((parts) => parts.join("")),
      weight: 6,
    },
    blankOrComment(),
    fc.constantFrom(
      "just words",
      "export ACCESS_TOKEN",
      "ACCESS_TOKEN",
      "=",
      "export",
      "[section]",
    ),
    awkwardValue(),
  );
}

function anyCharacter(): fc.Arbitrary<string> {
  return fc.string({ unit: "binary", minLength: 1, maxLength: 1 }).filter((text) => text !== "\0");
}
