import { assertEquals } from "@std/assert";
import { fc } from "../support/property.ts";
import { SETTING_RULES, splitCommand } from "../../src/settings/options.ts";

Deno.test("splitCommand() splits at blanks, keeps what is quoted, and knows no other sign", () => {
  const cases: [string, string[] | undefined][] = [
    ["ssh login-node platform-auth token --json", [
      ...["ssh", "login-node", "platform-auth", "token", "--json"],
    ]],
    [`  "C:\\Program Files\\a.exe"  -x '' `, ["C:\\Program Files\\a.exe", "-x", ""]],
    [`a --b="c d"'e f'g $HOME * ~ | > \\n`, [
      ...["a", "--b=c de fg", "$HOME", "*", "~", "|", ">", "\\n"],
    ]],
    [`it's`, undefined],
    [`a "b`, undefined],
    [`"a'b" 'c"d'`, ["a'b", 'c"d']],
    ["", undefined],
    ["  ", undefined],
    ["'' a", undefined],
  ];
  for (const [line, words] of cases) assertEquals(splitCommand(line), words, line);
});

Deno.test("an array of words comes back from the line that is made of it", () => {
  const { listText } = SETTING_RULES.tokenCommand;
  const word = fc.string({ unit: fc.constantFrom(..."ab'\" \\$") });
  fc.assert(
    fc.property(fc.array(word), (args) => {
      const line = listText?.(["program", ...args]) ?? "";
      assertEquals(splitCommand(line), ["program", ...args]);
    }),
  );
});
