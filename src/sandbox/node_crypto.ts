/**
 * Node's cryptography, loaded with the sandbox. In the command line's single file, an `import` would
 * load it for every command, which takes 20 ms.
 */
export const { createHash, createHmac, timingSafeEqual } = process.getBuiltinModule("node:crypto");
