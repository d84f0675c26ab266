import { assertEquals } from "@std/assert";
import { formatNotebook, parseNotebook } from "./notebook.ts";

Deno.test("formatNotebook() writes a notebook as Jupyter does", () => {
  const text = `{
 "cells": [
  {
   "cell_type": "markdown",
   "id": "intro",
   "metadata": {},
   "source": [
    "# Title\\n",
    "\\n",
    "Text"
   ]
  },
  {
   "cell_type": "code",
   "execution_count": 1,
   "id": "first",
   "metadata": {},
   "outputs": [
    {
     "name": "stdout",
     "output_type": "stream",
     "text": [
      "one\\n",
      "two\\n"
     ]
    },
    {
     "data": {
      "application/json": {
       "rows": [
        1
       ]
      },
      "text/plain": [
       "{ rows: [ 1 ] }"
      ]
     },
     "execution_count": 1,
     "metadata": {},
     "output_type": "execute_result"
    }
   ],
   "source": []
  }
 ],
 "metadata": {
  "kernelspec": {
   "display_name": "Deno",
   "language": "typescript",
   "name": "deno"
  }
 },
 "nbformat": 4,
 "nbformat_minor": 5
}
`;
  assertEquals(formatNotebook(parseNotebook(text)), text);
});
