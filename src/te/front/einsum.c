/* Einsum notation ("bmk,bkn->bmn") as the text of an op.
 *
 *     einsum  = operand {"," operand} [ "->" operand ]
 *     operand = { LETTER } [ ":" type ]
 *
 * Each letter is a dimension: a param of its name in the text, and an index of that name behind an
 * underscore.  A letter that the result has not is summed; without a result it is the letters that
 * stand once, in alphabetical order.  Products are taken from left to right, and a letter is summed
 * as soon as nothing to its right has it, so that n operands are n - 1 contractions at most.  */
#include "te/front/einsum.h"
#include <string.h>

typedef struct {
    char label[TE_MAX_RANK + 1];          /* in order */
    size_t at;                /* where it begins in the spec */
    TeDtype type;
    bool typed;
} Operand;

typedef struct {
    Arena *a;
    Diag *d;
    const char *spec;
    size_t len, pos;
    Operand in[TE_MAX_ARGS], out;
    int n_in;
    bool has_result;
} Einsum;

static DiagPlace place(const Einsum *e, size_t pos) {
    return (DiagPlace){"<einsum>", e->spec, e->len, pos};
}

static void skip_space(Einsum *e) {
    while (e->spec[e->pos] == ' ') e->pos++;
}

static bool is_letter(char c) { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z'); }

/* ---- reading ---- */
static Status read_type(Einsum *e, Operand *o) {
    skip_space(e);
    size_t n = strspn(e->spec + e->pos, "abcdefghijklmnopqrstuvwxyz0123456789");
    if (!te_dtype_parse(e->spec + e->pos, n, &o->type)) {
        const char *why = n ? "'%.*s' is no type" : "a type belongs here";
        diag_error(e->d, ST_TE, "type", place(e, e->pos), why, (int)(n < 32 ? n : 32),
                   e->spec + e->pos);
#define X(id, name, bytes, compute, cls) " " name
        diag_hint(e->d, "types are" TE_DTYPES(X));
#undef X
        return ST_TE;
    }
    o->typed = true;
    e->pos += n;
    skip_space(e);
    return ST_OK;
}

static Status read_operand(Einsum *e, Operand *o) {
    size_t n = 0;
    *o = (Operand){.type = TE_F32};
    skip_space(e);
    for (o->at = e->pos; is_letter(e->spec[e->pos]); skip_space(e)) {
        if (n == TE_MAX_RANK)
            return diag_error(e->d, ST_TE, "limit", place(e, e->pos),
                              "an operand has more than %d dimensions", TE_MAX_RANK);
        o->label[n++] = e->spec[e->pos++];
    }
    if (e->spec[e->pos] != ':') return ST_OK;
    e->pos++;
    return read_type(e, o);
}

static Status read_spec(Einsum *e) {
    Status s;
    do {
        if (e->n_in == TE_MAX_ARGS - 1)
            return diag_error(e->d, ST_TE, "limit", place(e, e->pos), "more than %d operands",
                              TE_MAX_ARGS - 1);
        s = read_operand(e, &e->in[e->n_in++]);
    } while (!s && e->spec[e->pos] == ',' && e->pos++ < e->len);
    if (!s && strncmp(e->spec + e->pos, "->", 2) == 0) {
        e->has_result = true;
        e->pos += 2;
        s = read_operand(e, &e->out);
    }
    if (s || !e->spec[e->pos]) return s;
    if (strncmp(e->spec + e->pos, "...", 3) == 0) {
        diag_error(e->d, ST_TE, "syntax", place(e, e->pos), "'...' is not taken");
        diag_hint(e->d, "write a letter for each dimension");
        return ST_TE;
    }
    diag_error(e->d, ST_TE, "syntax", place(e, e->pos), "this does not belong here");
    diag_hint(e->d, "an einsum is like bmk,bkn->bmn: letters, commas, -> and letters; a type may "
                    "follow, as in mk:f16,kn:f16->mn:f32");
    return ST_TE;
}

/* ---- meaning ---- */
static bool has(const Operand *o, char label) { return label && strchr(o->label, label); }

static bool in_any(const Einsum *e, int from, char label) {
    for (int i = from; i < e->n_in; i++)
        if (has(&e->in[i], label)) return true;
    return false;
}

static Status set_types(Einsum *e, const char *const *type, int n) {
    if (n != 0 && n != e->n_in)
        return diag_error(e->d, ST_TE, "axis", place(e, 0), "%d operands here, and %d are given",
                          e->n_in, n);
    for (int i = 0; i < e->n_in; i++) {
        Operand *o = &e->in[i];
        const char *given = n ? type[i] : NULL;
        if (!o->typed && given && !te_dtype_parse(given, strlen(given), &o->type))
            return diag_error(e->d, ST_TE, "type", place(e, o->at), "'%.32s' is no type", given);
        if (o->type == TE_BOOL)
            return diag_error(e->d, ST_TE, "type", place(e, o->at), "bools have no products");
    }
    TeDtype common = e->in[0].type;
    for (int i = 1; i < e->n_in && !e->out.typed; i++) {
        if (e->in[i].type == common) continue;
        diag_error(e->d, ST_TE, "type", place(e, e->in[i].at),
                   "operands of %s and %s do not tell the result's type", te_dtype_name(common),
                   te_dtype_name(e->in[i].type));
        diag_hint(e->d, "say it behind the result: ->%s:%s", e->out.label, te_dtype_name(common));
        return ST_TE;
    }
    bool narrow = te_dtype_class(common) == TE_CLASS_INT && te_dtype_bytes(common) < 4;
    if (!e->out.typed) e->out.type = narrow ? TE_I32 : common;
    return ST_OK;
}

/* Letters that stand once.  */
static Status implied_result(Einsum *e) {
    size_t n = 0;
    for (int c = 'A'; c <= 'z'; c++) {
        int count = 0;
        for (int i = 0; i < e->n_in; i++)
            for (const char *p = e->in[i].label; *p; p++) count += *p == c;
        if (count != 1) continue;
        if (n == TE_MAX_RANK)
            return diag_error(e->d, ST_TE, "limit", place(e, e->len),
                              "the result has more than %d dimensions", TE_MAX_RANK);
        e->out.label[n++] = (char)c;
    }
    return ST_OK;
}

static Status check_result(Einsum *e) {
    for (size_t i = 0; e->out.label[i]; i++) {
        char c = e->out.label[i];
        if (strchr(e->out.label + i + 1, c))
            return diag_error(e->d, ST_TE, "axis", place(e, e->out.at),
                              "'%c' stands twice in the result", c);
        if (in_any(e, 0, c)) continue;
        diag_error(e->d, ST_TE, "axis", place(e, e->out.at),
                   "no operand has the '%c' of the result", c);
        diag_hint(e->d, "every letter behind -> is one of an operand");
        return ST_TE;
    }
    return ST_OK;
}

/* ---- writing ---- */
enum { LETTERS = 2 * 26 };

static void dimensions(const char *label, const char *prefix, Buf *out) {
    buf_putc(out, '[');
    for (size_t i = 0; label[i]; i++) buf_printf(out, "%s%s%c", i ? "," : "", prefix, label[i]);
    buf_putc(out, ']');
}

static void declare(const char *name, const Operand *o, Buf *out) {
    buf_printf(out, "%s: %s", name, te_dtype_name(o->type));
    dimensions(o->label, "", out);
}

static void unite(char to[LETTERS + 1], const char *label) {
    for (; *label; label++) {
        size_t n = strlen(to);
        if (strchr(to, *label)) continue;
        to[n] = *label;
        to[n + 1] = 0;
    }
}

static void assign(const char *name, const char *label, bool sums, Buf *product, Buf *out) {
    buf_printf(out, "  %s", name);
    dimensions(label, "_", out);
    buf_printf(out, " %s %s;\n", sums ? "+=" : "=", buf_str(product));
}

/* One statement for each time that letters are summed, and one for the result.  */
static void statements(const Einsum *e, Buf *out) {
    char open[LETTERS + 1] = "";          /* letters of the product so far */
    Buf product = buf_new(e->a);
    int temps = 0;
    for (int i = 0; i < e->n_in; i++) {
        buf_printf(&product, "%sin%d", product.len ? " * " : "", i);
        dimensions(e->in[i].label, "_", &product);
        unite(open, e->in[i].label);
        bool last = i == e->n_in - 1;
        char kept[LETTERS + 1] = "";
        for (const char *p = open; *p; p++)
            if (has(&e->out, *p) || in_any(e, i + 1, *p)) unite(kept, (char[]){*p, 0});
        bool sums = strlen(kept) < strlen(open);
        if (last) {
            assign("out", e->out.label, sums, &product, out);
        } else if (sums && strlen(kept) <= TE_MAX_RANK) {
            const char *name = arena_printf(e->a, "t%d", temps++);
            assign(name, kept, true, &product, out);
            product.len = 0;
            buf_puts(&product, name);
            dimensions(kept, "_", &product);
            memcpy(open, kept, sizeof open);
        }
    }
}

static void write_op(const Einsum *e, Buf *out) {
    char all[LETTERS + 1] = "";
    for (int i = 0; i < e->n_in; i++) unite(all, e->in[i].label);
    for (const char *p = all; *p; p++) buf_printf(out, "%s%c", p == all ? "param " : ", ", *p);
    buf_puts(out, *all ? ";\nop einsum(" : "op einsum(");
    for (int i = 0; i < e->n_in; i++) {
        if (i) buf_puts(out, ", ");
        declare(arena_printf(e->a, "in%d", i), &e->in[i], out);
    }
    buf_puts(out, ") -> ");
    declare("out", &e->out, out);
    buf_puts(out, " {\n");
    statements(e, out);
    buf_puts(out, "}\n");
}

Status te_einsum(Arena *a, Diag *d, const char *spec, const char *const *type, int n_type,
                 Buf *out) {
    Einsum *e = ARENA_NEW(a, Einsum);
    *e = (Einsum){.a = a, .d = d, .spec = spec, .len = strlen(spec)};
    Status s = read_spec(e);
    if (!s && !e->has_result) s = implied_result(e);
    if (!s) s = set_types(e, type, n_type);
    if (!s) s = check_result(e);
    if (!s) write_op(e, out);
    return s;
}
