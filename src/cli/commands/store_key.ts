import { defineCommand } from "../command.ts";
import { OK, print, printJson } from "../output.ts";
import { newStoreKey } from "../../session/cluster/sealing.ts";

export const command = defineCommand({
  summary: "make a key for a store that many machines share",
  description: `Makes a key that encrypts the tokens in a store (AUTH_STORE), and prints it.
Set the same one on all machines. Treat it as a password.`,
  options: {},
  examples: ['export AUTH_STORE_KEY="$(platform-auth store-key)"'],
  async run({ json }) {
    const key = newStoreKey();
    await (json ? printJson({ key }) : print(key));
    return OK;
  },
});
