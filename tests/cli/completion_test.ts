/** The completion scripts, in the shells themselves. */
import { assertEquals, assertMatch } from "@std/assert";
import { COMMANDS } from "../../src/cli/commands.ts";
import { outputOf } from "../support/child_deno.ts";
import { lackOf, NO_SHELL, testNeeding } from "../support/needs.ts";
import { answerOf } from "./own_process.ts";

async function scriptOf(shell: string): Promise<string> {
  return (await answerOf("completion", shell)).text ?? "";
}

/** A command line in words, as bash splits it (the last one is unfinished), and the completions. */
const offers: [line: string[], offered: string][] = [
  [["lo"], "login logout"],
  [["fetch", "--out"], "--output --output-dir"],
  [["--env-file", "=", "x", "logout", "--every"], "--everywhere"],
  // Without an offer, bash completes the names of files.
  [["fetch", "-o", ""], ""],
];
const inBash = offers.map(([words]) => {
  const quoted = ["platform-auth", ...words].map((word) => `'${word}'`).join(" ");
  return `COMP_WORDS=(${quoted}); COMP_CWORD=${words.length}; _platform_auth
    echo "[\${COMPREPLY[*]-}]"`;
});
const inFish = ["lo", "fetch --output-d"].map((line) =>
  `complete -C 'platform-auth ${line}' | cut -f 1`
);

/** The arguments of each shell, what it runs after the completion script, and what that prints. */
const shells: [shell: string, args: string[], commands: string[], printed: string[]][] = [
  ["bash", ["-u", "-c"], inBash, offers.map(([, offered]) => `[${offered}]`)],
  ["zsh", ["-f", "-c"], ["print -r -- $_comps[platform-auth]"], [
    "_bash_complete -o default -F _platform_auth",
  ]],
  ["fish", ["--no-config", "-c"], inFish, ["login", "logout", "--output-dir"]],
];
for (const [shell, args, commands, printed] of shells) {
  const lack = NO_SHELL ?? await lackOf(shell, "--version");
  testNeeding(lack, `${shell} completes commands and options`, async () => {
    const before = shell === "zsh" ? "autoload -U compinit && compinit -D -u" : "";
    const script = [before, await scriptOf(shell), ...commands].join("\n");
    const { stdout, stderr } = await outputOf(shell, { args: [...args, script] });
    assertEquals([stdout, stderr], [`${printed.join("\n")}\n`, ""]);
  });
}

Deno.test("every completion script has every command with all of its options", async () => {
  for (const shell of ["bash", "zsh", "fish", "powershell"]) {
    const script = await scriptOf(shell);
    for (const [name, { options }] of Object.entries(COMMANDS)) {
      const words = [...Object.keys(options), "env-file"].map((option) => `--${option}`).join(" ");
      assertMatch(script, new RegExp(`\\b${name}'?\\W.*['"]${words} `), shell);
    }
  }
});
