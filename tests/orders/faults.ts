import type { TokenStore } from "../../src/session/store.ts";
import type { Wrap } from "./order.ts";

function changed(store: TokenStore, changes: Partial<TokenStore>): TokenStore {
  return {
    place: store.place,
    peek: () => store.peek(),
    update: (wait, change) => store.update(wait, change),
    ...changes,
  };
}

/** During an update, a session does not see what others wrote before. */
export const hidesNews: Wrap = (store) => {
  let known = store.peek();
  let isUpdating = false;
  const peek = () => isUpdating ? known : known = store.peek();
  return changed(store, {
    peek,
    update: async (wait, change) => {
      const updated = await store.update(wait, async (_, lock) => {
        isUpdating = true;
        return await change(known, lock);
      }).finally(() => isUpdating = false);
      return { ...updated, stored: known = updated.stored };
    },
  });
};

/** A write replaces whatever others wrote meanwhile. */
export const comparesNothing: Wrap = (store) =>
  changed(store, {
    update: (wait, change) =>
      store.update(wait, async (now, lock) => {
        const write = await change(now, lock);
        return write && { ...write, isFinal: true };
      }),
  });

/** A lock that many have at once. */
export const locksNobody: Wrap = (store) =>
  changed(store, {
    update: async (wait, change) => {
      const stored = store.peek();
      const write = await change(stored, { isHeld: true });
      return write ? await store.update(wait, () => Promise.resolve(write)) : { stored };
    },
  });
