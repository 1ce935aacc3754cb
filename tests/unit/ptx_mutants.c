/* links: base */
#include "ptx_mutants.h"

#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { MAX_OPERANDS = 8, WORD = 160 };

/* An instruction taken apart.  */
typedef struct {
    char guard[WORD], op[WORD], operand[MAX_OPERANDS][WORD];
    int n;                    /* operands */
} Inst;

typedef struct {
    Arena *arena;
    PtxMutant *list;
    size_t cap;
    int n;
    Inst inst;
    PtxMutant now;            /* what the mutants of this line share */
} Maker;

/* ---- reading ---- */

static const char *copy_word(char *to, const char *from, const char *end) {
    while (end > from && isspace((unsigned char)end[-1])) end--;
    size_t n = (size_t)(end - from) < WORD - 1 ? (size_t)(end - from) : WORD - 1;
    memcpy(to, from, n);
    to[n] = 0;
    return end;
}

/* One instruction that ends on its line; false for everything else.  */
static bool read_inst(const char *line, size_t len, Inst *x) {
    const char *p = line, *end = line + len;
    *x = (Inst){0};
    while (p < end && isspace((unsigned char)*p)) p++;
    while (end > p && isspace((unsigned char)end[-1])) end--;
    if (p == end || end[-1] != ';' || memchr(p, ';', (size_t)(end - p)) != end - 1) return false;
    end--;
    if (*p == '@') {
        const char *from = p;
        while (p < end && !isspace((unsigned char)*p)) p++;
        copy_word(x->guard, from, p);
        while (p < end && isspace((unsigned char)*p)) p++;
    }
    if (p == end || !islower((unsigned char)*p)) return false;
    const char *from = p;
    while (p < end && !isspace((unsigned char)*p)) p++;
    copy_word(x->op, from, p);
    while (p < end) {
        int depth = 0;
        while (p < end && isspace((unsigned char)*p)) p++;
        if (x->n == MAX_OPERANDS) return false;
        for (from = p; p < end && (depth > 0 || *p != ','); p++)
            depth += *p == '{' || *p == '[' ? 1 : *p == '}' || *p == ']' ? -1 : 0;
        if ((size_t)(p - from) >= WORD) return false;
        copy_word(x->operand[x->n++], from, p);
        if (p < end) p++;
    }
    return true;
}

static bool starts(const char *s, const char *with) { return strncmp(s, with, strlen(with)) == 0; }

static bool is_number(const char *s, long long *out) {
    char *end;
    *out = strtoll(s, &end, 0);
    return end > s && *end == 0;
}

/* ---- making ---- */

static const char *text_of(Arena *a, const Inst *x) {
    Buf b = buf_new(a);
    buf_puts(&b, x->op);
    for (int i = 0; i < x->n; i++) buf_printf(&b, "%s%s", i ? ", " : " ", x->operand[i]);
    buf_puts(&b, ";");
    return buf_str(&b);
}

static void add_guarded(Maker *k, MutKind kind, const char *put, const char *guard) {
    if (strcmp(put, k->now.was) == 0 && strcmp(guard, k->now.guard) == 0) return;
    k->list = arena_grow(k->arena, k->list, &k->cap, (size_t)k->n + 1, sizeof *k->list);
    PtxMutant *m = &k->list[k->n++];
    *m = k->now;
    m->kind = kind;
    m->put = put;
    m->new_guard = arena_strdup(k->arena, guard);
}

static void add(Maker *k, MutKind kind, const char *put) {
    add_guarded(k, kind, put, k->inst.guard);
}

/* The instruction with another operand, or another name.  */
static void operand(Maker *k, MutKind kind, int i, const char *with) {
    Inst x = k->inst;
    snprintf(x.operand[i], WORD, "%s", with);
    add(k, kind, text_of(k->arena, &x));
}

static void number(Maker *k, MutKind kind, int i, long long with) {
    char text[32];
    snprintf(text, sizeof text, "%lld", with);
    operand(k, kind, i, text);
}

static void rename_op(Maker *k, MutKind kind, const char *part, const char *with) {
    Inst x = k->inst;
    const char *at = strstr(k->inst.op, part);
    if (!at) return;
    snprintf(x.op, WORD, "%.*s%s%s", (int)(at - k->inst.op), k->inst.op, with, at + strlen(part));
    add(k, kind, text_of(k->arena, &x));
}

/* ---- what is spoiled ---- */

