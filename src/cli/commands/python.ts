import type { Answer, Given } from "../command.ts";
import { writeOut } from "../output.ts";

/** Prints `platform_auth.py`. The text is part of this module, so that the command works offline. */
export async function run({ json }: Given): Promise<Answer> {
  const { default: text } = await import("../../../python/platform_auth.py", {
    with: { type: "text" },
  });
  if (json) return { value: { file: "platform_auth.py", text } };
  // Even in a terminal, no line may be wrapped.
  await writeOut(new TextEncoder().encode(text));
  return {};
}
