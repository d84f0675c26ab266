import { authFetch } from "../../mod.ts";

const answer = await authFetch("/v1/whoami");
await answer.json();
if (!answer.ok) Deno.exit(1);
