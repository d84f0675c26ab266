import { type Answer, type Command, type Given, GLOBAL } from "../command.ts";

/**
 * Prints the completion script of a shell. The script completes the first word as a command. After
 * it, words that begin with a dash are completed as its options, and other words as file names.
 */
export function runCompletion(
  commands: Readonly<Record<string, Command>>,
  { word: shell = "bash" }: Given,
): Answer {
  const names = [...Object.keys(commands), "help"].join(" ");
  const options = [
    ...Object.entries(commands).map(([name, command]) => [name, flags(command.options)] as const),
    ["*", flags({})] as const,
  ];
  const cases = (line: (pattern: string, words: string) => string) =>
    options.map(([name, words]) => `    ${line(name, words)}`).join("\n");
  const text = scriptFor(shell, names, cases);
  return { value: { shell, script: text }, text };
}

function flags(options: Command["options"]): string {
  return Object.keys({ ...options, ...GLOBAL }).map((name) => `--${name}`).join(" ");
}

function scriptFor(
  shell: string,
  names: string,
  cases: (line: (pattern: string, words: string) => string) => string,
): string {
  if (shell === "fish") {
    return `function __platform_auth
  set -l command
  for word in (commandline -opc)[2..]
    if contains -- $word ${names}
      set command $word
      break
    end
  end
  if not string match -q -- '-*' (commandline -ct)
    test -z "$command"; and string split ' ' -- '${names}'
    return
  end
  switch "$command"
${cases((name, words) => `case '${name}'; string split ' ' -- '${words}'`)}
  end
end
complete -c platform-auth -a '(__platform_auth)'`;
  }
  if (shell === "powershell") {
    return `Register-ArgumentCompleter -Native -CommandName platform-auth -ScriptBlock {
  param($word, $tree, $cursor)
  $names = '${names}' -split ' '
  $typed = $tree.CommandElements | Where-Object { $_.Extent.EndOffset -lt $cursor } | ForEach-Object { "$_" }
  $command = $typed | Where-Object { $_ -in $names } | Select-Object -First 1
  $words = if ($word -like '-*') { switch -Wildcard ("$command") {
${cases((name, words) => `'${name}' { '${words}' -split ' '; break }`)}
  } } elseif (-not $command) { $names }
  $words | Where-Object { $_ -like "$word*" } | ForEach-Object {
    [System.Management.Automation.CompletionResult]::new($_, $_, 'ParameterValue', $_)
  }
}`;
  }
  // The script must also run in zsh and in bash 3.2, the version on macOS.
  return `${
    shell === "zsh" ? "autoload -U +X bashcompinit && bashcompinit\n" : ""
  }_platform_auth() {
  local word="\${COMP_WORDS[COMP_CWORD]}" command="" words="" i
  for ((i = 1; i < COMP_CWORD; i++)); do
    case " ${names} " in *" \${COMP_WORDS[i]} "*) command="\${COMP_WORDS[i]}"; break ;; esac
  done
  case "$word" in
  -*) case "$command" in
${cases((name, words) => `${name}) words="${words}" ;;`)}
    esac ;;
  *) [ -n "$command" ] || words="${names}" ;;
  esac
  COMPREPLY=($(compgen -W "$words" -- "$word"))
}
complete -o default -F _platform_auth platform-auth`;
}
