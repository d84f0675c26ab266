import { assert, assertEquals, assertMatch } from "@std/assert";
import { documentText } from "../support/documented_flags.ts";
import { commandsIn, runReadme } from "./readme_commands.ts";

const bash = Deno.build.os !== "windows";

Deno.test("commandsIn() gives the lines of shell blocks in order, without comments", () => {
  const text = "```sh\nfirst  # why\n\nsecond # x\n```\n```ts\nno();\n```\n```sh\nthird\n```\n";
  assertEquals(commandsIn(text), ["first", "second", "third"]);
  assert(commandsIn(documentText("README.md")).length >= 4);
});

Deno.test({
  name: "the commands of the README lead from the files alone to an answer of the API",
  ignore: !bash,
  fn: async () => {
    const { steps, skipped, firstAnswerSeconds } = await runReadme({
      ...{ workingTree: true, cached: true },
    });
    for (const { command, code, output } of steps) assertEquals(code, 0, `${command}\n${output}`);
    assertEquals(skipped.length, 1);
    assert(firstAnswerSeconds !== undefined);
    const script = steps.find(({ command }) => command.endsWith("script.ts"));
    assertMatch(script?.output ?? "", /^6 rows$/m);
  },
});
