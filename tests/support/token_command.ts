/** Commands that print a token. */

/** A command that runs this script with these arguments. */
export function scriptCommand(script: string, ...args: string[]): string[] {
  return [Deno.execPath(), "eval", "--quiet", "--no-lock", script, ...args];
}

/** The words as one line of a setting or of a shell, quoted so that it is split into them again. */
export function commandLine(words: readonly string[]): string {
  return words.map((word) => `'${word.replaceAll("'", `'"'"'`)}'`).join(" ");
}

/** A command that prints one text on standard output and another on standard error. */
export function printing(text: string, status = 0, errors = ""): string[] {
  return scriptCommand(
    "const [text, errors, status] = Deno.args.map(decodeURIComponent);" +
      "if (text) console.log(text); if (errors) console.error(errors); Deno.exit(Number(status));",
    // A setting is one line.
    ...[text, errors, `${status}`].map(encodeURIComponent),
  );
}

/** A command that prints the content of a file, and counts its runs in another file. */
export interface CountedCommand {
  readonly command: string[];
  /** Sets the output of later runs. */
  print(text: string): void;
  runs(): number;
}

export function counted(folder: string): CountedCommand {
  const [printed, log] = [`${folder}/printed`, `${folder}/runs`];
  Deno.writeTextFileSync(log, "");
  return {
    command: scriptCommand(
      "const [printed, log] = Deno.args; Deno.writeTextFileSync(log, 'x', { append: true });" +
        "console.log(Deno.readTextFileSync(printed));",
      ...[printed, log],
    ),
    print: (text) => Deno.writeTextFileSync(printed, text),
    runs: () => Deno.readTextFileSync(log).length,
  };
}
