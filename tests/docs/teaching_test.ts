import { assertEquals } from "@std/assert";
import { inFolder } from "../support/child_deno.ts";
import { documentText } from "../support/documented_flags.ts";
import { lackOf, testNeeding } from "../support/needs.ts";

testNeeding(
  await lackOf("git", "--version"),
  "between two groups git takes back what one left, also where it stopped half way",
  () =>
    inFolder(async (cwd) => {
      const git = async (line: string) => {
        const args = [
          "-c",
          "user.name=Ada",
          "-c",
          "user.email=ada@example.org",
          ...line.split(" "),
        ];
        const { success, stdout, stderr } = await new Deno.Command("git", { args, cwd }).output();
        const [shown, problem] = [stdout, stderr].map((bytes) => new TextDecoder().decode(bytes));
        assertEquals([success, problem], [true, ""], line);
        return shown;
      };
      const write = (path: string, text: string) => Deno.writeTextFile(`${cwd}/${path}`, text);
      for (const folder of ["weather", "downloads/days"]) {
        await Deno.mkdir(`${cwd}/notebooks/${folder}`, { recursive: true });
      }
      // Without templates: git warns where they are not installed.
      await git("init --quiet --template=");
      await write("notebooks/00.ipynb", "as it was");
      await write(
        ".gitignore",
        Deno.readTextFileSync(new URL("../../.gitignore", import.meta.url)),
      );
      await git("add .");
      await git("commit --quiet --message=class");

      await write("notebooks/00.ipynb", "with answers");
      await write("notebooks/downloads/days/2025-03-01.csv", "1");
      await write("notebooks/weather/hours.parquet", "1");
      await write("notebooks/.env", "USERNAME=teacher");
      const [, section = ""] = documentText("docs/teaching.md").split("## Between two groups\n");
      const [text = ""] = section.split("\n## ");
      for (const [, line = ""] of text.replace(/\n\s+/g, " ").matchAll(/`git ([^`]+)`/g)) {
        await git(line);
      }
      assertEquals(await Deno.readTextFile(`${cwd}/notebooks/00.ipynb`), "as it was");
      const left = [...Deno.readDirSync(`${cwd}/notebooks`)].map(({ name }) => name).sort();
      assertEquals(left, [".env", "00.ipynb"]);
    }),
);
