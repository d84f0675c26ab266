/** Exit statuses. */
export const FAILED = 1;
export const USAGE = 2;
export const LOGIN_NEEDED = 3;

/** A failure of the command line itself, and what to do. */
export class CommandLineError extends Error {
  constructor(override readonly name: string, readonly problem: string, readonly fix?: string) {
    super(fix === undefined ? problem : `${problem}; ${fix}`);
  }

  toJSON(): object {
    const { name, problem, fix } = this;
    return { name, problem, fix };
  }
}

/** Wrong arguments. */
export class UsageError extends CommandLineError {
  constructor(problem: string, fix?: string) {
    super("UsageError", problem, fix);
  }
}
