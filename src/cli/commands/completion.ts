import type { Answer, Command, Given, Option, Options, Program } from "../command.ts";
import { GLOBAL } from "../command.ts";

/** Prints the completion script of a shell. */
export async function run({ word: shell = "bash" }: Given): Promise<Answer> {
  const { COMMANDS } = await import("../commands.ts");
  const commands = await Promise.all(Object.entries(COMMANDS).map(describe));
  const text = scriptFor(shell, commands);
  return { value: { shell, script: text }, text };
}

/** What completion knows of a command. */
interface Described {
  readonly name: string;
  readonly summary: string;
  /** Its own options. */
  readonly options: Options;
  /** All words that it takes, apart from files and free text. */
  readonly words: readonly string[];
}

async function describe([name, it]: [string, Command | Program]): Promise<Described> {
  const { summary } = it;
  if ("optionNames" in it) {
    return { name, summary, options: {}, words: (await it.optionNames()).map(flag) };
  }
  const { options, word } = it;
  return { name, summary, options, words: [...word?.choices ?? [], ...flags(options)] };
}

function scriptFor(shell: string, commands: readonly Described[]): string {
  if (shell === "fish") return fish(commands);
  const offers = offersOf(commands);
  if (shell === "powershell") return powershell(commands, offers);
  // zsh can run completion functions of bash.
  return shell === "zsh"
    ? `autoload -U +X bashcompinit && bashcompinit\n${bash(offers)}`
    : bash(offers);
}

/**
 * The words that may come next, by a pattern of `command:word before`. The first one that matches counts.
 * Shells offer file names where there are none.
 */
function offersOf(commands: readonly Described[]): [pattern: string, words: string][] {
  const names = commands.map(({ name }) => name);
  return [
    ...valuesOf("*", GLOBAL),
    ...commands.flatMap(({ name, options }) => valuesOf(name, options)),
    [":*", [...names, "help", ...flags({})].join(" ")],
    ["help:*", names.join(" ")],
    ...commands.map(({ name, words }): [string, string] => [`${name}:*`, words.join(" ")]),
  ];
}

function valuesOf(command: string, options: Options): [string, string][] {
  return Object.entries(options).filter(([, { value }]) => value !== undefined)
    .flatMap(([name, { short, choices = [] }]) =>
      [flag(name), ...(short ? [`-${short}`] : [])]
        .map((before): [string, string] => [`${command}:${before}`, choices.join(" ")])
    );
}

function flags(own: Options): string[] {
  return Object.keys({ ...own, ...GLOBAL }).map(flag);
}

function flag(name: string): string {
  return `--${name}`;
}

/** Uses nothing that the bash 3.2 of macOS lacks. bash splits words at an equals sign, too. */
function bash(offers: readonly (readonly [string, string])[]): string {
  const cases = offers.map(([pattern, words]) => `    ${pattern}) words="${words}" ;;`);
  return `_platform_auth() {
  local word="\${COMP_WORDS[COMP_CWORD]}" before="\${COMP_WORDS[COMP_CWORD-1]}" command="" words="" i
  for ((i = 1; i < COMP_CWORD; i++)); do
    case "\${COMP_WORDS[i]}" in
      --env-file) if [ "\${COMP_WORDS[i+1]}" = "=" ]; then ((i += 2)); else ((i += 1)); fi ;;
      -*) ;;
      *) command="\${COMP_WORDS[i]}"; break ;;
    esac
  done
  if [ "$word" = "=" ]; then word=""
  elif [ "$before" = "=" ]; then before="\${COMP_WORDS[COMP_CWORD-2]}"
  fi
  case "$command:$before" in
${cases.join("\n")}
  esac
  COMPREPLY=($(compgen -W "$words" -- "$word"))
}
complete -o default -F _platform_auth platform-auth`;
}

function powershell(
  commands: readonly Described[],
  offers: readonly (readonly [string, string])[],
): string {
  const names = ["help", ...commands.map(({ name }) => name)].map((name) => `'${name}'`);
  const cases = offers.map(([pattern, words]) => `    '${pattern}' { '${words}'; break }`);
  return `Register-ArgumentCompleter -Native -CommandName platform-auth -ScriptBlock {
  param($word, $tree, $cursor)
  $typed = @($tree.CommandElements | Where-Object { $_.Extent.EndOffset -lt $cursor } | ForEach-Object { "$_" })
  $command = $typed | Where-Object { $_ -in ${names.join(", ")} } | Select-Object -First 1
  $offered = switch -Wildcard ("$command" + ':' + $typed[-1]) {
${cases.join("\n")}
  }
  $offered -split ' ' | Where-Object { $_ -and $_ -like "$word*" } | ForEach-Object {
    [System.Management.Automation.CompletionResult]::new($_, $_, 'ParameterValue', $_)
  }
}`;
}

function fish(commands: readonly Described[]): string {
  const first = "-n __fish_use_subcommand";
  return [
    ...optionLines("", GLOBAL),
    ...commands.map(({ name, summary }) => fishLine(`${first} -fa ${name} -d ${quoted(summary)}`)),
    ...commands.flatMap(({ name, options, words }) => {
      const after = `-n ${quoted(`__fish_seen_subcommand_from ${name}`)} `;
      const others = words.filter((word) => !(word.slice(2) in { ...options, ...GLOBAL }));
      return [
        ...(others.length === 0 ? [] : [fishLine(`${after}-fa ${quoted(others.join(" "))}`)]),
        ...optionLines(after, options),
      ];
    }),
  ].join("\n");
}

function optionLines(condition: string, options: Options): string[] {
  return Object.entries<Option>(options).map(([name, { short, value, choices, help }]) => {
    const letter = short ? ` -s ${short}` : "";
    const values = choices ? ` -xa ${quoted(choices.join(" "))}` : value ? " -r" : "";
    return fishLine(`${condition}-l ${name}${letter}${values} -d ${quoted(help)}`);
  });
}

function fishLine(rest: string): string {
  return `complete -c platform-auth ${rest}`;
}

function quoted(text: string): string {
  return `'${text.replace(/[\\']/g, "\\$&").replaceAll("\n", " ")}'`;
}
