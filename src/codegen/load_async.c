#include "codegen/blocks.h"

/* cp.async: global to shared memory without registers; what lies outside arrives as zeros.  */

static void copy(Kernel *k, const Side *s, const char *source, const char *test,
                 const char *wanted) {
    Cg *cg = k->cg;
    const char *to = address_chunk(k, s);
    if (s->elem > 1) to = cg_text(cg, *to == '(' ? "%s * %d" : "(%s) * %d", to, s->elem);
    cg_line(cg, "%s%s(%s%sshared%s + %c_TILE + %s, %s, %s);", load_function(k, s),
            wanted ? "_if" : "", wanted ? wanted : "", wanted ? ", " : "", load_stage(k, "put"),
            s->id - 32, to, source, test);
}

/* Opens a loop over the chunks of a group, of those that are `wanted`.  */
static void open_group(Kernel *k, const Side *s, int size, const char *wanted) {
    Cg *cg = k->cg;
    cg_line(cg, "#pragma unroll");
    cg_open(cg, "for (int j = 0; j < %d; j++)", size);
    cg_line(cg, "const int i = g + j;");
    if (s->per_thread % size) cg_line(cg, "if (i >= %d) break;", s->per_thread);
    if (wanted) cg_open(cg, "if (%s)", wanted);
}

static void close_group(Kernel *k, const char *wanted) {
    if (wanted) cg_close(k->cg);
    cg_close(k->cg);
}

/* Chunks whose positions come from tables: a group of reads, then a group of copies, since the
 * hardware waits where one kind of access to shared memory follows the other.  More: an expression
 * that says whether there is anything to copy; NULL: there is.  */
static void load_groups(Kernel *k, const Side *s, int size, const char *wanted, const char *more) {
    Cg *cg = k->cg;
    cg_line(cg, "const %s *from[%d];", cg_storage(s->o->storage), size);
    cg_line(cg, "bool inside[%d];", size);
    open_group(k, s, size, wanted);
    const char *source = address_source(k, s);
    cg_line(cg, "from[j] = %s;", source);
    cg_line(cg, "inside[j] = %s;", address_test(k, s));
    close_group(k, wanted);
    open_group(k, s, size, wanted);
    copy(k, s, "from[j]", "inside[j]", more);
    close_group(k, wanted);
}

static int group_size(const Side *s) {
    enum { GROUP = 8 };
    return s->per_thread < GROUP ? s->per_thread : GROUP;
}

static void load_chunks(Kernel *k, const Side *s, const char *live) {
    if (live) cg_open(k->cg, "if (%s)", live);
    const char *source = address_source(k, s), *test = address_test(k, s);
    copy(k, s, source, test ? test : "true", NULL);
    if (live) cg_close(k->cg);
}

/* The first steps' copies are instructions that run once: where they are many, a loop of groups,
 * none of which waits for the data of another.  */
void load_async(Kernel *k, const Side *s, bool first) {
    Cg *cg = k->cg;
    const char *live = address_live(k, s);
    k->group = first ? address_group(k, s) : 0;
    if (!k->group && !s->table) {
        cg_line(cg, "#pragma unroll");
        cg_open(cg, "for (int i = 0; i < %d; i++)", s->per_thread);
        load_chunks(k, s, live);
        cg_close(cg);
        return;
    }
    int size = k->group ? k->group : group_size(s);
    cg_line(cg, "#pragma unroll%s", k->group ? " 1" : "");
    cg_open(cg, "for (int g = 0; g < %d; g += %d)", s->per_thread, size);
    if (s->table) {
        load_groups(k, s, size, live, NULL);
    } else {
        open_group(k, s, size, NULL);
        load_chunks(k, s, live);
        close_group(k, NULL);
    }
    cg_close(cg);
    k->group = 0;
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

/* Positions from tables: in groups as above, of which a row takes what it has.  */
static void load_group_row(Kernel *k, const Side *s, const char *row, int rows) {
    Cg *cg = k->cg;
    const char *live = address_live(k, s);
    const char *wanted = cg_text(cg, "%s == %s", row_of(cg, rows, s->per_thread), row);
    int size = group_size(s);
    if (live) wanted = cg_text(cg, "%s && %s", wanted, live);
    cg_line(cg, "#pragma unroll");
    cg_open(cg, "for (int g = 0; g < %d; g += %d)", s->per_thread, size);
    load_groups(k, s, size, wanted, "more");
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
