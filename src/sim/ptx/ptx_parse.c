/* Module level: directives, variables, entries and functions.  */
#include "sim/ptx/ptx_parse.h"
#include <string.h>

static bool version(PtxParser *p) {
    PtxLex *x = &p->lex;              /* 9.0 reads as a real: take its two numbers from the text */
    const char *s = x->text + x->at;
    if (x->kind != TOK_REAL) return sim_lex_error(x, "expected a version such as 9.0");
    for (; *s >= '0' && *s <= '9' && p->m->version_major < 100; s++) {
        p->m->version_major = p->m->version_major * 10 + (*s - '0');
    }
    if (*s++ == '.' && *s >= '0' && *s <= '9') p->m->version_minor = *s - '0';
    sim_lex_next(x);
    return !x->failed;
}

static bool target(PtxParser *p) {
    PtxLex *x = &p->lex;
    do {
        if (x->kind != TOK_WORD) return sim_lex_error(x, "expected a target");
        if (x->n > 3 && memcmp(x->word, "sm_", 3) == 0) {
            int sm = 0;
            size_t k = 3;
            for (; k < x->n && k < 6 && x->word[k] >= '0' && x->word[k] <= '9'; k++) {
                sm = sm * 10 + (x->word[k] - '0');
            }
            p->m->sm = sm;
            p->m->arch_specific = k < x->n;
        }
        sim_lex_next(x);
    } while (sim_ptx_accept(p, ','));
    return !x->failed;
}

static bool file(PtxParser *p) {
    PtxLex *x = &p->lex;
    int64_t n;
    if (!sim_ptx_int(p, &n)) return false;
    if (n < 0 || n > 100000 || x->kind != TOK_STRING) return sim_lex_error(x, "bad .file");
    size_t need = (size_t)n + 1;
    p->m->files = arena_grow(p->arena, p->m->files, &p->m->cap_files, need, sizeof *p->m->files);
    for (; p->m->n_files < need; p->m->n_files++) p->m->files[p->m->n_files] = NULL;
    p->m->files[n] = arena_strndup(p->arena, x->word, x->n);
    sim_lex_next(x);
    while (sim_ptx_accept(p, ',')) {
        if (!sim_ptx_int(p, &n)) return false;
    }
    return !x->failed;
}

/* DWARF: nothing in it is executed.  */
static bool section(PtxParser *p) {
    PtxLex *x = &p->lex;
    while (x->kind != TOK_END && !lex_is(x, '{')) sim_lex_next(x);
    while (x->kind != TOK_END && !lex_is(x, '}')) sim_lex_next(x);
    return sim_ptx_expect(p, '}');
}

/* Up to three numbers of .maxntid and its like.  */
static bool three(PtxParser *p, int out[3]) {
    for (int k = 0; k < 3; k++) out[k] = 1;
    for (int k = 0; k < 3; k++) {
        int64_t v;
        if (!sim_ptx_int(p, &v)) return false;
        if (v < 1 || v > 1 << 30) return sim_lex_error(&p->lex, "a size out of range");
        out[k] = (int)v;
        if (!sim_ptx_accept(p, ',')) break;
    }
    return !p->lex.failed;
}

static bool pragma(PtxParser *p) {
    while (p->lex.kind == TOK_STRING || lex_is(&p->lex, ',')) sim_lex_next(&p->lex);
    return sim_ptx_expect(p, ';');
}

/* Performance directives between the parameters and the body.  */
static bool attribute(PtxParser *p, PtxFunc *f) {
    PtxLex *x = &p->lex;
    static const struct {
        const char *name;
        size_t offset;
        bool sizes;
    } known[] = {
        {"maxntid", offsetof(PtxFunc, maxntid), true},
        {"reqntid", offsetof(PtxFunc, reqntid), true},
        {"reqnctapercluster", offsetof(PtxFunc, cluster), true},
        {"minnctapersm", offsetof(PtxFunc, minnctapersm), false},
        {"maxnctapersm", offsetof(PtxFunc, minnctapersm), false},
        {"maxnreg", offsetof(PtxFunc, maxnreg), false},
        {"maxclusterrank", offsetof(PtxFunc, max_cluster), false},
    };
    for (size_t k = 0; k < sizeof known / sizeof known[0]; k++) {
        if (!sim_lex_word_is(x, TOK_DOT, known[k].name)) continue;
        sim_lex_next(x);
        int *field = (int *)(void *)((char *)f + known[k].offset), value[3];
        if (!three(p, value)) return false;
        memcpy(field, value, known[k].sizes ? sizeof value : sizeof value[0]);
        return true;
    }
    if (sim_lex_word_is(x, TOK_DOT, "pragma")) {
        sim_lex_next(x);
        return pragma(p);
    }
    if (sim_lex_word_is(x, TOK_DOT, "explicitcluster")) f->explicit_cluster = true;
    else if (!sim_lex_word_is(x, TOK_DOT, "noreturn")) {
        return sim_lex_error(x, "unknown directive .%.*s", (int)x->n, x->word);
    }
    sim_lex_next(x);
    return !x->failed;
}

