#include "codegen/blocks.h"

/* cp.async: global to shared memory without registers; what lies outside arrives as zeros.  */

static void copy(Kernel *k, const Side *s, const char *source, const char *test,
                 const char *wanted) {
    Cg *cg = k->cg;
    const char *to = address_chunk(k, s);
    if (s->elem > 1) to = cg_text(cg, *to == '(' ? "%s * %d" : "(%s) * %d", to, s->elem);
    cg_line(cg, "rl_cp_async_%d%s(%s%sshared%s + %c_TILE + %s, %s, %s);", s->l->vec * s->elem,
            wanted ? "_if" : "", wanted ? wanted : "", wanted ? ", " : "", load_stage(k, "put"),
            s->id - 32, to, source, test);
}

/* Chunks whose positions come from tables: a group of reads, then a group of copies, since the
 * hardware waits where one kind of access to shared memory follows the other.  */
static void load_groups(Kernel *k, const Side *s) {
    enum { GROUP = 8 };
    Cg *cg = k->cg;
    int size = s->per_thread < GROUP ? s->per_thread : GROUP;
    const char *live = address_live(k, s);
    const char *bound = s->per_thread % size ? cg_text(cg, "g + %d && i < %d", size, s->per_thread)
                                             : cg_text(cg, "g + %d", size);
    cg_line(cg, "#pragma unroll");
    cg_open(cg, "for (int g = 0; g < %d; g += %d)", s->per_thread, size);
    cg_line(cg, "const %s *from[%d];", cg_storage(s->o->storage), size);
    cg_line(cg, "bool inside[%d];", size);
    cg_line(cg, "#pragma unroll");
    cg_open(cg, "for (int i = g; i < %s; i++)", bound);
    if (live) cg_open(cg, "if (%s)", live);
    const char *source = address_source(k, s);
    cg_line(cg, "from[i - g] = %s;", source);
    cg_line(cg, "inside[i - g] = %s;", address_test(k, s));
    if (live) cg_close(cg);
    cg_close(cg);
    cg_line(cg, "#pragma unroll");
    cg_open(cg, "for (int i = g; i < %s; i++)", bound);
    if (live) cg_open(cg, "if (%s)", live);
    copy(k, s, "from[i - g]", "inside[i - g]", NULL);
    if (live) cg_close(cg);
    cg_close(cg);
    cg_close(cg);
}

void load_async(Kernel *k, const Side *s) {
    Cg *cg = k->cg;
    if (s->table) {
        load_groups(k, s);
        return;
    }
    cg_line(cg, "#pragma unroll");
    cg_open(cg, "for (int i = 0; i < %d; i++)", s->per_thread);
    const char *live = address_live(k, s);
    if (live) cg_open(cg, "if (%s)", live);
    const char *source = address_source(k, s), *test = address_test(k, s);
    copy(k, s, source, test ? test : "true", NULL);
    if (live) cg_close(cg);
    cg_close(cg);
}

/* The row behind which chunk i of n is copied.  */
static const char *row_of(const Cg *cg, int rows, int n) {
    if (rows == n) return "i";
    return rows % n == 0 ? cg_text(cg, "i * %d", rows / n) : cg_text(cg, "i * %d / %d", rows, n);
}

/* Opens a loop over the chunks behind a row.  */
static void open_row(Kernel *k, const Side *s, const char *row, int rows) {
    Cg *cg = k->cg;
    cg_line(cg, "#pragma unroll");
    cg_open(cg, "for (int i = 0; i < %d; i++)", s->per_thread);
    cg_open(cg, "if (%s == %s)", row_of(cg, rows, s->per_thread), row);
}

/* Positions from tables: reads, then copies, as above.  */
static void load_group_row(Kernel *k, const Side *s, const char *row, int rows) {
    Cg *cg = k->cg;
    const char *live = address_live(k, s);
    cg_scope(cg);
    cg_line(cg, "const %s *from[%d];", cg_storage(s->o->storage), s->per_thread);
    cg_line(cg, "bool inside[%d];", s->per_thread);
    open_row(k, s, row, rows);
    if (live) cg_open(cg, "if (%s)", live);
    const char *source = address_source(k, s);
    cg_line(cg, "from[i] = %s;", source);
    cg_line(cg, "inside[i] = %s;", address_test(k, s));
    if (live) cg_close(cg);
    cg_close(cg);
    cg_close(cg);
    open_row(k, s, row, rows);
    copy(k, s, "from[i]", "inside[i]", live ? cg_text(cg, "more && %s", live) : "more");
    cg_close(cg);
    cg_close(cg);
    cg_close(cg);
}

void load_async_row(Kernel *k, const Side *s, const char *row, int rows) {
    Cg *cg = k->cg;
    if (s->table) {
        load_group_row(k, s, row, rows);
        return;
    }
    open_row(k, s, row, rows);
    const char *live = address_live(k, s), *test = address_test(k, s);
    const char *source = address_source(k, s);
    copy(k, s, source, test ? test : "true", live ? cg_text(cg, "more && %s", live) : "more");
    cg_close(cg);
    cg_close(cg);
}
