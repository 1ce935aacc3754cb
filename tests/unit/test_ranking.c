/* Golden ranking: the ten best plans of some forty problems, as text to be reviewed as a diff.
 * With UPDATE set in the environment tests/golden/ranking.txt is written anew.  */
#include "base/file.h"
#include "microperf/microperf.h"
#include "plan_fixture.h"
#include "workload.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

static const char golden_file[] = "tests/golden/ranking.txt";

static const struct {
    const char *profile, *set, *id;
} problems[] = {
    {"a100", "bolt", "SQ-1024-f16"},      {"a100", "bolt", "SQ-4096-f16"},
    {"a100", "bolt", "SQ-8192-f16"},      {"a100", "bolt", "SQ-8192-bf16"},
    {"a100", "bolt", "SQ-4096-i8"},       {"a100", "bolt", "SQ-4096-f8e4m3"},
    {"a100", "bolt", "SQ-4096-f32"},      {"a100", "bolt", "BERT-0-f16"},
    {"a100", "bolt", "EPI-1-gelu"},       {"a100", "bolt", "EPIRES-1"},
    {"a100", "bolt", "BMMSQ-1"},          {"a100", "bolt", "RN50-2-b34"},
    {"a100", "bolt", "RN50-13-b256"},     {"a100", "bolt", "PADC-1"},
    {"a100", "bolt", "REPA0-0-b32"},      {"a100", "tvm21", "RN18-1-b1-f16"},
    {"a100", "tvm21", "RN18-8-b128-f16"}, {"a100", "ansor", "GMM-2-b1"},
    {"a100", "llm", "llama3-8b-o-m1-f16"},
    {"h200", "bolt", "SQ-4096-f16"},      {"h200", "bolt", "SQ-8192-bf16"},
    {"h200", "bolt", "SQ-8192-i8"},       {"h200", "bolt", "SQ-8192-f8e4m3"},
    {"h200", "bolt", "RN50-10-b34"},      {"h200", "llm", "llama3-8b-o-m1-bf16"},
    {"h200", "llm", "llama3-8b-o-m8-bf16"},
    {"h200", "llm", "llama3-8b-o-m16-bf16"},
    {"h200", "llm", "llama3-8b-o-m64-bf16"},
    {"h200", "llm", "llama3-8b-o-m128-bf16"},
    {"h200", "llm", "qwen3-30b-a3b-expert-gateup-m32-bf16"},
    {"h200", "llm", "llama3-8b-o-m2048-bf16"},
    {"h200", "llm", "llama3-70b-qkv-m512-f8e4m3"},
    {"h200", "llm", "llama3-70b-gateup-m8-i8"},
    {"rtx4090", "bolt", "SQ-4096-f16"},   {"rtx4090", "bolt", "SQ-8192-bf16"},
    {"rtx4090", "bolt", "SQ-4096-i8"},    {"rtx4090", "bolt", "SQ-4096-f8e4m3"},
    {"rtx4090", "bolt", "RN50-5-b256"},   {"rtx4090", "llm", "llama3-8b-o-m16-f16"},
    {"v100", "bolt", "SQ-1024-f16"},      {"tiny", "bolt", "RN50-2-b1"},
};

static Workload find(Arena *a, const char *set, const char *id) {
    Diag d = diag_new(a);
    WorkloadSet rows;
    const char *path = arena_printf(a, "benchmarks/workloads/%s.csv", set);
    assert_int_equal(workload_read(a, &d, path, &rows), ST_OK);
    for (int i = 0; i < rows.n; i++) {
        if (strcmp(rows.row[i].id, id) == 0) return rows.row[i];
    }
    fail_msg("%s has no row %s", set, id);
    return (Workload){0};
}

static void rank(Arena *a, const char *profile, const char *set, const char *id, Buf *out) {
    enum { BEST = 10 };
    Diag d = diag_new(a);
    Device *dev = fixture_device(a, profile);
    Workload w = find(a, set, id);
    Buf text = buf_new(a);
    Te *te, *normal;
    KernelGroup *group;
    assert_true(workload_te(&w, NULL, &text));
    const char *source = buf_str(&text);
    if (te_parse(a, &d, diag_text(id, source), NULL, NULL, &te) ||
        te_normalize(a, &d, te, &normal)) {
        fail_msg("%s: %s", id, d.messages[0].message);
    }
    int n = access_groups(a, normal, &group);
    for (int g = 0; g < n; g++) {
        Problem p;
        RProgSet all;
        Ranked *best;
        if (rtile_problem(a, &d, normal, &group[g], 16, &p) ||
            rprog_candidates(a, &d, &p, dev, NULL, &all)) {
            fail_msg("%s on %s: %s", id, profile, d.messages[0].message);
        }
        int found = mp_rank(a, &p, dev, &all, BEST, &best);
        buf_printf(out, "%s on %s", id, profile);
        if (n > 1) buf_printf(out, ", kernel %d", g);
        buf_putc(out, '\n');
        for (int i = 0; i < found; i++) {
            long long tenths = (long long)(best[i].estimate.us * 10 + 0.5);
            assert_null(rprog_check(&p, dev, &best[i].prog));
            buf_printf(out, "  %lld.%lld us  ", tenths / 10, tenths % 10);
            mp_summary(&p, dev, &best[i].prog, out);
            buf_putc(out, '\n');
        }
    }
}

/* The first line that differs, as a message.  */
static void compare(const char *want, const char *got) {
    int line = 1;
    while (*want && *got) {
        size_t x = strcspn(want, "\n"), y = strcspn(got, "\n");
        if (x != y || memcmp(want, got, x) != 0) break;
        want += x + (want[x] == '\n');
        got += y + (got[y] == '\n');
        line++;
    }
    if (*want || *got) {
        fail_msg("%s:%d: is    %.*s\nnow it is %.*s\nUPDATE=1 writes it anew", golden_file, line,
                 (int)strcspn(want, "\n"), want, (int)strcspn(got, "\n"), got);
    }
}

static void body(void *user) {
    Arena *a = user;
    Diag d = diag_new(a);
    Buf out = buf_new(a);
    char *want;
    size_t len;
    for (size_t i = 0; i < sizeof problems / sizeof *problems; i++) {
        Arena *own = arena_create(NULL);
        Buf part = buf_new(own);
        rank(own, problems[i].profile, problems[i].set, problems[i].id, &part);
        buf_puts(&out, buf_str(&part));
        arena_destroy(own);
    }
    if (getenv("UPDATE")) {
        FILE *f = fopen(golden_file, "w");
        assert_non_null(f);
        assert_true(fputs(buf_str(&out), f) >= 0);
        assert_int_equal(fclose(f), 0);
        return;
    }
    assert_int_equal(file_read(a, &d, golden_file, 1 << 20, &want, &len), ST_OK);
    compare(want, buf_str(&out));
}

static void rankings_are_as_reviewed(void **state) {
    (void)state;
    Arena *a = arena_create(NULL);
    assert_true(arena_try(a, body, a));
    arena_destroy(a);
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(rankings_are_as_reviewed)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
