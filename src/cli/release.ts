/** The package in which this source is released. */
export interface Release {
  readonly name: string;
  readonly version: string;
}

/** Reads `deno.json`, which is imported as text because it contains comments. */
export async function release(): Promise<Release> {
  const { default: text } = await import("../../deno.json", { with: { type: "text" } });
  const valueOf = (key: string) => new RegExp(`"${key}": ?"([^"]+)"`).exec(text)?.[1] ?? "";
  return { name: valueOf("name"), version: valueOf("version") };
}