static void spoil_order(Maker *k) {
    const char *op = k->inst.op;
    long long n;
    if (starts(op, "bar.") || starts(op, "barrier.")) add(k, MUT_BARRIER, "");
    if (strstr(op, "commit_group")) add(k, MUT_COMMIT, "");
    if (strstr(op, "wait_all") || strstr(op, "wait_group")) add(k, MUT_WAIT, "");
    if (strstr(op, "wait_group") && is_number(k->inst.operand[0], &n))
        number(k, MUT_WAIT, 0, n + 1);
}

static void spoil_guard(Maker *k) {
    static const char *const swap[][2] = {{".ltu", ".leu"}, {".leu", ".ltu"}, {".gtu", ".geu"},
                                          {".geu", ".gtu"}, {".lt", ".le"},   {".le", ".lt"},
                                          {".gt", ".ge"},   {".ge", ".gt"},   {".eq", ".ne"},
                                          {".ne", ".eq"}};
    Inst *x = &k->inst;
    long long n;
    if (!starts(x->op, "setp.") || x->n != 3) return;
    for (size_t i = 0; i < sizeof swap / sizeof *swap; i++) {
        if (!strstr(x->op, swap[i][0])) continue;
        rename_op(k, MUT_GUARD, swap[i][0], swap[i][1]);
        break;
    }
    for (int truth = 0; truth < 2; truth++)
        add(k, MUT_GUARD, arena_printf(k->arena, "setp.%s.u32 %s, 0, 0;", truth ? "eq" : "ne",
                                       x->operand[0]));
    if (is_number(x->operand[2], &n)) {
        number(k, MUT_GUARD, 2, n + 1);
        number(k, MUT_GUARD, 2, n - 1);
    }
}

static void spoil_branch(Maker *k) {
    char other[WORD + 1];
    const char *g = k->inst.guard;
    if (!*g) return;
    bool not = g[1] == '!';
    snprintf(other, sizeof other, "@%s%s", not ? "" : "!", g + 1 + not);
    add_guarded(k, MUT_BRANCH, k->now.was, "");
    add_guarded(k, MUT_BRANCH, k->now.was, other);
}

static void spoil_mask(Maker *k) {
    Inst *x = &k->inst;
    if (starts(x->op, "selp.") && x->n == 4) {
        operand(k, MUT_MASK, 1, x->operand[2]);
        operand(k, MUT_MASK, 2, x->operand[1]);
    }
    if (starts(x->op, "cp.async.c") && x->n == 4 && x->operand[3][0] == '%') {
        operand(k, MUT_MASK, 3, x->operand[2]);
        operand(k, MUT_MASK, 3, "0");
    }
}

static void spoil_maximum(Maker *k) {
    Inst *x = &k->inst;
    bool max = starts(x->op, "max.");
    if ((!max && !starts(x->op, "min.")) || x->n != 3) return;
    operand(k, MUT_MAXIMUM, 2, x->operand[1]);
    operand(k, MUT_MAXIMUM, 1, x->operand[2]);
    rename_op(k, MUT_MAXIMUM, max ? "max" : "min", max ? "min" : "max");
}

static void spoil_bits(Maker *k) {
    Inst *x = &k->inst;
    long long n;
    bool logic = starts(x->op, "and.") || starts(x->op, "or.") || starts(x->op, "xor.");
    bool shift = starts(x->op, "shl.") || starts(x->op, "shr.");
    if ((!logic && !shift) || x->n != 3) return;
    bool pred = strstr(x->op, ".pred") != NULL;
    if (is_number(x->operand[2], &n)) {
        if (logic) number(k, MUT_BITS, 2, n ^ (n & -n));          /* without its lowest bit */
        if (logic) number(k, MUT_BITS, 2, n ^ ((n & -n) << 1));
        if (shift) number(k, MUT_BITS, 2, n + 1);
        if (shift) number(k, MUT_BITS, 2, n - 1);
        return;
    }
    if (pred || starts(x->op, "or.") || starts(x->op, "xor.")) {
        operand(k, pred ? MUT_GUARD : MUT_BITS, 2, x->operand[1]);
        operand(k, pred ? MUT_GUARD : MUT_BITS, 1, x->operand[2]);
    }
}

static bool is_integer(const char *op) {
    return strstr(op, ".s32") || strstr(op, ".u32") || strstr(op, ".s64") || strstr(op, ".u64") ||
           strstr(op, ".s16") || strstr(op, ".u16");
}

