let kernel: boolean | undefined;

/**
 * Whether the code runs in a notebook kernel. Elsewhere reading `Deno.jupyter` throws, so it is read
 * once.
 */
export function inKernel(): boolean {
  return kernel ??= hasKernel();
}

function hasKernel(): boolean {
  try {
    return typeof Deno.jupyter?.display === "function";
  } catch {
    return false;
  }
}
