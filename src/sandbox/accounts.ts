/** A user to add to the sandbox. */
export interface NewUser {
  /** Name to log in with, except with `aliasSignIn`. */
  username: string;
  /** Any text that is not empty. */
  password: string;
  /** The name to log in with, if the sandbox has `aliasSignIn`. */
  email?: string;
  /** `"unconfirmed"` and `"reset-required"` users cannot log in. Default `"confirmed"`. */
  status?: UserStatus;
}

/** State of a user in the pool. */
export type UserStatus = "confirmed" | "unconfirmed" | "reset-required";

/** A user as the provider knows it. */
export interface Account {
  /** The provider's own name: the `username` claim, and the name in a refresh's SECRET_HASH. */
  readonly username: string;
  readonly sub: string;
  readonly email: string | undefined;
  readonly status: UserStatus;
}

/** Result of a check of name and password. */
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
   * Adds a user. With `aliasSignIn`, the provider's own name for the user is a UUID.
   *
   * @throws {TypeError} A field is missing or the name is taken.
   */
  add(user: NewUser): Account {
    for (
      const [name, value] of Object.entries({ username: user.username, password: user.password })
    ) {
      if (typeof value !== "string" || value === "") {
        throw new TypeError(`Cannot add the user: "${name}" must be a text, not empty`);
      }
    }
    const alias = this.#options.aliasSignIn;
    if (alias && !user.email?.includes("@")) {
      throw new TypeError(
        'Cannot add the user: with "aliasSignIn", users log in by e-mail; give an "email"',
      );
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
      throw new TypeError(`Cannot add the user: the name "${taken}" is taken; choose another one`);
    }
    const entry = { account, password: user.password, failures: 0, lockedUntil: 0 };
    for (const name of loginNames) this.#byLoginName.set(name, entry);
    return account;
  }

  /**
   * Finds a user by any name that a login takes; the provider's own name is one of them.
   *
   * @throws {TypeError} There is no such user.
   */
  find(name: string): Account {
    const entry = this.#byLoginName.get(name);
    if (entry !== undefined) return entry.account;
    throw new TypeError(`Cannot find the user "${name}": add it first with addUser()`);
  }

  /** Checks a password and counts failures. While a user is locked, no password is checked. */
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
