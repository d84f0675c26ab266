import { assert, assertEquals, assertMatch } from "@std/assert";
import { documentText } from "../support/documented_flags.ts";
import { lackOf, NO_SHELL, testNeeding } from "../support/needs.ts";
import { commandsIn, runReadme } from "./readme_commands.ts";

const lack = NO_SHELL ?? await lackOf("bash", "--version") ??
  await lackOf("git", "--version");

Deno.test("commandsIn() gives the lines of shell blocks in order, without comments", () => {
  const text = "```sh\nfirst  # why\n\nsecond # x\n```\n```ts\nno();\n```\n```sh\nthird\n```\n";
  assertEquals(commandsIn(text), ["first", "second", "third"]);
  assert(commandsIn(documentText("README.md")).length >= 4);
});

testNeeding(
  lack,
  "the commands of the README lead from the files alone to an answer of the API",
  async () => {
    const { steps, skipped, firstAnswerSeconds } = await runReadme({
      workingTree: true,
      cached: true,
    });
    for (const { command, code, output } of steps) assertEquals(code, 0, `${command}\n${output}`);
    const warned = steps.filter(({ output }) => /^warning/im.test(output));
    assertEquals(warned.map(({ command }) => command), []);
    assertEquals(skipped.length, 1);
    assert(firstAnswerSeconds !== undefined);
    const script = steps.find(({ command }) => command.endsWith("script.ts"));
    assertMatch(script?.output ?? "", /^6 rows$/m);
  },
);
