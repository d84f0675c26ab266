import { authFetch, login } from "../../mod.ts";

await login({ force: true });
const answer = await authFetch("/v1/whoami");
await answer.json();
if (!answer.ok) Deno.exit(1);
