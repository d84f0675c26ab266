/** How `AUTH_TOKEN_COMMAND` is split into a program and its arguments. */
import { assertEquals } from "@std/assert";
import { fc } from "../support/property.ts";
import { SETTING_RULES, splitCommand } from "../../src/settings/options.ts";

Deno.test("splitCommand() splits a line at spaces outside quotes, and interprets nothing else", () => {
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

Deno.test("splitCommand() restores the words of a tokenCommand array", () => {
  const { listText } = SETTING_RULES.tokenCommand;
  const word = fc.string({ unit: fc.constantFrom(..."ab'\" \\$") });
  fc.assert(
    fc.property(fc.array(word), (args) => {
      const line = listText?.(["program", ...args]) ?? "";
      assertEquals(splitCommand(line), ["program", ...args]);
    }),
  );
});
