import { assert, assertEquals, assertRejects, assertStringIncludes } from "@std/assert";
import { inFolder } from "../support/child_deno.ts";
import { withEnvironment } from "../support/environment.ts";
import {
  CellTimeoutError,
  type Kernel,
  KernelDiedError,
  type KernelOptions,
  startKernel,
} from "./kernel.ts";

const NEVER = "await new Promise((resolve) => setTimeout(resolve, 600_000))";

function withKernel(
  run: (kernel: Kernel, folder: string) => Promise<void>,
  options: Partial<KernelOptions> = {},
): Promise<void> {
  return inFolder(async (folder) => {
    await using kernel = await startKernel({
      cwd: folder,
      ...options,
      env: { NO_COLOR: "1", ...options.env },
    });
    await run(kernel, folder);
  });
}

const value = (text: string, execution_count: number) => ({
  output_type: "execute_result",
  data: { "text/plain": text },
  metadata: {},
  execution_count,
});
const printed = (text: string, name = "stdout") => ({ output_type: "stream", name, text });

Deno.test("execute() gives what a cell shows, its error, its prompts and its number", () =>
  withKernel(async (kernel) => {
    const shown = await kernel.execute(`
      console.log("one");
      console.log("two");
      console.error("careful");
      ({ rows: 3 });
    `);
    const outputs = [
      printed("one\ntwo\n"),
      printed("careful\n", "stderr"),
      value("{ rows: 3 }", 1),
    ];
    assertEquals(shown, { status: "ok", executionCount: 1, inputs: [], outputs } as typeof shown);

    await kernel.execute("const rows = [1, 2]; rows.push(3);");
    assertEquals((await kernel.execute("rows.length")).outputs, [value("3", 3)] as never);

    const thrown = await kernel.execute(`console.log("before"); throw new TypeError("bad input");`);
    assertEquals([thrown.status, thrown.ename, thrown.evalue], ["error", "TypeError", "bad input"]);
    assertStringIncludes(thrown.traceback?.join("\n") ?? "", "TypeError: bad input");
    assertEquals(thrown.outputs.map((output) => output.output_type), ["stream", "error"]);

    const unparsed = await kernel.execute("const = 3");
    assertEquals([unparsed.status, unparsed.outputs], ["error", []], "the kernel shows nothing");

    const asked = await kernel.execute(
      `const name = prompt("Name");
       const password = prompt("Password", "", { password: true });
       console.log(name, password.length);`,
      { onInput: (_prompt, password) => password ? " secret " : "ada" },
    );
    const inputs = asked.inputs.map(({ prompt, password }) => [prompt.trim(), password]);
    assertEquals(inputs.map(([, password]) => password), [false, true]);
    assertStringIncludes(String(inputs), "Password");
    assertEquals(asked.outputs, [printed("ada 8\n")] as never);

    const unasked = await kernel.execute(`console.log(prompt("Name"));`);
    assertEquals([unasked.inputs, unasked.outputs], [[], [printed("null\n")] as never]);

    const large = await kernel.execute(`console.log("x".repeat(1_000_000));`);
    const text = large.outputs.map((output) => output.output_type === "stream" && output.text);
    assertEquals(text.join("").length, 1_000_001);
  }));

Deno.test("execute() rejects with what onInput throws, and close() still works", async () => {
  await withKernel(async (kernel) => {
    const refuse = (): never => {
      throw new Error("Nothing may be asked here");
    };
    await assertRejects(
      () => kernel.execute(`prompt("Name")`, { onInput: refuse }),
      Error,
      "Nothing may be asked here",
    );
    await kernel.close();
    assertEquals(kernel.alive, false);
  });
});

Deno.test("execute() gives an asynchronous HTML value to its own cell", async () => {
  await withKernel(async (kernel) => {
    for (let n = 1; n <= 10; n++) {
      const result = await kernel.execute(`
        await new Promise((resolve) => setTimeout(resolve, 2));
        ({
          async [Symbol.for("Jupyter.display")]() {
            await new Promise((resolve) => setTimeout(resolve, 0));
            return { "text/plain": "card ${n}", "text/html": "<b>card ${n}</b>" };
          },
        })
      `);
      assertEquals(result.outputs, [{
        output_type: "execute_result",
        data: { "text/plain": `card ${n}`, "text/html": `<b>card ${n}</b>` },
        metadata: {},
        execution_count: n,
      }]);
    }
  });
});

