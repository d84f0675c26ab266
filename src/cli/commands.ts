import { type Command, command } from "./command.ts";

const session = () => import("./commands/session.ts");

/** All commands, in the order of the help. Only the file of the command that runs is loaded. */
export const COMMANDS: Readonly<Record<string, Command>> = {
  "init": command({
    summary: "write the settings of your account into a .env",
    description: `Writes the settings of your account into the .env, and checks them. Reads the
settings from the reply of your subscription's support channel, written as
KEY=value, "Client id: ..." or JSON, and prompts for missing ones. Shows which
settings it found, their hosts, and values that differ from the .env, but no
secret. Never replaces a value: to use a new one, first remove the line from
the .env. If it writes settings in a git work tree, it adds missing lines for
the .env to .gitignore.

With --global, writes the global .env. It is used wherever no other .env is
found, so that one login serves many folders.`,
    options: {
      from: {
        value: "<file>",
        help: "a text file with the reply; - is standard input.\nDefault: you paste it",
      },
      global: {
        help: "write platform-auth/.env in your configuration folder\n" +
          "($XDG_CONFIG_HOME, ~/.config, or %APPDATA% on Windows)",
      },
    },
    either: [["global", "env-file"]],
    examples: [
      "platform-auth init",
      "platform-auth init --global",
      "platform-auth init --from reply.txt",
    ],
    load: () => import("./commands/init.ts"),
  }),
  "login": command({
    summary: "sign in with a portal string, or with user name and password",
    description: `Signs in, and saves the tokens in the .env or the store. Without --portal,
--username, --stdin or --force, keeps a session that works. In a terminal,
prompts for further steps that the provider requires, such as a code or a new
password.`,
    options: {
      portal: { help: 'with the portal string, which "Copy Token" in the\nportal copies' },
      username: { value: "<name>", help: "with this user name instead of USERNAME" },
      stdin: {
        help: "read the portal string or the password from the\nfirst line of standard input",
      },
      force: { help: "log in even if the session is still valid" },
    },
    either: [["portal", "username"]],
    examples: [
      "platform-auth login",
      "platform-auth login --portal",
      "platform-auth login --username ada --stdin < password.txt",
    ],
    load: async () => ({ run: (await session()).runLogin }),
  }),
  "status": command({
    summary: "who is signed in, until when, and where the session is kept",
    description: `Shows who is signed in, until when, and where the session is kept. Sends
requests only if AUTH_STORE is set, to read the store. Refreshes nothing.`,
    options: {},
    examples: ["platform-auth status", "platform-auth status --json"],
    load: async () => ({ run: (await session()).runStatus }),
  }),
  "token": command({
    summary: "print a current access token and nothing else",
    description: `Prints a current access token and nothing else. Treat the token as a password.
If there is no session, logs in with the user name and password from the .env
or the environment. If AUTH_STORE is set, never logs in: a session in a store
is shared.

With --json, prints "access_token", "warnings" and, if known, "expires_at" and
"api_base_url".`,
    options: {
      "min-valid": {
        value: "<seconds>",
        help: "refresh first if the token expires sooner than this",
      },
    },
    examples: [
      "platform-auth token | sed 's/^/authorization: bearer /' | curl -H @- URL",
      "platform-auth token --min-valid 600",
    ],
    load: () => import("./commands/token.ts"),
  }),
  "fetch": command({
    summary: "call the API with the token",
    description: `Calls the API with the token and prints or saves the response. A terminal gets
indented JSON, but no binary data. With --list, saves many responses.

If there is no session, logs in with the user name and password from the .env
or the environment. If AUTH_STORE is set, never logs in: a session in a store
is shared.

A list has one path or URL per line, optionally followed by the name of the
file to save; the default is the last part of the path. A name may contain
spaces. Lines that start with # are ignored. By default, existing files are
kept. To resume, run the same command again.

With --json, prints status, headers and body. With --json and --list, prints
which files were saved, kept or failed.`,
    word: { name: "path or URL" },
    options: {
      method: { short: "X", value: "<method>", help: "default GET, or POST with --data" },
      header: {
        short: "H",
        multiple: true,
        value: "<header>",
        help: '"name: value"; may be given several times',
      },
      data: {
        short: "d",
        mayBeEmpty: true,
        value: "<text>",
        help: "the body; @file reads a file, - standard input",
      },
      include: { short: "i", help: "print the status and the headers before the body" },
      output: {
        short: "o",
        value: "<file>",
        help: "save the complete response in this file; after an\n" +
          "interruption the same command resumes, if the API\nallows it. - is standard output",
      },
      "if-exists": {
        value: "<what>",
        choices: ["error", "keep", "replace"],
        help: "what to do with an existing file: error, keep (sends\n" +
          "nothing) or replace. Default: error; with --list, keep",
      },
      list: {
        value: "<file>",
        help: "save the response of each line of this list;\n- is standard input",
      },
      "output-dir": {
        value: "<folder>",
        help: "folder for --list; default: the working folder",
      },
      concurrency: {
        value: "<count>",
        help: "number of --list downloads at the same time; default 4",
      },
    },
    either: [
      ["json", "output"],
      ["include", "json"],
      ["include", "output"],
      ["include", "list"],
      ["list", "output"],
      ["list", "data"],
      ["list", "method"],
    ],
    examples: [
      "platform-auth fetch /v1/stations",
      "platform-auth fetch /v1/stations/gull-harbor/observations.csv -o wind.csv",
      `platform-auth fetch /v1/annotations -d '{"text":"calm"}' \\
    -H "content-type: application/json"`,
      `ACCESS_TOKEN=… API_BASE_URL=https://api.example.com \\
    platform-auth fetch /v1/stations`,
      "platform-auth fetch --list urls.txt --output-dir data",
    ],
    load: () => import("./commands/fetch.ts"),
  }),
  "refresh": command({
    summary: "refresh now (rarely needed)",
    description: "Refreshes the session now, regardless of the time left.",
    options: {},
    examples: ["platform-auth refresh"],
    load: async () => ({ run: (await session()).runRefresh }),
  }),
  "logout": command({
    summary: "delete the tokens, and revoke the refresh token",
    description: `Removes the tokens from the .env or the store, and asks the provider to revoke
the refresh token.`,
    options: {
      everywhere: { help: "sign the account out on all devices" },
      "keep-remote": { help: "delete the tokens here only, and send nothing to the provider" },
    },
    either: [["everywhere", "keep-remote"]],
    examples: ["platform-auth logout", "platform-auth logout --everywhere"],
    load: async () => ({ run: (await session()).runLogout }),
  }),
  "doctor": command({
    summary: "check settings, file, clock, provider, API and token",
    description: `Checks settings, file, clock, provider, API and token, and prints one line per
check, with its fix. Does not change the session. With --json, prints a report
without secrets, which you can send along with a question.`,
    options: {
      login: { help: "also log in, refresh the tokens once and revoke them" },
    },
    examples: ["platform-auth doctor", "platform-auth doctor --login"],
    load: async () => ({ run: (await session()).runDoctor }),
  }),
  "notebook": command({
    summary: "write a notebook that signs in and calls the API",
    description: `Writes a notebook that signs in and calls the API, with the import that fits
its folder. A missing folder is created; an existing file is left unchanged.`,
    word: { name: "file" },
    options: {},
    examples: ["platform-auth notebook", "platform-auth notebook analysis/wind.ipynb"],
    load: () => import("./commands/notebook.ts"),
  }),
  "python": command({
    summary: "print platform_auth.py, for requests, httpx and pandas",
    description: `Prints a Python file with which the libraries requests, httpx and others send
the token. Save it next to your notebook or script. Works offline.`,
    options: {},
    examples: ["platform-auth python > platform_auth.py"],
    load: () => import("./commands/python.ts"),
  }),
  "explain": command({
    summary: "what a code means, and what to do",
    description: `Explains the code of an error or a notice, or an HTTP status of the API. Works
offline. Without a code, lists all codes.`,
    word: { name: "code" },
    options: {},
    examples: ["platform-auth explain INVALID_CREDENTIALS", "platform-auth explain 404"],
    load: () => import("./commands/explain.ts"),
  }),
  "completion": command({
    summary: "print a script that completes commands in your shell",
    description: `Prints a script with which the Tab key completes commands and options in your
shell: bash (default), zsh, fish or powershell.`,
    word: { name: "shell", choices: ["bash", "zsh", "fish", "powershell"] },
    options: {},
    examples: [
      `eval "$(platform-auth completion bash)"      # in ~/.bashrc`,
      `eval "$(platform-auth completion zsh)"       # in ~/.zshrc, after compinit`,
      "platform-auth completion fish > ~/.config/fish/completions/platform-auth.fish",
      "platform-auth completion powershell | Out-String | Invoke-Expression",
    ],
    load: async () => {
      const { runCompletion } = await import("./commands/completion.ts");
      return { run: (given) => runCompletion(COMMANDS, given) };
    },
  }),
  "sandbox": command({
    summary: "run an identity provider, portal and API on this computer",
    description: `Runs an identity provider, a portal and a data platform API on this computer,
to try things out and to teach. You do not need an account. Ctrl+C stops it.`,
    options: {
      "port": {
        value: "<number>",
        help: "use this port and the next two; 0: any free\n" +
          "ports. Default: 8410, or free ports if one of the\nthree is in use",
      },
      "access-token-seconds": { value: "<n>", help: "lifetime of an access token (default 1800)" },
      "refresh-days": { value: "<n>", help: "lifetime of a refresh token (default 30)" },
      "words": {
        value: "<whose>",
        choices: ["vendor", "aws"],
        help: "header names of the token endpoint: those of\n" +
          "the API document (vendor, default) or of AWS",
      },
      "rotate": {
        value: "<operation>",
        choices: ["initiate-auth", "get-tokens"],
        help:
          "each refresh returns a new refresh token, with\nthe operation initiate-auth or get-tokens",
      },
      "grace-seconds": {
        value: "<n>",
        help: "seconds for which a replaced refresh token still\nworks (default 0)",
      },
      "user": {
        value: "<name[:password]>",
        multiple: true,
        help: "add an account; may be given several times\n" +
          "(default password: that of the first account)",
      },
      "alias": { help: "users log in by e-mail; their user name in the\npool is a UUID" },
      "public-client": { help: "an app client without a secret" },
      "lockout-after": {
        value: "<n>",
        help: "lock a user after this many wrong passwords in a\nrow",
      },
      "throttle-per-second": {
        value: "<n>",
        help: "refuse more than this many requests per second\nto the token endpoint",
      },
      "challenge": {
        value: "<names>",
        help: "challenges after the password, such as\n" +
          "NEW_PASSWORD_REQUIRED,MFA_SETUP (once per user);\n" +
          'the portal shows the codes under "Authenticator"\nand "Messages"',
      },
      "track-devices": {
        value: "<how>",
        choices: ["on", "ask"],
        help: "each refresh needs the device of its login;\n" +
          "ask: the user may choose to have it remembered",
      },
      "no-revocation": { help: "refuse RevokeToken" },
      "latency-ms": {
        value: "<n>",
        help: "wait before each response of the provider and the\nAPI",
      },
      "write-env": {
        value: "<folder>",
        help: "write the settings to the .env in this folder\n" +
          "instead of printing them; replaces only settings\nof an earlier sandbox",
      },
    },
    examples: ["platform-auth sandbox", "platform-auth sandbox --user ada --write-env lesson"],
    load: () => import("./commands/sandbox.ts"),
  }),
};
