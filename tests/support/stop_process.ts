import { assert } from "@std/assert";

/** Windows has no signal to suspend a process, and tests may not call system libraries: a child does. */
const ON_WINDOWS = `
  const [pid, name] = Deno.args;
  const { symbols: kernel } = Deno.dlopen("kernel32.dll", {
    OpenProcess: { parameters: ["u32", "i32", "u32"], result: "pointer" },
  });
  const { symbols: system } = Deno.dlopen("ntdll.dll", {
    [name]: { parameters: ["pointer"], result: "i32" },
  });
  const suspendAndResume = 0x800;
  Deno.exit(system[name](kernel.OpenProcess(suspendAndResume, 0, Number(pid))) === 0 ? 0 : 1);`;

/** Suspends a process, as closing a laptop does, or resumes it. */
export async function stop(child: Deno.ChildProcess, isStopped: boolean): Promise<void> {
  if (Deno.build.os !== "windows") return child.kill(isStopped ? "SIGSTOP" : "SIGCONT");
  const name = isStopped ? "NtSuspendProcess" : "NtResumeProcess";
  const args = ["eval", "--no-lock", ON_WINDOWS, String(child.pid), name];
  assert((await new Deno.Command(Deno.execPath(), { args }).output()).success);
}
