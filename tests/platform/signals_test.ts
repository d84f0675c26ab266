import { assertEquals } from "@std/assert";
import { inFolder, runScript } from "../support/child_deno.ts";
import { NO_SIGNALS, subject } from "../support/needs.ts";

const SIGNALS = JSON.stringify(new URL("../../src/platform/signals.ts", import.meta.url).href);

/** The output of a script whose cleanup prints a line, and its exit status. */
async function ran(ending: string, afterwards = ""): Promise<[string, number]> {
  const script = `
    import { cleanUpAtExit } from ${SIGNALS};
    {
      using _ = cleanUpAtExit(() => console.log("cleaned up"));
      ${ending}
    }
    ${afterwards}
    console.log("went on");`;
  return await inFolder(async (cwd) => {
    const { stdout, code } = await runScript(script, { cwd, flags: ["-A"] });
    return [stdout, code];
  });
}

Deno.test("cleanUpAtExit() runs the cleanup if the script calls Deno.exit()", async () => {
  assertEquals(await ran("Deno.exit(7);"), ["cleaned up\n", 7]);
  assertEquals(await ran(""), ["went on\n", 0]);
});

subject(NO_SIGNALS, "signals that end a script", (test) => {
  test("cleanUpAtExit() runs the cleanup on a signal, and the exit status shows the signal", async () => {
    for (const [signal, code] of [["SIGHUP", 129], ["SIGINT", 130], ["SIGTERM", 143]] as const) {
      const ending =
        `Deno.kill(Deno.pid, "${signal}"); await new Promise(() => setTimeout(() => {}, 20_000));`;
      assertEquals(await ran(ending), ["cleaned up\n", code]);
    }
  });

  test("after cleanUpAtExit() is disposed of, the script can handle signals itself", async () => {
    for (const signal of ["SIGHUP", "SIGINT", "SIGTERM"]) {
      const afterwards = `
        const kept = setTimeout(() => {}, 20_000);
        await new Promise((resolve) => {
          Deno.addSignalListener("${signal}", resolve);
          Deno.kill(Deno.pid, "${signal}");
        });
        clearTimeout(kept);`;
      assertEquals(await ran("", afterwards), ["went on\n", 0]);
    }
  });
});
