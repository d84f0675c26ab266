/** The steps of a Dockerfile. */

/** One instruction, such as `RUN` or `COPY`, with its arguments in one line. */
export interface Instruction {
  readonly name: string;
  readonly value: string;
}

/** The instructions in their order, without comments. */
export function instructionsOf(text: string): Instruction[] {
  const lines = text.split("\n").filter((line) => !line.startsWith("#")).join("\n")
    .replaceAll(/\\\n\s*/g, "").split("\n").filter((line) => line.trim() !== "");
  return lines.map((line) => {
    const [, name = "", value = ""] = /^([A-Z]+) (.*)$/.exec(line) ?? [];
    return { name, value };
  });
}

/** Replaces `${NAME}` with the value of the variable. */
export function filledIn(text: string, variables: ReadonlyMap<string, string>): string {
  return text.replaceAll(/\$\{(\w+)\}/g, (_, name) => variables.get(name) ?? "");
}
