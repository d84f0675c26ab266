/** The package in which this source is released. */
export interface Release {
  readonly name: string;
  readonly version: string;
}

/**
 * Reads the name and the version from `deno.json`. The file is imported as text, because its
 * comments are not valid JSON.
 */
export async function release(): Promise<Release> {
  const { default: text } = await import("../../deno.json", { with: { type: "text" } });
  const valueOf = (key: string) => new RegExp(`"${key}": ?"([^"]+)"`).exec(text)?.[1] ?? "";
  return { name: valueOf("name"), version: valueOf("version") };
}