static PtxFunc *new_func(PtxParser *p, const char *name) {
    PtxFunc *f = sim_ptx_func(p, name, strlen(name));
    if (f) return f;
    f = ARENA_NEW(p->arena, PtxFunc);
    f->name = name;
    PtxFunc **end = &p->m->func;
    for (; *end; end = &(*end)->next) f->number++;
    *end = f;
    return f;
}

static void place_parameters(PtxFunc *f) {
    f->param_bytes = f->frame_bytes = 0;
    int64_t *used = f->kernel ? &f->param_bytes : &f->frame_bytes;
    for (int k = 0; k < f->n_param; k++) {
        PtxSymbol *v = f->param[k];
        v->offset = sim_ptx_place(used, v->bytes, v->align);
        if (!f->kernel) v->space = SPACE_LOCAL;
    }
    for (int k = 0; k < f->n_result; k++) {
        PtxSymbol *v = f->result[k];
        v->offset = sim_ptx_place(used, v->bytes, v->align);
        v->space = SPACE_LOCAL;
    }
}

static bool function(PtxParser *p, bool kernel) {
    PtxLex *x = &p->lex;
    PtxSymbol **result = NULL, **param = NULL;
    int n_result = 0, n_param = 0, line = x->line;
    if (!kernel && lex_is(x, '(') && !sim_ptx_parameters(p, &result, &n_result)) return false;
    const char *name = sim_ptx_name(p);
    if (!name) return false;
    if (lex_is(x, '(') && !sim_ptx_parameters(p, &param, &n_param)) return false;
    PtxFunc *f = new_func(p, name);
    if (f->defined) return sim_lex_error(x, "%s is defined twice", name);
    f->kernel = kernel;
    f->result = result;
    f->param = param;
    f->n_result = n_result;
    f->n_param = n_param;
    f->line = line;
    place_parameters(f);
    while (x->kind == TOK_DOT) {
        if (!attribute(p, f)) return false;
    }
    if (lex_is(x, ';')) return sim_ptx_accept(p, ';');
    if (!sim_ptx_expect(p, '{')) return false;
    f->defined = true;
    p->f = f;
    bool good = sim_ptx_body(p);
    p->f = NULL;
    return good;
}

static bool module_directive(PtxParser *p) {
    PtxLex *x = &p->lex;
    if (x->kind != TOK_DOT) return sim_lex_error(x, "expected a directive");
    bool external = false;
    while (sim_lex_word_is(x, TOK_DOT, "visible") || sim_lex_word_is(x, TOK_DOT, "extern") ||
           sim_lex_word_is(x, TOK_DOT, "weak") || sim_lex_word_is(x, TOK_DOT, "common")) {
        if (sim_lex_word_is(x, TOK_DOT, "extern")) external = true;
        sim_lex_next(x);
    }
    static const struct {
        const char *name;
        bool (*parse)(PtxParser *p);
    } simple[] = {{"version", version}, {"target", target}, {"file", file},
                  {"section", section}, {"pragma", pragma}, {"loc", sim_ptx_loc}};
    for (size_t k = 0; k < sizeof simple / sizeof simple[0]; k++) {
        if (!sim_lex_word_is(x, TOK_DOT, simple[k].name)) continue;
        sim_lex_next(x);
        return simple[k].parse(p);
    }
    static const struct {
        const char *name;
        PtxSpace space;
    } spaces[] = {{"global", SPACE_GLOBAL}, {"const", SPACE_CONST}, {"shared", SPACE_SHARED}};
    for (size_t k = 0; k < sizeof spaces / sizeof spaces[0]; k++) {
        if (!sim_lex_word_is(x, TOK_DOT, spaces[k].name)) continue;
        sim_lex_next(x);
        return sim_ptx_variables(p, spaces[k].space, external);
    }
    bool entry = sim_lex_word_is(x, TOK_DOT, "entry");
    if (entry || sim_lex_word_is(x, TOK_DOT, "func")) {
        sim_lex_next(x);
        while (x->kind == TOK_DOT) sim_lex_next(x);      /* .noreturn before the name */
        return function(p, entry);
    }
    if (sim_lex_word_is(x, TOK_DOT, "address_size")) {
        sim_lex_next(x);
        int64_t bits;
        if (!sim_ptx_int(p, &bits)) return false;
        return bits == 64 || sim_lex_error(x, "only 64-bit addresses are known");
    }
    return sim_lex_error(x, "unknown directive .%.*s", (int)x->n, x->word);
}

Status sim_ptx_parse(Arena *a, Diag *d, const char *file_name, const char *text, size_t len,
                     PtxModule **out) {
    PtxParser *p = ARENA_NEW(a, PtxParser);
    p->arena = a;
    p->m = ARENA_NEW(a, PtxModule);
    p->m->file = file_name;
    p->m->text = text;
    p->m->len = len;
    p->scope = &p->top;
    p->cu_file = -1;
    sim_ptx_words(p);
    sim_lex_init(&p->lex, d, file_name, text, len);
    sim_lex_next(&p->lex);
    while (p->lex.kind != TOK_END && !p->lex.failed) {
        if (!module_directive(p)) break;
    }
    if (p->lex.failed) return ST_SIMULATOR;
    *out = p->m;
    return ST_OK;
}