Deno.test("execute() applies an update to the display that has the id, also from a later cell", async () => {
  await withKernel(async (kernel) => {
    await kernel.execute(`
      const show = (type, text) => Deno.jupyter.broadcast(type, {
        data: { "text/plain": text },
        metadata: {},
        transient: { display_id: "progress" },
      });
    `);
    const first = await kernel.execute(`
      await show("display_data", "1 of 3");
      console.log("working");
      await show("update_display_data", "2 of 3");
    `);
    const plain = (): unknown =>
      first.outputs.map((output) =>
        "data" in output ? output.data["text/plain"] : output.output_type
      );
    assertEquals(plain(), ["2 of 3", "stream"]);
    const second = await kernel.execute(`await show("update_display_data", "3 of 3");`);
    assertEquals(second.outputs, []);
    assertEquals(plain(), ["3 of 3", "stream"]);
  });
});

Deno.test("execute() gives up on a cell that does not end and keeps what it printed", async () => {
  await withKernel(async (kernel) => {
    const error = await assertRejects(
      () => kernel.execute(`console.log("started"); ${NEVER}`, { timeoutMs: 3_000 }),
      CellTimeoutError,
      "The cell did not end within 3000 ms",
    );
    assertEquals(error.outputs, [{ output_type: "stream", name: "stdout", text: "started\n" }]);
    await kernel.close();
    assertEquals(kernel.alive, false);
  });
});

Deno.test("execute() refuses a second cell while one runs, and any after close()", async () => {
  await withKernel(async (kernel) => {
    const first = kernel.execute("1");
    await assertRejects(() => kernel.execute("2"), Error, "await the one before");
    assertEquals((await first).status, "ok");
    await kernel.close();
    await assertRejects(() => kernel.execute("3"), Error, "the kernel is closed");
  });
});

Deno.test("the end of the kernel is an error of the running cell, and of any later one", async () => {
  await withKernel(async (kernel) => {
    assert(kernel.alive);
    const running = kernel.execute(`prompt("now"); ${NEVER}`, {
      onInput: () => {
        kernel.interrupt();
        return "";
      },
    });
    await assertRejects(() => running, KernelDiedError, "SIGINT");
    assertEquals(kernel.alive, false);
    await assertRejects(() => kernel.execute("1"), KernelDiedError, "SIGINT");
  });
  await withKernel(async (kernel) => {
    const died = "The kernel died (exit status 7)";
    await assertRejects(() => kernel.execute("Deno.exit(7)"), KernelDiedError, died);
  });
});

Deno.test("startKernel() passes the environment and the working folder on", async () => {
  await withKernel(async (kernel, folder) => {
    const result = await kernel.execute(
      `console.log(Deno.env.get("STATION"), Deno.cwd(), Deno.pid);`,
    );
    const text = `north-7 ${await Deno.realPath(folder)} ${kernel.pid}\n`;
    assertEquals(result.outputs, [{ output_type: "stream", name: "stdout", text }]);
  }, { env: { STATION: "north-7" } });
});

Deno.test("startKernel() with clearEnv starts from the given variables only", async () => {
  const env = Deno.env.toObject();
  await withEnvironment({ KERNEL_TEST_MARK: "1" }, async () => {
    await withKernel(async (kernel) => {
      const result = await kernel.execute(`console.log(Deno.env.has("KERNEL_TEST_MARK"));`);
      assertEquals(result.outputs, [{ output_type: "stream", name: "stdout", text: "false\n" }]);
    }, { clearEnv: true, env });
  });
});

Deno.test("startKernel() in a folder that does not exist says so", async () => {
  const folder = await Deno.makeTempDir();
  await Deno.remove(folder);
  await assertRejects(() => startKernel({ cwd: folder }), Deno.errors.NotFound);
});
