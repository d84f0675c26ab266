import "npm:zod@^4";
