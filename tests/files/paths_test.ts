import { assertEquals } from "@std/assert";
import { withEnvironment } from "../support/environment.ts";
import { fc } from "../support/property.ts";
import { join, sep as SEPARATOR, win32 } from "node:path";
import { displayPath, filePath, fileUrl, folderOf, workingFolder } from "../../src/files/paths.ts";

Deno.test("a Windows path becomes a file URL and back", () => {
  const names = fc.string({ unit: fc.constantFrom(..."ab. %#&+'é🌊"), minLength: 1, maxLength: 8 })
    .filter((text) => !/^[. ]+$|[. ]$/.test(text));
  const root = fc.constantFrom("C:\\", "d:/", "\\\\server\\share\\");
  const path = fc.tuple(root, fc.array(names, { minLength: 1, maxLength: 4 }));
  fc.assert(
    fc.property(path, ([start, parts]) => {
      const given = start + parts.join("\\");
      assertEquals(filePath(fileUrl(given, true), true), win32.normalize(given));
    }),
    { numRuns: 2_000 },
  );
});

Deno.test("the path of a Windows share on localhost remains the path of a share", () => {
  const path = filePath(fileUrl("\\\\LocalHost\\C$\\my data\\.env", true), true);
  assertEquals(path, "\\\\127.0.0.1\\C$\\my data\\.env");
});

Deno.test("a relative path is resolved against the working folder", () => {
  const here = Deno.cwd();
  assertEquals(workingFolder(), here + SEPARATOR);
  assertEquals(filePath(fileUrl("my.env")), join(here, "my.env"));
  assertEquals(filePath(fileUrl("./a//b/../c d ")), join(here, "a", "c d "));
  const drive = Deno.build.os === "windows" ? "C:\\x.env" : `${here}/C:/x.env`;
  assertEquals(filePath(fileUrl("C:/x.env")), drive);
});

Deno.test("folderOf() returns the folder with a separator at its end", () => {
  const root = Deno.build.os === "windows" ? "C:\\" : "/";
  assertEquals(folderOf(join(root, "a b", "c%20", ".env")), join(root, "a b", "c%20") + SEPARATOR);
  assertEquals(folderOf(`${root}.env`), root);
  assertEquals(filePath(fileUrl("//", false), false), "/");
  assertEquals(filePath(fileUrl("//a//b", false), false), "/a/b");
});

Deno.test("displayPath() hides the folders above the working folder and the home folder", async () => {
  const [home, temporary] = [join(Deno.cwd(), "..", "home"), join(Deno.cwd(), "..", "tmp")];
  await withEnvironment({ HOME: home, TMPDIR: temporary }, () => {
    assertEquals(displayPath(join(Deno.cwd(), "a", ".env")), "a/.env");
    assertEquals(displayPath(join(home, "a", ".env")), "~/a/.env");
    assertEquals(displayPath(join(temporary, "a", ".env")), "a temporary folder: .env");
    const other = join(home, "..", ".env");
    assertEquals(displayPath(other), other);
    assertEquals(displayPath(undefined), "memory only");
  });
});