static void spoil_stride(Maker *k) {
    Inst *x = &k->inst;
    long long n;
    bool adds = starts(x->op, "add.") || starts(x->op, "sub."), shuffles = starts(x->op, "shfl.");
    bool times = starts(x->op, "mul.") || starts(x->op, "mad.");
    if (shuffles && x->n >= 3 && is_number(x->operand[2], &n)) {
        number(k, MUT_STRIDE, 2, n ^ 1);
        number(k, MUT_STRIDE, 2, 0);
    }
    if ((!adds && !times) || !is_integer(x->op) || x->n < 3) return;
    for (int i = 2; i < x->n; i++) {
        if (!is_number(x->operand[i], &n)) continue;
        number(k, MUT_STRIDE, i, n + 1);
        number(k, MUT_STRIDE, i, adds ? n + 16 : n - 1);
        if (n != 1 && n != -1) number(k, MUT_STRIDE, i, 2 * n);
    }
    if (adds && x->operand[2][0] == '%') operand(k, MUT_STRIDE, 2, "0");
}

static void spoil_offset(Maker *k) {
    Inst *x = &k->inst;
    bool load = starts(x->op, "ld.") || starts(x->op, "ldmatrix."), store = starts(x->op, "st.");
    if ((!load && !store) || strstr(x->op, ".param") || x->n < 2) return;
    int i = load ? 1 : 0;
    char *close = strchr(x->operand[i], ']'), *plus = strchr(x->operand[i], '+');
    if (!close || x->operand[i][0] != '[') return;
    long long n = plus ? strtoll(plus + 1, NULL, 0) : 0;
    int head = (int)((plus ? plus : close) - x->operand[i]);
    for (int step = 4; step <= 16; step *= 4)
        operand(k, MUT_OFFSET, i, arena_printf(k->arena, "%.*s+%lld]", head, x->operand[i],
                                               n + step));
}

int ptx_mutants(Arena *a, const char *ptx, PtxMutant **out) {
    Maker k = {.arena = a};
    bool body = false;
    int number_of_line = 0;
    for (const char *line = ptx; *line; line += strcspn(line, "\n"), line += *line == '\n') {
        size_t len = strcspn(line, "\n");
        number_of_line++;
        if (strstr(line, ".entry") && strstr(line, ".entry") < line + len) body = true;
        if (!body || !read_inst(line, len, &k.inst)) continue;
        k.now = (PtxMutant){.line = number_of_line, .was = text_of(a, &k.inst),
                            .guard = arena_strdup(a, k.inst.guard)};
        spoil_order(&k);
        spoil_guard(&k);
        spoil_branch(&k);
        spoil_mask(&k);
        spoil_maximum(&k);
        spoil_bits(&k);
        spoil_stride(&k);
        spoil_offset(&k);
    }
    *out = k.list;
    return k.n;
}

/* ---- texts ---- */

/* Registers of its own; of every width, so that values are compared as bits.  */
static const char registers[] = "\t.reg .pred %mut_p<4>;\n\t.reg .b16 %mut_h<4>;\n"
                                "\t.reg .b32 %mut_r<4>;\n\t.reg .b64 %mut_d<4>;\n";

/* The letter of the registers as wide as `name` is declared; 0: unknown.  */
static char width_of(const char *ptx, const char *at, const char *name) {
    size_t n = strcspn(name + 1, "0123456789") + 1;
    const char *found = NULL;
    char declared[WORD];
    snprintf(declared, sizeof declared, "\t%.*s<", (int)n, name);
    for (const char *p = ptx; (p = strstr(p, declared)) && p < at; p++) found = p;
    while (found && found > ptx && found[-1] != '\n') found--;
    if (!found) return 0;
    const char *type = strstr(found, ".reg ");
    const char *end = strchr(found, '\n');
    if (!type || type > end) return 0;
    type += strlen(".reg ");
    type += strspn(type, " ");
    return starts(type, ".pred") ? 'p' : strstr(type, "16") && strstr(type, "16") < end ? 'h'
           : strstr(type, "32") && strstr(type, "32") < end                         ? 'r'
           : strstr(type, "64") && strstr(type, "64") < end                         ? 'd' : 0;
}

/* `text` with `from` instead of `to` as its result.  */
static const char *into(Arena *a, const char *text, const char *from, const char *to) {
    const char *at = strstr(text, from);
    return arena_printf(a, "%.*s%s%s", (int)(at - text), text, to, at + strlen(from));
}

