/** The least that a call with a stored token takes: read the `.env`, one GET. */
import { parseEnv } from "node:util";

const env = parseEnv(Deno.readTextFileSync(".env"));
const answer = await fetch(`${env.API_BASE_URL}/v1/whoami`, {
  headers: { authorization: `bearer ${env.ACCESS_TOKEN}` },
});
await answer.json();
if (!answer.ok) Deno.exit(1);
