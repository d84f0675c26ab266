import { ConfigError } from "../errors/errors.ts";

/** Why a file that is there is left alone. */
export const THERE = "it is there already; pass overwrite: true, or name another file";

/** The error of a place where nothing can be saved. */
export function refused(path: string, why: string): ConfigError {
  return new ConfigError("INVALID_SETTING", `Cannot save ${path}: ${why}`);
}

/** Runs what uses the disk, and tells its errors in words. */
export function guarded<T>(path: string, work: () => T): T {
  try {
    return work();
  } catch (error) {
    throw reasonOf(path, error);
  }
}

/** What an error of the disk means, in words. */
export function reasonOf(path: string, error: unknown): unknown {
  if (error instanceof ConfigError || error instanceof DOMException) return error;
  if (error instanceof Deno.errors.NotCapable) {
    const given = /^.*[\\/]/.exec(path)?.[0] ?? ".";
    const flags = `--allow-read=${given} --allow-write=${given}`;
    return new ConfigError(
      "PERMISSION",
      `Cannot save ${path}: the permission is missing; run with ${flags}`,
    );
  }
  // The code, too: Windows words its errors in the user's language.
  const { code = "" } = error as { code?: string };
  const text = error instanceof Error ? `${code} ${error.message}` : "";
  const known: [RegExp, string][] = [
    [/os error 123\b/, "Windows allows no such name; name another file"],
    [
      /^(ENOSPC|EDQUOT) |no space|quota|os error 112\b/i,
      "the disk is full; free some space and run it again",
    ],
    [/^(ENOENT|ENOTDIR) |not a directory/, "its folder does not exist; make it first"],
    [/^(EACCES|EPERM|EROFS) |read-only/i, "this user may not write there; name another"],
    [/^EFBIG |too large/i, "the file is too large for this file system; name another place"],
  ];
  const why = known.find(([pattern]) => pattern.test(text))?.[1];
  return refused(path, why ?? "the file system refused it; check the path and the space left");
}
