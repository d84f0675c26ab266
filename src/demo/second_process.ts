// The demo starts this script, which reads only the .env in its working folder.
import { authFetch, status } from "../../mod.ts";

const stations: unknown[] = await (await authFetch("/v1/stations")).json();
console.log(`${stations.length} stations, session from the ${status().source}`);
