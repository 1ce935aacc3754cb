#include "codegen/ir/words.h"
#include <string.h>

/* Open addressing: at most half of the places are taken.  */
struct WordSet {
    Arena *arena;
    const char **at;
    size_t size, n;           /* places, a power of two; words */
};

static const char **place(const WordSet *w, const char *s, size_t len) {
    size_t i = len;
    for (size_t k = 0; k < len; k++) i = i * 31 + (unsigned char)s[k];
    for (;; i++) {
        const char **at = &w->at[i & (w->size - 1)];
        if (!*at || (strncmp(*at, s, len) == 0 && (*at)[len] == '\0')) return at;
    }
}

static void make_room(WordSet *w, size_t size) {
    WordSet old = *w;
    w->size = size;
    w->at = ARENA_ARRAY(w->arena, const char *, size);
    for (size_t i = 0; i < old.size; i++)
        if (old.at[i]) *place(w, old.at[i], strlen(old.at[i])) = old.at[i];
}

WordSet *words_new(Arena *a) {
    WordSet *w = ARENA_NEW(a, WordSet);
    *w = (WordSet){.arena = a};
    make_room(w, 256);
    return w;
}

void words_add(WordSet *w, const char *word) {
    const char **at = place(w, word, strlen(word));
    if (*at) return;
    *at = word;
    if (2 * ++w->n > w->size) make_room(w, 2 * w->size);
}

bool words_has(const WordSet *w, const char *s, size_t len) { return *place(w, s, len) != NULL; }
