import type { Answer } from "../command.ts";
import { newStoreKey } from "../../redis/sealing.ts";

export function run(): Promise<Answer> {
  const key = newStoreKey();
  return Promise.resolve({ value: { key }, text: key });
}
