import { filePath, fileUrl, folderOf, workingFolder } from "../platform/paths.ts";
import { isForeign, lookAt, mayRead } from "../platform/look.ts";

/** More folders than that below the working folder are not a project. */
const MAX_FOLDERS = 100;

/**
 * The `.env` files where people expect that one is found: beside the script, in the folders above the
 * working folder, also beyond the project root, and in those right below it. Looks only where that needs
 * no permission prompt, and passes over files of other users.
 */
export function* envFilesNearby(): Generator<string> {
  const here = workingFolder();
  const around = here === undefined ? [] : [...foldersAbove(here), ...foldersBelow(here)];
  for (const folder of [...scriptFolder(), ...around]) {
    const path = `${folder}.env`;
    const info = lookAt(path);
    if (info?.isFile && !isForeign(path, info)) yield path;
  }
}

function scriptFolder(): string[] {
  const { mainModule } = Deno;
  return mainModule.startsWith("file:") ? [folderOf(filePath(new URL(mainModule)))] : [];
}

function foldersAbove(folder: string): string[] {
  const above = filePath(new URL("..", fileUrl(folder)));
  return above === folder ? [] : [above, ...foldersAbove(above)];
}

function foldersBelow(here: string): string[] {
  if (!mayRead(here)) return [];
  try {
    return [...Deno.readDirSync(here)]
      .filter(({ name, isDirectory }) => isDirectory && name !== "node_modules")
      .slice(0, MAX_FOLDERS)
      .map(({ name }) => folderOf(`${here}${name}/.env`));
  } catch {
    return [];
  }
}
