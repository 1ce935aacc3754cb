/* Texts of the closed sets, and the table by which words of an opcode are looked up.  */
#include "base/hash.h"
#include "sim/ptx/ptx_parse.h"
#include <string.h>

static const struct {
    const char *text;
    int bits;
} types[] = {
#define X(id, text, bits) {text, bits},
    PTX_TYPES(X)
#undef X
};
static const char *const mods[] = {
#define X(id, text) text,
    PTX_MODS(X)
#undef X
};
static const char *const ops[] = {
#define X(id, text, pipe, family, operands) text,
    PTX_OPS(X)
#undef X
};
static const char *const sregs[] = {
#define X(id, text, type) text,
    PTX_SREGS(X)
#undef X
};
static const char *const patterns[] = {
#define X(id, text, pipe, family, operands) operands,
    PTX_OPS(X)
#undef X
};
_Static_assert(PTX_TYPE_COUNT + MOD_COUNT + OP_COUNT + SREG_COUNT < PTX_WORDS / 4,
               "the table is full");

int sim_type_bits(PtxType t) { return types[t].bits; }
const char *sim_type_name(PtxType t) { return types[t].text; }
const char *sim_mod_name(PtxMod m) { return mods[m]; }
const char *sim_op_name(PtxOp op) { return ops[op]; }
const char *sim_op_pattern(PtxOp op) { return patterns[op]; }

static size_t first_place(const char *s, size_t n, PtxWordKind kind) {
    return hash64(s, n, (uint64_t)kind) % PTX_WORDS;
}

static void add_word(PtxParser *p, PtxWordKind kind, const char *text, int id) {
    size_t n = strlen(text), k = first_place(text, n, kind);
    while (p->words[k].kind != WORD_FREE) k = (k + 1) % PTX_WORDS;
    p->words[k] = (PtxWord){text, n, kind, id};
}

void sim_ptx_words(PtxParser *p) {
    p->words = ARENA_ARRAY(p->arena, PtxWord, PTX_WORDS);
    for (int k = 1; k < PTX_TYPE_COUNT; k++) add_word(p, WORD_TYPE, types[k].text, k);
    for (int k = 0; k < MOD_COUNT; k++) add_word(p, WORD_MOD, mods[k], k);
    for (int k = 0; k < OP_COUNT; k++) add_word(p, WORD_OP, ops[k], k);
    for (int k = 0; k < SREG_COUNT; k++) add_word(p, WORD_SREG, sregs[k], k);
}

PtxWordKind sim_ptx_word(const PtxParser *p, PtxWordKind kind, const char *s, size_t n, int *id) {
    for (size_t k = first_place(s, n, kind);; k = (k + 1) % PTX_WORDS) {
        const PtxWord *w = &p->words[k];
        if (w->kind == WORD_FREE) return WORD_FREE;
        if (w->kind == kind && w->n == n && memcmp(w->text, s, n) == 0) {
            *id = w->id;
            return kind;
        }
    }
}

PtxType sim_ptx_type(const PtxParser *p, const char *s, size_t n) {
    int id = PTX_NONE;
    sim_ptx_word(p, WORD_TYPE, s, n, &id);
    return (PtxType)id;
}
