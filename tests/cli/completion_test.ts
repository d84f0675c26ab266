/** The completion scripts, in the shells themselves. */
import { assert, assertEquals } from "@std/assert";
import { COMMANDS } from "../../src/cli/commands.ts";
import { lackOf, needing, NO_SHELL, subject } from "../support/needs.ts";
import { answerOf } from "./own_process.ts";

async function scriptOf(shell: string): Promise<string> {
  return (await answerOf("completion", shell)).text ?? "";
}

async function output(program: string, args: string[], stdin = ""): Promise<string> {
  const child = new Deno.Command(program, {
    args,
    stdin: "piped",
    stdout: "piped",
    stderr: "piped",
  }).spawn();
  const writer = child.stdin.getWriter();
  await writer.write(new TextEncoder().encode(stdin));
  await writer.close();
  const { code, stdout, stderr } = await child.output();
  const [text = "", errors = ""] = [stdout, stderr].map((each) => new TextDecoder().decode(each));
  assertEquals([code, errors], [0, ""]);
  return text;
}

/** A command line in words, as bash splits it (the last one is unfinished), and the completions. */
const offers: [line: string[], offered: string[]][] = [
  [["lo"], ["login", "logout"]],
  [["fetch", "--out"], ["--output", "--output-dir"]],
  [["--json", "--env-file", "x", "logo"], ["logout"]],
  [["--env-file", "=", "x", "logout", "--every"], ["--everywhere"]],
  [["--vers"], ["--version"]],
  // Without an offer, bash completes the names of files.
  [["fetch", "-o", ""], []],
  [["fetch", "--list", "lo"], []],
];

const lackOfShell = async (shell: string) => NO_SHELL ?? await lackOf(shell, "--version");
const lacks = {
  bash: await lackOfShell("bash"),
  zsh: await lackOfShell("zsh"),
  fish: await lackOfShell("fish"),
};

subject(NO_SHELL, "completion in shells", (test) => {
  test({
    ...needing(lacks.bash, "bash completes commands and options"),
    fn: async () => {
      const cases = offers.map(([words]) => {
        const quoted = ["platform-auth", ...words].map((word) => `'${word}'`).join(" ");
        return `COMP_WORDS=(${quoted}); COMP_CWORD=${words.length}; _platform_auth
        echo "\${COMPREPLY[*]-}"`;
      });
      const script = `set -u; eval "$(cat)"; complete -p platform-auth >/dev/null\n`;
      const text = await output("bash", ["-c", script + cases.join("\n")], await scriptOf("bash"));
      const found = text.split("\n").slice(0, -1).map((line) => line.split(" ").filter(Boolean));
      assertEquals(found, offers.map(([, offered]) => offered));
    },
  });

  test({
    ...needing(lacks.zsh, "zsh completes platform-auth with the function in the completion script"),
    fn: async () => {
      const script = `autoload -U compinit && compinit -D -u; eval "$(cat)"
        print -r -- $_comps[platform-auth]`;
      const text = await output("zsh", ["-f", "-c", script], await scriptOf("zsh"));
      assertEquals(text, "_bash_complete -o default -F _platform_auth\n");
    },
  });

  test({
    ...needing(lacks.fish, "fish completes commands and options"),
    fn: async () => {
      const lines = ["lo", "fetch --output-d", "--vers", "logout --every"];
      const asked = lines.map((line) => `complete -C 'platform-auth ${line}'`).join("\n");
      const text = await output("fish", ["--no-config"], `${await scriptOf("fish")}\n${asked}`);
      const words = text.trimEnd().split("\n").map((line) => line.split("\t")[0]);
      assertEquals(words, ["login", "logout", "--output-dir", "--version", "--everywhere"]);
    },
  });
});

Deno.test("every completion script names every command and option", async () => {
  for (const shell of ["bash", "zsh", "fish", "powershell"]) {
    const script = await scriptOf(shell);
    for (const [name, command] of Object.entries(COMMANDS)) {
      assert(script.includes(name), `${shell} ${name}`);
      for (const option of Object.keys(command.options)) {
        assert(script.includes(`--${option}`), `${shell} ${name} ${option}`);
      }
    }
  }
});
