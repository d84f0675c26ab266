/** The assertions of Deno's standard library, as others publish them on npm. */
// @ts-types="./assert.d.ts"
export * from "npm:deno-std@^1.4/assert/mod.js";
