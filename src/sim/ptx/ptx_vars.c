/* Variables and parameters: .global .const .shared .local .param, with initialisers.  */
#include "sim/ptx/ptx_parse.h"
#include "base/numeric.h"
#include <string.h>

enum { MAX_ALIGN = 1 << 16 };
static const int64_t max_bytes = (int64_t)1 << 40;

int64_t sim_ptx_place(int64_t *used, int64_t bytes, int64_t align) {
    int64_t at = (*used + align - 1) / align * align;
    *used = at + bytes;
    return at;
}

static bool alignment(PtxParser *p, PtxSymbol *v) {
    PtxLex *x = &p->lex;
    sim_lex_next(x);
    int64_t align = 0;
    if (!sim_ptx_int(p, &align)) return false;
    if (align < 1 || align > MAX_ALIGN || (align & (align - 1))) {
        return sim_lex_error(x, "alignment must be a power of two up to %d", MAX_ALIGN);
    }
    v->align = align;
    return true;
}

/* .ptr .global .align 16, of a kernel parameter: promises that the simulator does not need.  */
static bool pointer_attributes(PtxParser *p) {
    PtxLex *x = &p->lex;
    sim_lex_next(x);
    while (x->kind == TOK_DOT) {
        bool align = sim_lex_word_is(x, TOK_DOT, "align");
        int id;
        if (!align && !sim_ptx_word(p, WORD_MOD, x->word, x->n, &id)) {
            return sim_lex_error(x, "unknown attribute .%.*s", (int)x->n, x->word);
        }
        sim_lex_next(x);
        int64_t value;
        if (align && !sim_ptx_int(p, &value)) return false;
    }
    return !x->failed;
}

/* .align N, .v2 / .v4, type, .ptr ...; the current token ends at the name.  */
static bool attributes(PtxParser *p, PtxSymbol *v, int64_t *count) {
    PtxLex *x = &p->lex;
    *count = 1;
    while (x->kind == TOK_DOT) {
        PtxType t = sim_ptx_type(p, x->word, x->n);
        if (sim_lex_word_is(x, TOK_DOT, "align")) {
            if (!alignment(p, v)) return false;
            continue;
        }
        if (sim_lex_word_is(x, TOK_DOT, "ptr")) {
            if (!pointer_attributes(p)) return false;
            continue;
        }
        if (sim_lex_word_is(x, TOK_DOT, "v2")) *count = 2;
        else if (sim_lex_word_is(x, TOK_DOT, "v4")) *count = 4;
        else if (t != PTX_NONE && sim_type_bits(t) >= 8) v->type = t;
        else return sim_lex_error(x, "unknown attribute .%.*s of a variable", (int)x->n, x->word);
        sim_lex_next(x);
    }
    if (v->type == PTX_NONE) return sim_lex_error(x, "a variable needs a type");
    return !x->failed;
}

/* name and [N][M]; `open` tells of an empty first dimension.  */
static bool declarator(PtxParser *p, PtxSymbol *v, int64_t count, bool *open) {
    PtxLex *x = &p->lex;
    int64_t element = sim_type_bits(v->type) / 8, total = count * element;
    if (!v->align) v->align = total;
    v->line = x->line;
    v->name = sim_ptx_name(p);
    if (!v->name) return false;
    *open = false;
    while (lex_is(x, '[')) {
        sim_lex_next(x);
        int64_t n = 0;
        if (lex_is(x, ']')) *open = true;
        else if (!sim_ptx_int(p, &n)) return false;
        if (!sim_ptx_expect(p, ']')) return false;
        if (n < 0 || (n > 0 && total > max_bytes / n)) return sim_lex_error(x, "array too large");
        total *= n;
    }
    v->bytes = total;
    return true;
}

PtxSymbol *sim_ptx_parameter(PtxParser *p) {
    PtxSymbol *v = ARENA_NEW(p->arena, PtxSymbol);
    v->space = SPACE_PARAM;
    int64_t count;
    bool open;
    if (!attributes(p, v, &count) || !declarator(p, v, count, &open)) return NULL;
    if (open) {
        sim_lex_error(&p->lex, "a parameter needs a size");
        return NULL;
    }
    return v;
}

