import "npm:zod@4.6.7";
