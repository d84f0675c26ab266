import "../../mod.ts";
