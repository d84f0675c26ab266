import { type Answer, type Command, type Given, GLOBAL } from "../command.ts";
import { CODES } from "../../errors/errors.ts";
import { NOTICES } from "../../session/notices.ts";

/** Prints the completion script of a shell. */
export function runCompletion(
  commands: Readonly<Record<string, Command>>,
  { word: shell = "bash" }: Given,
): Answer {
  const names = Object.keys(commands);
  const offers: Offer[] = [
    [":--env-file", []],
    [":*", [...names, "help", ...flags(Object.keys(GLOBAL))]],
    ["help:*", names],
    ["explain:explain", [...Object.keys(CODES), ...Object.keys(NOTICES)]],
    ...Object.entries(commands).flatMap(offersOf),
  ];
  const text = scriptFor(shell, names, offers);
  return { value: { shell, script: text }, text };
}

/**
 * The words that the shell offers after a command and a previous word. A pattern is matched with
 * `command:previous word`, and the first offer that matches applies.
 */
type Offer = readonly [pattern: string, words: readonly string[]];

/** Lists the offers for a command. If an offer has no words, the shell completes file names. */
function offersOf([name, it]: [string, Command]): Offer[] {
  const options = { ...it.options, ...GLOBAL };
  const values = Object.entries(it.options).filter(([, { value }]) => value !== undefined)
    .flatMap(([option, { short = option, choices = [] }]): Offer[] => [
      [`${name}:--${option}`, choices],
      [`${name}:-${short}`, choices],
    ]);
  const words = [...it.word?.choices ?? [], ...flags(Object.keys(options))];
  return [...values, [`${name}:--env-file`, []], [`${name}:*`, words]];
}

function flags(names: readonly string[]): string[] {
  return names.map((name) => `--${name}`);
}

function scriptFor(shell: string, names: readonly string[], offers: readonly Offer[]): string {
  const cases = (line: (pattern: string, words: string) => string) =>
    offers.map(([pattern, words]) => `    ${line(pattern, words.join(" "))}`).join("\n");
  if (shell === "fish") {
    return `function __platform_auth
  set -l typed (commandline -opc)
  set -l command
  for word in $typed
    if contains -- $word help ${names.join(" ")}
      set command $word
      break
    end
  end
  switch "$command:$typed[-1]"
${cases((pattern, words) => `case '${pattern}'; string split ' ' -- '${words}'`)}
  end
end
complete -c platform-auth -a '(__platform_auth)'`;
  }
  if (shell === "powershell") {
    return `Register-ArgumentCompleter -Native -CommandName platform-auth -ScriptBlock {
  param($word, $tree, $cursor)
  $typed = @($tree.CommandElements | Where-Object { $_.Extent.EndOffset -lt $cursor } | ForEach-Object { "$_" })
  $command = $typed | Where-Object { $_ -in '${
      names.join("', '")
    }', 'help' } | Select-Object -First 1
  $words = switch -Wildcard ("$command" + ':' + $typed[-1]) {
${cases((pattern, words) => `'${pattern}' { '${words}'; break }`)}
  }
  $words -split ' ' | Where-Object { $_ -and $_ -like "$word*" } | ForEach-Object {
    [System.Management.Automation.CompletionResult]::new($_, $_, 'ParameterValue', $_)
  }
}`;
  }
  // The script must also run in zsh and in bash 3.2, the version on macOS. Bash splits words not
  // only at spaces but also at "=", so the script handles `--option=value`.
  return `${
    shell === "zsh" ? "autoload -U +X bashcompinit && bashcompinit\n" : ""
  }_platform_auth() {
  local word="\${COMP_WORDS[COMP_CWORD]}" before="\${COMP_WORDS[COMP_CWORD-1]}" command="" words="" i
  for ((i = 1; i < COMP_CWORD; i++)); do
    case "\${COMP_WORDS[i]}" in ${
    names.join(" | ")
  } | help) command="\${COMP_WORDS[i]}"; break ;; esac
  done
  if [ "$word" = "=" ]; then word=""
  elif [ "$before" = "=" ]; then before="\${COMP_WORDS[COMP_CWORD-2]}"
  fi
  case "$command:$before" in
${cases((pattern, words) => `${pattern}) words="${words}" ;;`)}
  esac
  COMPREPLY=($(compgen -W "$words" -- "$word"))
}
complete -o default -F _platform_auth platform-auth`;
}
