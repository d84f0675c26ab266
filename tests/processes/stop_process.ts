import { assertEquals } from "@std/assert";

/** Stops a process, as a laptop does that is closed, or lets it go on. */
export function stop(child: Deno.ChildProcess, isStopped: boolean): void {
  if (Deno.build.os !== "windows") return child.kill(isStopped ? "SIGSTOP" : "SIGCONT");
  const kernel = Deno.dlopen("kernel32.dll", {
    OpenProcess: { parameters: ["u32", "i32", "u32"], result: "pointer" },
    CloseHandle: { parameters: ["pointer"], result: "i32" },
  });
  const system = Deno.dlopen("ntdll.dll", {
    NtSuspendProcess: { parameters: ["pointer"], result: "i32" },
    NtResumeProcess: { parameters: ["pointer"], result: "i32" },
  });
  const suspendAndResume = 0x800;
  const handle = kernel.symbols.OpenProcess(suspendAndResume, 0, child.pid);
  const { NtSuspendProcess, NtResumeProcess } = system.symbols;
  const status = (isStopped ? NtSuspendProcess : NtResumeProcess)(handle);
  kernel.symbols.CloseHandle(handle);
  kernel.close();
  system.close();
  assertEquals(status, 0);
}