/* Of what gives no result in a register: the original behind a trap where the mutant differs.  */
static bool put_trap(Buf *b, const PtxMutant *m) {
    Inst x, y = {0};
    if (!read_inst(m->was, strlen(m->was), &x)) return false;
    const char *g = m->guard;
    bool drops = *g && !*m->new_guard, copy = m->kind == MUT_MASK && starts(x.op, "cp.async");
    if (copy && read_inst(m->put, strlen(m->put), &y))
        buf_printf(b, "\tsetp.ne.u32 %%mut_p0, %s, %s;\n\t@%%mut_p0 trap;\n", x.operand[3],
                   y.operand[3]);
    else if (drops) buf_printf(b, "\t@%s%s trap;\n", g[1] == '!' ? "" : "!", g + 1 + (g[1] == '!'));
    else buf_printf(b, "\t%s trap;\n", strcmp(g, m->new_guard) == 0 ? g : "");
    buf_printf(b, "\t%s %s", g, m->was);
    return true;
}

/* The original's result in register 0, the spoiled one's in 1; then a trap, or a result.  */
static bool put_both(Buf *b, Arena *a, const char *ptx, const char *at, const PtxMutant *m,
                     PtxForm form) {
    Inst x;
    if (!*m->put || strcmp(m->guard, m->new_guard) != 0 ||
        !read_inst(m->was, strlen(m->was), &x) || x.n < 2 || x.operand[0][0] != '%' ||
        strpbrk(x.operand[0], "|+"))
        return false;
    const char *d = x.operand[0], *g = m->guard;
    char w = width_of(ptx, at, d);
    const char *bits = w == 'p' ? "pred" : w == 'h' ? "b16" : w == 'r' ? "b32" : "b64";
    if (!w || (w == 'p' && (*g || form == PTX_ZEROS || form == PTX_ONES))) return false;
    const char *first = arena_printf(a, "%%mut_%c0", w), *second = arena_printf(a, "%%mut_%c1", w);
    buf_printf(b, "\t%s %s\n\t%s %s\n", g, into(a, m->was, d, first), g,
               into(a, m->put, d, second));
    if (w == 'p') {
        buf_printf(b, "\txor.pred %%mut_p2, %s, %s;\n", first, second);
    } else {
        buf_printf(b, "\tsetp.ne.%s %%mut_p2, %s, %s;\n", bits, first, second);
    }
    const char *own = *g ? arena_printf(a, "\tand.pred %%mut_p2, %%mut_p2, %s;\n", g + 1) : "";
    if (*g && g[1] == '!')
        own = arena_printf(a, "\tnot.pred %%mut_p3, %s;\n"
                           "\tand.pred %%mut_p2, %%mut_p2, %%mut_p3;\n", g + 2);
    buf_puts(b, own);
    if (form == PTX_DIFFERS) {
        buf_puts(b, "\t@%mut_p2 trap;\n");
    } else if (w == 'p') {
        buf_printf(b, "\txor.pred %s, %s, %%mut_p2;\n", first, first);
    } else if (form == PTX_FLIPPED) {
        buf_printf(b, "\t@%%mut_p2 not.%s %s, %s;\n", bits, first, first);
    } else {
        buf_printf(b, "\t@%%mut_p2 mov.%s %s, %s;\n", bits, first,
                   form == PTX_ZEROS ? "0" : w == 'h' ? "0x7fff" : w == 'r' ? "0x7fffffff"
                                                               : "0x7fffffffffffffff");
    }
    if (w == 'p') buf_printf(b, "\txor.pred %%mut_p3, %s, %s;\n\txor.pred %s, %%mut_p3, %s;\n",
                             first, first, d, first);
    else buf_printf(b, "\t%s mov.%s %s, %s;\n", g, bits, d, first);
    return true;
}

const char *ptx_mutant_text(Arena *a, const char *ptx, const PtxMutant *m, PtxForm form) {
    const char *line = ptx;
    for (int i = 1; i < m->line; i++) line = strchr(line, '\n') + 1;
    const char *entry = NULL, *p = ptx;
    while ((p = strstr(p, ".entry")) && p < line) entry = p++;
    const char *open = entry ? strstr(entry, "\n{") : NULL;
    if (!open || open > line) return NULL;
    open += strlen("\n{");
    Buf b = buf_new(a);
    buf_add(&b, ptx, (size_t)(open - ptx));
    if (form != PTX_SPOILED) buf_printf(&b, "\n%s", registers);
    buf_add(&b, open, (size_t)(line - open));
    if (form == PTX_SPOILED) buf_printf(&b, "\t%s %s", m->new_guard, m->put);
    else if (!put_both(&b, a, ptx, line, m, form) && (form != PTX_DIFFERS || !put_trap(&b, m)))
        return NULL;
    buf_puts(&b, line + strcspn(line, "\n"));
    return buf_str(&b);
}
