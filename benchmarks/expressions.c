/* expressions: every row of the workload sets with its expression, one JSON object per line.
 *
 *     expressions [FOLDER] >rows.jsonl
 *
 * For programs that have no C compiler at hand (gpu/run).  */
#include "base/json.h"
#include "workload.h"
#include <stdio.h>

static const char *const sets[] = {"roller119", "ansor", "tvm21", "bolt", "llm", "rowops"};

static void pair(Buf *out, const char *key, const char *text, const char *after) {
    json_write_string(key, out);
    buf_puts(out, ": ");
    json_write_string(text, out);
    buf_puts(out, after);
}

/* False: the operator has no rule.  */
static bool write_row(const Workload *w, Buf *out) {
    Buf te = buf_new(out->arena);
    if (!workload_te(w, NULL, &te)) return false;
    buf_putc(out, '{');
    pair(out, "id", w->id, ", ");
    pair(out, "set", w->set, ", ");
    pair(out, "op", w->op, ", ");
    pair(out, "dtype", w->dtype, ", ");
    buf_puts(out, "\"contraction\": ");
    buf_puts(out, workload_is_contraction(w) ? "true, " : "false, ");
    buf_puts(out, "\"params\": {");
    for (int i = 0; i < w->n_key; i++)
        pair(out, w->key[i], w->word[i], i + 1 < w->n_key ? ", " : "");
    buf_puts(out, "}, ");
    pair(out, "te", buf_str(&te), "}\n");
    return true;
}

typedef struct {
    const char *folder;
    Arena *a;
    int code;
} Main;

static void run(void *user) {
    Main *m = user;
    Arena *a = m->a;
    Diag d = diag_new(a);
    for (size_t i = 0; i < sizeof sets / sizeof *sets; i++) {
        WorkloadSet set;
        if (workload_read(a, &d, arena_printf(a, "%s/%s.csv", m->folder, sets[i]), &set)) {
            fprintf(stderr, "expressions: %s\n", diag_first_error(&d)->message);
            m->code = 1;
            return;
        }
        Buf out = buf_new(a);
        for (int k = 0; k < set.n; k++)
            if (!write_row(&set.row[k], &out)) m->code = 1;
        if (fwrite(out.text, 1, out.len, stdout) != out.len) m->code = 3;
    }
}

int main(int argc, char **argv) {
    Main m = {.folder = argc > 1 ? argv[1] : "benchmarks/workloads", .a = arena_create(NULL)};
    if (!m.a || !arena_try(m.a, run, &m)) m.code = 3;
    arena_destroy(m.a);
    return fflush(stdout) ? 3 : m.code;
}
