/** A user to add to the sandbox. */
export interface NewUser {
  /** Name to log in with, except with `aliasSignIn`. */
  username: string;
  /** Any text that is not empty. */
  password: string;
  /** Needed with `aliasSignIn`, where people log in with it. */
  email?: string;
  /** `"unconfirmed"` and `"reset-required"` users are turned away at login. Default `"confirmed"`. */
  status?: UserStatus;
}

/** State of a user in the pool. */
export type UserStatus = "confirmed" | "unconfirmed" | "reset-required";

/** A user as the provider knows it. */
export interface Account {
  /** Name on the provider's side: the `username` claim and what a refresh must hash. */
  readonly username: string;
  readonly sub: string;
  readonly email: string | undefined;
  readonly status: UserStatus;
}

/** What came of a name and a password. */
export type PasswordCheck =
  | { outcome: "ok"; account: Account }
  | { outcome: "wrong" }
  | { outcome: "locked"; seconds: number };

interface Entry {
  account: Account;
  password: string;
  failures: number;
  lockedUntil: number;
}

const LONGEST_LOCK_SECONDS = 900;

/** The users of the pool, their passwords and their lockout. */
export class Accounts {
  #byLoginName = new Map<string, Entry>();
  #options: { aliasSignIn: boolean; lockoutAfter: number | undefined; now: () => number };

  constructor(
    options: { aliasSignIn: boolean; lockoutAfter: number | undefined; now: () => number },
  ) {
    this.#options = options;
  }

  /**
   * Adds a user. With `aliasSignIn` the provider names the user by a UUID.
   *
   * @throws {TypeError} A field is missing or the name is taken.
   */
  add(user: NewUser): Account {
    for (
      const [name, value] of Object.entries({ username: user.username, password: user.password })
    ) {
      if (typeof value !== "string" || value === "") {
        throw new TypeError(`Cannot add the user: "${name}" must be a text that is not empty`);
      }
    }
    const alias = this.#options.aliasSignIn;
    if (alias && !user.email?.includes("@")) {
      throw new TypeError('Cannot add the user: with "aliasSignIn" an "email" address is needed');
    }
    const sub = crypto.randomUUID();
    const account: Account = {
      username: alias ? sub : user.username,
      sub,
      email: user.email,
      status: user.status ?? "confirmed",
    };
    const loginNames = alias ? [sub, user.email ?? sub] : [user.username];
    const taken = loginNames.find((name) => this.#byLoginName.has(name));
    if (taken !== undefined) {
      throw new TypeError(`Cannot add the user: there is already one named "${taken}"`);
    }
    const entry = { account, password: user.password, failures: 0, lockedUntil: 0 };
    for (const name of loginNames) this.#byLoginName.set(name, entry);
    return account;
  }

  /**
   * Finds a user by any name that can be logged in with; the provider's own is one.
   *
   * @throws {TypeError} There is no such user.
   */
  find(name: string): Account {
    const entry = this.#byLoginName.get(name);
    if (entry !== undefined) return entry.account;
    throw new TypeError(`Cannot find the user "${name}": add it first with addUser()`);
  }

  /** Checks a password and counts failures; a locked user is not judged at all. */
  checkPassword(loginName: string, password: string): PasswordCheck {
    const entry = this.#byLoginName.get(loginName);
    if (entry === undefined) return { outcome: "wrong" };
    const now = this.#options.now();
    if (now < entry.lockedUntil) {
      return { outcome: "locked", seconds: Math.ceil((entry.lockedUntil - now) / 1000) };
    }
    if (entry.password === password) {
      entry.failures = 0;
      return { outcome: "ok", account: entry.account };
    }
    entry.failures++;
    const limit = this.#options.lockoutAfter;
    if (limit !== undefined && entry.failures >= limit) {
      const seconds = Math.min(2 ** (entry.failures - limit), LONGEST_LOCK_SECONDS);
      entry.lockedUntil = now + seconds * 1000;
    }
    return { outcome: "wrong" };
  }
}