typedef struct {
    Buf bytes;
    PtxReloc *reloc;
    size_t n, cap;
} Init;

static void add_element(Init *in, uint64_t value, int bytes) {
    char little[8];
    for (int k = 0; k < bytes; k++) little[k] = (char)(value >> (8 * k) & 0xff);
    buf_add(&in->bytes, little, (size_t)bytes);
}

static uint64_t real_bits(PtxType t, double v) {
    uint64_t bits = 0;
    if (t == PTX_F64 || t == PTX_B64) {
        memcpy(&bits, &v, sizeof bits);
    } else if (t == PTX_F16) {
        bits = num_f16_encode(v, ROUND_NEAREST_EVEN, false);
    } else {
        float f = num_f32_encode(v, ROUND_NEAREST_EVEN);
        uint32_t half;
        memcpy(&half, &f, sizeof half);
        bits = half;
    }
    return bits;
}

bool sim_ptx_index(PtxParser *p, const PtxSymbol *v, int64_t *offset) {
    int64_t n, element = sim_type_bits(v->type) / 8;
    if (!lex_is(&p->lex, '[')) return true;
    sim_lex_next(&p->lex);
    if (!sim_ptx_int(p, &n) || !sim_ptx_expect(p, ']')) return false;
    if (n < -max_bytes || n > max_bytes) return sim_lex_error(&p->lex, "an index out of range");
    *offset += n * element;
    return true;
}

/* NAME, NAME[N], generic(NAME), each with +N; a function.  `first` is the first byte of the address
 * that is stored; a mask such as 0xFF00(NAME) names one, else as many as the variable takes.  */
static bool init_symbol(PtxParser *p, Init *in, int first, int bytes) {
    PtxLex *x = &p->lex;
    bool generic = sim_lex_word_is(x, TOK_WORD, "generic");
    if (generic) {
        sim_lex_next(x);
        if (!sim_ptx_expect(p, '(')) return false;
    }
    const PtxSymbol *s = x->kind == TOK_WORD ? sim_ptx_symbol(p, x->word, x->n) : NULL;
    PtxFunc *f = x->kind == TOK_WORD && !s ? sim_ptx_func(p, x->word, x->n) : NULL;
    if (!f && (!s || (s->space != SPACE_GLOBAL && s->space != SPACE_CONST))) {
        return sim_lex_error(x, "expected a variable of the module in an initialiser");
    }
    PtxReloc r = {.at = (int64_t)in->bytes.len, .symbol = s, .func = f, .first = first,
                  .bytes = bytes};
    if (f) f->taken = true;
    sim_lex_next(x);
    if (s && !sim_ptx_index(p, s, &r.add)) return false;
    if (generic && !sim_ptx_expect(p, ')')) return false;
    if (!sim_ptx_plus(p, &r.add)) return false;
    in->reloc = arena_grow(p->arena, in->reloc, &in->cap, in->n + 1, sizeof *in->reloc);
    in->reloc[in->n++] = r;
    add_element(in, 0, bytes);
    return true;
}

/* 0xFF00(NAME): one byte of an address, as compilers lay out structures without alignment.  */
static bool init_masked(PtxParser *p, Init *in, uint64_t mask, int bytes) {
    int first = 0;
    while (first < 7 && mask != (uint64_t)0xff << (8 * first)) first++;
    if (bytes != 1 || mask != (uint64_t)0xff << (8 * first)) {
        return sim_lex_error(&p->lex, "expected a mask of one byte for a variable of bytes");
    }
    sim_lex_next(&p->lex);
    return init_symbol(p, in, first, 1) && sim_ptx_expect(p, ')');
}

