import { assert, assertEquals, assertMatch } from "@std/assert";
import { documentText } from "../support/documented_flags.ts";
import { commandPath, testWith } from "../support/machine.ts";
import { commandsIn, runReadme } from "./readme_commands.ts";

const missing = commandPath("bash") && commandPath("git") ? undefined : "needs bash and git";

Deno.test("commandsIn() gives the lines of shell blocks in order, without comments", () => {
  const text = "```sh\nfirst  # why\n\nsecond # x\n```\n```ts\nno();\n```\n```sh\nthird\n```\n";
  assertEquals(commandsIn(text), ["first", "second", "third"]);
  assert(commandsIn(documentText("README.md")).length >= 4);
});

testWith(
  missing,
  "the commands of the README lead from the files alone to an answer of the API",
  async () => {
    const { steps, skipped, firstAnswerSeconds } = await runReadme({
      ...{ workingTree: true, cached: true },
    });
    for (const { command, code, output } of steps) assertEquals(code, 0, `${command}\n${output}`);
    assertEquals(skipped.length, 1);
    assert(firstAnswerSeconds !== undefined);
    const script = steps.find(({ command }) => command.endsWith("script.ts"));
    assertMatch(script?.output ?? "", /^6 rows$/m);
  },
);
