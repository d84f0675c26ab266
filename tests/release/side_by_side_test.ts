import { assertEquals, assertMatch } from "@std/assert";
import { fileURLToPath } from "node:url";

const ROOT = fileURLToPath(new URL("../../", import.meta.url));

Deno.test("tasks side by side are shown in their order, and one that fails runs once more, alone", async () => {
  const { code, stdout } = await new Deno.Command(Deno.execPath(), {
    args: [
      "run",
      "-A",
      "tests/support/side_by_side.ts",
      "test:prepare",
      "release:check,test:prepare",
    ],
    cwd: ROOT,
    env: { NO_COLOR: "1" },
  }).output();
  const text = new TextDecoder().decode(stdout);
  const shown = text.split("\n").filter((line) => /^(==|ok|FAILED|Cannot release)/.test(line));
  assertEquals(code, 1, text);
  const failure = "Cannot release: no tag was given; write: deno task release:check v1.2.3";
  assertEquals(shown.slice(0, 6), [
    "== test:prepare",
    "== release:check",
    failure,
    "== test:prepare",
    "== release:check, once more, alone",
    failure,
  ]);
  assertMatch(
    shown.slice(6).join("\n"),
    /^== all\nok {5}test:prepare, \d+ s\nFAILED release:check, \d+ s\nok {5}test:prepare, \d+ s$/,
  );
});
