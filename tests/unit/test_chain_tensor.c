/* links: sim */
/* Attention with scores, terms and results in Tensor Memory, by two warpgroups of a block that
 * stays for two tiles: of every wait, fence and commit of its protocol the simulator notices that
 * it is not there, or is another one.  LONG=1 tries all.  */
#include "effort.h"
#include "kernel_fixture.h"
#include "plan_fixture.h"
#include "text_pattern.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <stdio.h>
#include <string.h>

/* Statements of the protocol, each of which is left out.  Not __syncwarp: what stands before it are
 * loads and stores of Tensor Memory, which whole warps do and wait for.  */
static const char *const statement[] = {
    "rl_barrier_wait(",  "rl_barrier_expect(",  "rl_barrier_arrive(", "rl_barrier_init(",
    "rl_tcgen05_after(", "rl_tcgen05_before(",  "rl_tcgen05_stored(", "rl_tcgen05_commit(",
    "rl_tcgen05_free<",  "rl_fence_proxy(",     "rl_bar_sync<",       "__syncthreads(",
};
enum { STATEMENTS = sizeof statement / sizeof *statement };

/* Pieces of a kernel, and what takes their place (text_pattern.h): columns, lanes, phases, where
 * sums begin.  */
static const struct {
    const char *piece, *other;
} mutant[] = {
    {"rl_tcgen05_commit(~1 + ~2 + (~3 + ~4) * 8);", "rl_barrier_arrive(~1 + ~2 + (~3 + ~4) * 8);"},
    {"rl_tcgen05_commit(~1 + ~2 + (~3 * ~4 + ~5) * 8);",
     "rl_barrier_arrive(~1 + ~2 + (~3 * ~4 + ~5) * 8);"},
    {"~1 * 2 / 4, ~2 + ", "~1 * 2 / 4 + 1, ~2 + "},
    {"rl_tcgen05_scale_n64(tensor + ", "rl_tcgen05_scale_n64(tensor + 8u + "},
    {"rl_tcgen05_load_n64_f32(~1[i][0], tensor", "rl_tcgen05_load_n64_f32(~1[i][0], 32u + tensor"},
    {"~1 % 4u * 2097152u;", "(~1 + 1) % 4u * 2097152u;"},
    {"0 < step + kk", "0 < step"},
    {"0 < step + kk", "true"},
    {"+ team * #1 + kk * 2 / 4", "+ kk * 2 / 4"},
    {"(team + i) * #1", "i * #1"},
    {"rl_barrier_init(~1 + ~2 + ~3 * 8, 4);", "rl_barrier_init(~1 + ~2 + ~3 * 8, 3);"},
};
enum { MUTANTS = sizeof mutant / sizeof *mutant };

/* The first program that stays, with so many warpgroups that fold.  */
static const char *keep_teams(KernelCase *c, int teams) {
    RProgSet *set = &c->set[0];
    int n = 0;
    for (int i = 0; i < set->n && n == 0; i++) {
        const RProg *r = &set->prog[i];
        bool several = r->stages > 1 && r->block.extent[AX_N] > 64 && rprog_persistent(r);
        if (several && r->threads == 128 * (teams + 1)) set->prog[n++] = *r;
    }
    set->n = n;
    return n > 0 ? NULL : "no program has so many warpgroups";
}

static const char *open_tensor(KernelCase *c, Arena *a, int teams) {
    const char *text =
        "op f(Q: bf16[500,64], K: bf16[300,64], V: bf16[300,64]) -> O: bf16[500,64] {"
        " s[i,j] = sum[d](Q[i,d] * K[j,d]) * 0.125;"
        " m[i] = max[j](s[i,j]);"
        " z[i] = sum[j](exp(s[i,j] - m[i]));"
        " O[i,e] = sum[j](bf16(exp(s[i,j] - m[i])) * V[j,e]) / z[i]; }";
    Device *dev = fixture_device(a, "b200");
    dev->limits.sm_count.value = 1;
    const char *bad = kernel_open_decided(c, a, dev, text, NULL, JOINED | CHAINS);
    if (!bad) bad = kernel_keep_groups(c);
    if (!bad) bad = keep_teams(c, teams);
    if (!bad) bad = kernel_pick(c, 0);
    return bad ? bad : kernel_emit(c);
}

/* Does any of some orders of events find the text wrong?  */
static bool is_caught(KernelCase *c, Nvrtc *nvrtc, const char *text) {
    enum { SEEDS = 4 };
    c->program.source = text;
    c->program.source_len = strlen(text);
    if (kernel_compile(c, nvrtc, false)) return true;
    for (uint64_t seed = 1; seed <= SEEDS; seed++)
        if (kernel_prove(c, seed)) return true;
    return false;
}

static int line_of(const char *text, const char *at) {
    int line = 1;
    for (; text < at; text++) line += *text == '\n';
    return line;
}

/* The next line of the kernel with such a statement; NULL: there is none.  */
static const char *next_line(const char *at, size_t *len) {
    for (; at && *at; at = strchr(at, '\n'), at = at ? at + 1 : NULL) {
        const char *end = strchr(at, '\n');
        const char *word = at + strspn(at, " ");
        *len = end ? (size_t)(end - at) : strlen(at);
        for (int i = 0; i < STATEMENTS; i++)
            if (strncmp(word, statement[i], strlen(statement[i])) == 0) return at;
    }
    return NULL;
}

/* A case with a kernel that is right.  */
static void open_right(KernelCase *c, Arena *a, Nvrtc **nvrtc) {
    Diag d = diag_new(a);
    if (nvrtc_open(a, &d, NULL, NULL, nvrtc)) skip();
    const char *bad = open_tensor(c, a, 2);
    if (bad) fail_msg("%s", bad);
    if (is_caught(c, *nvrtc, arena_strdup(a, c->program.source)))
        fail_msg("%s", kernel_report(c, "tensor", "it is wrong"));
}

static void every_statement_of_the_protocol_is_needed(void **state) {
    (void)state;
    Arena *a = arena_create(NULL);
    Nvrtc *nvrtc;
    KernelCase c;
    open_right(&c, a, &nvrtc);
    const char *right = c.program.source;
    int failed = 0, n = 0;
    size_t len;
    for (const char *at = next_line(strstr(right, "__global__"), &len); at;
         at = next_line(at + len + 1, &len)) {
        if (!effort_drawn(n++, 40)) continue;
        char *text = arena_printf(a, "%.*s%s", (int)(at - right), right, at + len);
        bool survives = !is_caught(&c, nvrtc, text);
        if (survives) printf("nobody misses '%.*s' at line %d\n", (int)len, at, line_of(right, at));
        failed += survives;
    }
    assert_true(n > 40);
    assert_int_equal(failed, 0);
    arena_destroy(a);
}

static void every_place_and_phase_is_needed(void **state) {
    (void)state;
    Arena *a = arena_create(NULL);
    Nvrtc *nvrtc;
    KernelCase c;
    open_right(&c, a, &nvrtc);
    const char *right = c.program.source;
    int failed = 0;
    for (int i = 0; i < MUTANTS; i++) {
        const char *text = pattern_replaced(a, right, mutant[i].piece, mutant[i].other);
        if (!text) fail_msg("no '%s' to change", mutant[i].piece);
        bool survives = effort_drawn(i, 5) && !is_caught(&c, nvrtc, text);
        if (survives) printf("nobody notices '%s' as '%s'\n", mutant[i].piece, mutant[i].other);
        failed += survives;
    }
    assert_int_equal(failed, 0);
    arena_destroy(a);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_statement_of_the_protocol_is_needed),
        cmocka_unit_test(every_place_and_phase_is_needed),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
