import type { SessionStore, Stored } from "../../src/session/store.ts";
import type { Wrap } from "./order.ts";

/** While a session works in a transaction it does not see what others wrote before. */
export const hidesNews: Wrap = (store) => {
  let known: Stored | undefined;
  const read = () => known = store.read();
  return {
    read,
    transaction: (work, wait) =>
      store.transaction(
        (transaction) => work({ ...transaction, stored: known ?? read() }),
        wait,
      ),
  };
};

/** A write replaces whatever others wrote meanwhile. */
export const comparesNothing: Wrap = (store) => ({
  read: () => store.read(),
  transaction: (work, wait) =>
    store.transaction(
      (transaction) => work({ ...transaction, write: (tokens) => transaction.write(tokens, true) }),
      wait,
    ),
});

/** A lock that many have at once. */
export const locksNobody: Wrap = (store): SessionStore => ({
  read: () => store.read(),
  transaction: (work, wait) =>
    work({
      lock: "held",
      stored: store.read(),
      write: (tokens, over) =>
        store.transaction((transaction) => transaction.write(tokens, over), wait),
    }),
});
