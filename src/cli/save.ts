import { writeAll } from "./output.ts";
import { cleanUpAtExit } from "../runtime/signals.ts";
import { ConfigError } from "../values/errors.ts";

type Pieces = AsyncIterable<Uint8Array>;

/**
 * Saves an answer. It is written under a name of its own beside the file, and takes the file's name
 * when it is whole. What is no regular file, such as a device or a pipe, is written into.
 */
export async function saveTo(path: string, pieces: Pieces, headers: Headers): Promise<void> {
  try {
    const found = await infoOf(path);
    if (found === undefined || found.isFile) {
      // The file that a link leads to is replaced, and the link stays.
      const file = found === undefined ? path : await Deno.realPath(path);
      await replaceFile(file, found?.mode ?? undefined, pieces, headers);
    } else if (found.isDirectory) {
      throw new ConfigError("INVALID_SETTING", `Cannot save ${path}: it is a folder; name a file`);
    } else {
      using target = await Deno.open(path, { write: true });
      await copy(pieces, target, headers);
    }
  } catch (error) {
    if (error instanceof Deno.errors.NotCapable) {
      const folder = /^.*[\\/]/.exec(path)?.[0] ?? ".";
      throw new ConfigError(
        "PERMISSION",
        `Cannot save ${path}: the permission is missing; run with --allow-read=${folder} ` +
          `--allow-write=${folder}`,
      );
    }
    if (error instanceof TypeError || error instanceof ConfigError) throw error;
    throw new ConfigError(
      "INVALID_SETTING",
      `Cannot save ${path}; check the path and the space left`,
    );
  }
}

async function infoOf(path: string): Promise<Deno.FileInfo | undefined> {
  try {
    return await Deno.stat(path);
  } catch (error) {
    if (error instanceof Deno.errors.NotFound) return undefined;
    throw error;
  }
}

/** @param mode The permission bits of the file that is replaced. */
async function replaceFile(
  path: string,
  mode: number | undefined,
  pieces: Pieces,
  headers: Headers,
): Promise<void> {
  const part = `${path}.${crypto.randomUUID().slice(0, 8)}.part`;
  const bits = mode === undefined ? undefined : mode & 0o777;
  // Only a file that was not there before: anybody could have put a link there.
  const open = { write: true, createNew: true, ...(bits !== undefined && { mode: bits }) };
  const target = await Deno.open(part, open);
  try {
    using _ = cleanUpAtExit(() => Deno.removeSync(part));
    using file = target;
    if (bits !== undefined && Deno.build.os !== "windows") await Deno.chmod(part, bits);
    await copy(pieces, file, headers);
    await file.sync();
    await Deno.rename(part, path);
  } catch (error) {
    await Deno.remove(part).catch(() => {});
    throw error;
  }
}

/** @throws {TypeError} If the answer broke off. */
async function copy(pieces: Pieces, target: Deno.FsFile, headers: Headers): Promise<void> {
  const announced = Number(headers.get("content-length") ?? NaN);
  const progress = Deno.stderr.isTerminal() ? new Progress(announced) : undefined;
  let size = 0;
  try {
    for await (const piece of pieces) {
      await writeAll(target, piece);
      size += piece.byteLength;
      progress?.show(size);
    }
  } finally {
    progress?.end();
  }
  // The length of a packed answer is that of the package.
  if (!headers.has("content-encoding") && announced >= 0 && size !== announced) {
    throw new TypeError(`The answer broke off after ${size} of ${announced} bytes; try again`);
  }
}

/** One line on the terminal that is written over, at most ten times a second. */
class Progress {
  readonly #total: number;
  #last = -Infinity;

  constructor(total: number) {
    this.#total = total;
  }

  show(size: number): void {
    const now = performance.now();
    if (now - this.#last < 100) return;
    this.#last = now;
    const of = this.#total > 0 ? ` of ${megabytes(this.#total)}` : "";
    this.#write(`\r\u001b[K${megabytes(size)}${of}`);
  }

  end(): void {
    this.#write("\r\u001b[K");
  }

  #write(text: string): void {
    Deno.stderr.writeSync(new TextEncoder().encode(text));
  }
}

function megabytes(size: number): string {
  return `${(size / 1_000_000).toFixed(1)} MB`;
}
