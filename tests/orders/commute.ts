import type { Event } from "./gates.ts";
import type { History } from "./state_names.ts";

/**
 * Whether two events that may both happen lead to the same state in either order. They do if they are
 * of different calls, and nothing that one of them changes is read or changed by the other. What an
 * event read and changed is noted while it happens (`Gates.touch`), so nothing has to be guessed:
 *
 * | event                                        | touches                                           |
 * | -------------------------------------------- | ------------------------------------------------- |
 * | a request arrives at the provider            | the login that it is about; a sign-out: all       |
 * | a call to the API is judged                  | reads the login of its token                      |
 * | the lock is taken or freed                   | the lock                                          |
 * | a look at the store, a write                 | reads or changes the store                        |
 * | any event that a call goes on by             | what its session remembers: reads it, and changes |
 * |                                              | it if it is another one afterwards                |
 * | an abort, a crash                            | changes what its session remembers                |
 * | an end of tokens, a jump of the clock, and   | commutes with nothing                             |
 * | all else that concerns every session         |                                                   |
 *
 * Two requests about different logins commute, as do the answer to one call and the pause of another.
 */
export function commute(a: Event, b: Event): boolean {
  if (a.session === undefined || b.session === undefined) return false;
  const areSeen = a.isSeen !== false && b.isSeen !== false;
  if (areSeen && a.session === b.session && a.call === b.call) return false;
  return [...a.touched].every(([what, how]) => {
    const other = b.touched.get(what);
    return other === undefined || (how === "read" && other === "read");
  });
}

/** Notes what became of the memory of the event's session, which its calls share. */
export function withMemory(event: Event, before: History, after: History): Event {
  const { session, call, isSeen, touched } = event;
  // A request that arrives is nothing that its session goes on by.
  if (session === undefined || isSeen === false) return event;
  const isSame = call !== undefined && before.memories[session] === after.memories[session];
  const memory = [`memory ${session}`, isSame ? "read" : "written"] as const;
  return { ...event, touched: new Map([...touched, memory]) };
}