static bool init_value(PtxParser *p, const PtxSymbol *v, Init *in, int depth) {
    PtxLex *x = &p->lex;
    int bytes = sim_type_bits(v->type) / 8;
    if (lex_is(x, '{')) {
        if (depth > 8) return sim_lex_error(x, "an initialiser nested too deeply");
        sim_lex_next(x);
        while (!lex_is(x, '}')) {
            if (!init_value(p, v, in, depth + 1)) return false;
            if (!lex_is(x, '}') && !sim_ptx_expect(p, ',')) return false;
        }
        sim_lex_next(x);
        return !x->failed;
    }
    if (x->kind == TOK_WORD) {
        if (bytes != 8) return sim_lex_error(x, "an address needs a 64-bit variable");
        return init_symbol(p, in, 0, 8);
    }
    if (x->kind == TOK_STRING) {
        buf_add(&in->bytes, x->word, x->n);
        buf_putc(&in->bytes, '\0');
        sim_lex_next(x);
        return !x->failed;
    }
    bool minus = lex_is(x, '-');
    if (minus) sim_lex_next(x);
    if (x->kind == TOK_REAL) {
        add_element(in, real_bits(v->type, minus ? -x->real : x->real), bytes);
        sim_lex_next(x);
        return !x->failed;
    }
    int64_t value;
    if (!sim_ptx_int(p, &value)) return false;
    if (lex_is(x, '(')) return init_masked(p, in, (uint64_t)value, bytes);
    add_element(in, (uint64_t)(minus ? -value : value), bytes);
    return true;
}

static bool initialiser(PtxParser *p, PtxSymbol *v, bool open) {
    Init in = {.bytes = buf_new(p->arena)};
    if (!init_value(p, v, &in, 0)) return false;
    int64_t given = (int64_t)in.bytes.len;
    if (open) v->bytes = given;
    if (given > v->bytes) return sim_lex_error(&p->lex, "more values than %s holds", v->name);
    v->init = (const uint8_t *)buf_str(&in.bytes);
    v->init_bytes = given;
    v->reloc = in.reloc;
    v->n_reloc = (int)in.n;
    return true;
}

/* Gives the variable its place: in the module's images, or in the frame of the function, where
 * parameters of calls lie beside local variables.  */
static void place(PtxParser *p, PtxSymbol *v) {
    if (v->space == SPACE_SHARED) return;     /* the linker places what a kernel uses */
    int64_t *used = v->space == SPACE_GLOBAL  ? &p->m->global_bytes
                    : v->space == SPACE_CONST ? &p->m->const_bytes
                                              : &p->f->frame_bytes;
    if (v->space == SPACE_PARAM) v->space = SPACE_LOCAL;
    v->offset = sim_ptx_place(used, v->bytes, v->align);
    if (v->space != SPACE_GLOBAL && v->space != SPACE_CONST) return;
    v->chain = p->m->variable;
    p->m->variable = v;
}

bool sim_ptx_variables(PtxParser *p, PtxSpace space, bool external) {
    PtxSymbol shape = {.space = space, .external = external};
    int64_t count;
    if (!attributes(p, &shape, &count)) return false;
    bool frame = space == SPACE_LOCAL || space == SPACE_PARAM;
    if (frame && !p->f) return sim_lex_error(&p->lex, "this space needs a function");
    do {
        PtxSymbol *v = ARENA_NEW(p->arena, PtxSymbol);
        *v = shape;
        bool open;
        if (!declarator(p, v, count, &open)) return false;
        if (sim_ptx_accept(p, '=') && !initialiser(p, v, open)) return false;
        if (open && !v->init && !(external && space == SPACE_SHARED)) {
            return sim_lex_error(&p->lex, "the size of %s is unknown", v->name);
        }
        if (external && space != SPACE_SHARED) {
            return sim_lex_error(&p->lex, "%s is defined in another module", v->name);
        }
        place(p, v);
        v->next = p->scope->symbol;
        p->scope->symbol = v;
    } while (sim_ptx_accept(p, ','));
    return sim_ptx_expect(p, ';');
}
