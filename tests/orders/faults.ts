import type { SessionStore } from "../../src/session/store.ts";
import type { Wrap } from "./order.ts";

/** While a session works in a transaction it does not see what others wrote before. */
export const hidesNews: Wrap = (store) => {
  let known = store.read();
  let isInTransaction = false;
  return {
    read: () => isInTransaction ? known : known = store.read(),
    transaction: (work, wait) =>
      store.transaction(async (transaction) => {
        isInTransaction = true;
        return await work(transaction).finally(() => isInTransaction = false);
      }, wait),
  };
};

/** A write replaces whatever others wrote meanwhile. */
export const comparesNothing: Wrap = (store) => ({
  read: () => store.read(),
  transaction: (work, wait) =>
    store.transaction(
      (transaction) =>
        work({ ...transaction, write: (tokens) => transaction.write(tokens, "change") }),
      wait,
    ),
});

/** A lock that many have at once. */
export const locksNobody: Wrap = (store): SessionStore => ({
  read: () => store.read(),
  transaction: (work, wait) =>
    work({
      lock: "held",
      write: (tokens, by) =>
        store.transaction((transaction) => transaction.write(tokens, by), wait),
    }),
});
