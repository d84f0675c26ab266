/** The machine on which the figures were measured, as far as the system reports it. */
export interface Machine {
  readonly processor: string;
  readonly cores: number;
  readonly memoryGib: number;
  readonly system: string;
  readonly deno: string;
  /** Mean number of running processes in the last minute, as a measure of other load. */
  readonly load: number;
}

export function describeMachine(): Machine {
  return {
    processor: processorName(),
    cores: navigator.hardwareConcurrency,
    memoryGib: Math.round(Deno.systemMemoryInfo().total / 2 ** 30),
    system: `${Deno.build.os} ${Deno.build.arch}`,
    deno: Deno.version.deno,
    load: Deno.loadavg()[0] ?? 0,
  };
}

export function machineText(machine: Machine): string {
  const { cores, deno, load, memoryGib, processor, system } = machine;
  return `${processor}, ${cores} cores, ${memoryGib} GiB, ${system}, Deno ${deno}; ` +
    `load ${load.toFixed(1)} at the start.`;
}

function processorName(): string {
  try {
    const text = Deno.readTextFileSync("/proc/cpuinfo");
    return /^model name\s*: (.*)$/m.exec(text)?.[1] ?? "unknown processor";
  } catch {
    return "unknown processor";
  }
}
