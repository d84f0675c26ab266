import { compete, tableOf } from "./cold_start.ts";
import { type Part, rounds } from "./part.ts";
import { denoContender } from "./subjects.ts";

const ROUNDS = 20;

/** What `import` of the module costs, beside zod alone: whole processes that do nothing else. */
export const importCost: Part = async (effort) => {
  const folder = await Deno.makeTempDir({ prefix: "bench-" });
  try {
    const contenders = [
      await denoContender("zod alone", "subjects/import_zod.ts", folder),
      await denoContender("mod.ts", "subjects/import_ours.ts", folder),
      await denoContender("nothing", "subjects/import_nothing.ts", folder),
    ];
    const summaries = await compete(contenders, rounds(ROUNDS, effort));
    return {
      part: "import",
      tables: [await tableOf("Import", contenders, summaries)],
      targets: [{
        claim: "import of mod.ts over import of zod",
        measured: summaries.get("mod.ts")?.ratio ?? NaN,
        limit: 1.25,
        wanted: "at most" as const,
        unit: " ×",
      }],
      data: Object.fromEntries(summaries),
    };
  } finally {
    await Deno.remove(folder, { recursive: true });
  }
};
