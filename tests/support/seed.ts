/**
 * The seed of tests that try random inputs: fixed, so that each run tries the same ones; another each
 * time with SOAK set. A failure prints it.
 */
export const SEED: number = Deno.env.get("SOAK") ? Date.now() % 2 ** 31 : 1;
