/** What each command prints for `--help`. */
export const HELP: Readonly<Record<string, string>> = {
  "": `platform-auth signs you in to the data platform and calls its API.

Usage: platform-auth <command> [options]

  init      write the settings of your account into a .env
  login     get tokens: portal string, or user name and password
  status    who is signed in, until when, where it is kept
  token     print a current access token and nothing else
  fetch     call the API with the token
  refresh   refresh now (rarely needed)
  logout    forget the tokens, and revoke the refresh token
  doctor    check settings, file, clock, provider, API and token
  notebook  write a notebook that signs in and calls the API
  explain   what an error code means, and what to do
  store-key make a key for a store that many machines share
  sandbox   run an identity provider, portal and API on this computer

Options of all commands:
  --env-file <path>   the .env to use instead of the nearest one ("false": memory only)
  --json              print JSON, where there is something to read
  --help, --version

Exit status: 0 ok, 1 failed, 2 wrong usage, 3 a login is needed.
Settings come from the .env, which platform-auth init writes, and from the environment.`,

  init:
    `Writes the settings of your account into the .env, and checks them. It asks for what is missing.
It finds the settings in the reply of your subscription's support channel, in whatever form
that is. Nothing of the reply is shown, and no value that is there is replaced unasked. In a git
work tree, .gitignore gets the lines that keep the .env out of it.

Usage: platform-auth init [--from <file>] [--json]

  --from <file>   the reply as a text file; - standard input. Default: you paste it

Examples:
  platform-auth init
  platform-auth init --from reply.txt`,

  login: `Gets tokens and keeps them in the .env. A session that is still valid is kept.
On a terminal it asks for what else the provider wants: a code, a new password.

Usage: platform-auth login [--portal] [--username <name>] [--stdin] [--force]

  --portal            with the string of the portal's "Copy Token"
  --username <name>   with this user name instead of USERNAME
  --stdin             read the portal string or the password from standard input
  --force             log in even if the session is still valid

Examples:
  platform-auth login
  platform-auth login --portal
  platform-auth login --username ada --stdin < password.txt`,

  status:
    `Shows who is signed in, until when, and where that is kept. Sends no request, but to a store
(AUTH_STORE), as the first call does: a token that has ended is refreshed.

Usage: platform-auth status [--json]

Examples:
  platform-auth status
  platform-auth status --json`,

  token:
    `Prints a current access token and nothing else, refreshed if needed. Treat it as a password.

Usage: platform-auth token [--min-valid <seconds>] [--json]

  --min-valid <seconds>   refresh first if the token expires sooner than this
  --json                  { "access_token", "expires_at" }, which AUTH_TOKEN_COMMAND understands

Examples:
  platform-auth token | sed 's/^/authorization: bearer /' | curl -H @- https://api.example.com/v1/stations
  platform-auth token --min-valid 600`,

  fetch: `Calls the API with the token and prints the answer.

Usage: platform-auth fetch <path or URL> [options]

  -X, --method <method>    default GET, or POST with --data
  -H, --header <header>    "name: value"; may be given several times
  -d, --data <text>        the body; @file reads a file, - standard input
  -o, --output <file>      save there when the answer is whole; after a break the
                           same command goes on, and shows how far it is
  --json                   print status, headers and body as JSON

Examples:
  platform-auth fetch /v1/stations
  platform-auth fetch "/v1/stations/gull-harbor/observations.csv" --output observations.csv
  platform-auth fetch /v1/annotations -H "content-type: application/json" -d '{"text":"calm"}'`,

  refresh: `Refreshes the session now, whatever time is left.

Usage: platform-auth refresh [--json]

Example:
  platform-auth refresh`,

  logout:
    `Forgets the tokens: takes them out of the .env, and has the provider revoke the refresh token.

Usage: platform-auth logout [--everywhere | --keep-remote] [--json]

  --everywhere    sign the account out on all devices
  --keep-remote   forget the tokens here only; the provider is not told

Examples:
  platform-auth logout
  platform-auth logout --everywhere`,

  notebook:
    `Writes a notebook that signs in and calls the API, with the import that fits its folder. A file
that is there already is left as it is.

Usage: platform-auth notebook [file] [--json]

Examples:
  platform-auth notebook
  platform-auth notebook analysis/wind.ipynb`,

  explain:
    `Explains an error code: symptom, cause and fix. Works offline. Without a code it lists them all.

Usage: platform-auth explain [code] [--json]

Example:
  platform-auth explain INVALID_CREDENTIALS`,

  "store-key":
    `Makes a key that encrypts the tokens in a store (AUTH_STORE), and prints it. Set the same one on all
machines. Treat it as a password.

Usage: platform-auth store-key

Example:
  export AUTH_STORE_KEY="$(platform-auth store-key)"`,

  doctor:
    `Checks settings, file, clock, provider, API and token, a line each with the fix. Changes nothing.

Usage: platform-auth doctor [--login] [--json]

  --login   also log in with user name and password, to see whether they are right

Examples:
  platform-auth doctor
  platform-auth doctor --login`,
};
