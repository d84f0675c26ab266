import { assert } from "@std/assert";

/** Windows has no signal for it. Another process does it: tests may not call libraries of the system. */
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

/** Stops a process, as a laptop does that is closed, or lets it go on. */
export async function stop(child: Deno.ChildProcess, isStopped: boolean): Promise<void> {
  if (Deno.build.os !== "windows") return child.kill(isStopped ? "SIGSTOP" : "SIGCONT");
  const name = isStopped ? "NtSuspendProcess" : "NtResumeProcess";
  const args = ["eval", "--no-lock", ON_WINDOWS, String(child.pid), name];
  assert((await new Deno.Command(Deno.execPath(), { args }).output()).success);
}
