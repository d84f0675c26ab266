import { compare } from "./interleave.ts";
import { type Part, rounds } from "./part.ts";
import { releasedFolder } from "./released.ts";
import { ratioTarget } from "./report.ts";
import { compete, denoContender, releasedContender, tableOf } from "./subjects.ts";

const ROUNDS = 200;

/** The cost of `import`, compared with that of zod alone: whole processes that do nothing else. */
export const importCost: Part = async (effort) => {
  const released = `${await releasedFolder()}/mod.js`;
  const folder = await Deno.makeTempDir({ prefix: "bench-" });
  try {
    const contenders = [
      await denoContender("zod alone", "subjects/import_zod.ts", folder),
      await releasedContender("released file", "subjects/import_ours.ts", folder, released),
      await denoContender("source", "subjects/import_ours.ts", folder),
      await denoContender("nothing", "subjects/import_nothing.ts", folder),
    ];
    const samples = await compete(contenders, rounds(ROUNDS, effort));
    const summaries = compare(samples, "zod alone");
    const ours = summaries.get("released file");
    return {
      part: "import",
      tables: [await tableOf("Import", contenders, summaries)],
      targets: ratioTarget("import of the released file over import of zod", ours, 0.6),
    };
  } finally {
    await Deno.remove(folder, { recursive: true });
  }
};
