/** Notebook files: read, write, compare, and search for what must not be committed. */

export { compareOutputs, describeOutputs, withoutAmounts } from "./compare_outputs.ts";
export {
  type Cell,
  type CodeCell,
  codeCells,
  formatNotebook,
  hasTag,
  type Notebook,
  type NumberedCodeCell,
  parseNotebook,
  readNotebook,
  stripVolatile,
  type TextCell,
  writeNotebook,
} from "./nbformat.ts";
export type { Output } from "./outputs.ts";
export { hideSecrets, scanForSecrets } from "./scan_for_secrets.ts";
