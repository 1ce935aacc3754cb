/* A set of words: the names that the printer has made.  */
#ifndef ROLLER_CODEGEN_IR_WORDS_H
#define ROLLER_CODEGEN_IR_WORDS_H
#include "base/arena.h"

typedef struct WordSet WordSet;
WordSet *words_new(Arena *a);
void words_add(WordSet *w, const char *word);               /* which stays where it is */
bool words_has(const WordSet *w, const char *s, size_t len);
#endif
