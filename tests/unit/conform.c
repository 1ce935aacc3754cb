/* links: sim */
#include "conform.h"
#include "ptxrun.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>

#include <cmocka.h>

enum { ELEMENTS = 2048, BLOCK = 256 };

static const uint64_t words[] = {0, 1, 2, 3, 0x7f, 0x80, 0xff, 0x7fff, 0x8000, 0xffff, 0x10000,
                                 0x7fffffff, 0x80000000, 0xffffffff, 0x100000000, 0x12345678,
                                 0x7fffffffffffffff, 0x8000000000000000, 0xffffffffffffffff};
static const uint32_t floats[] = {0, 0x80000000, 1, 0x80000001, 0x007fffff, 0x00800000, 0x3f800000,
                                  0xbf800000, 0x3f000000, 0x40490fdb, 0x4b000001, 0xcb000000,
                                  0x7f7fffff, 0xff7fffff, 0x7f800000, 0xff800000, 0x7fc00001,
                                  0x33800000, 0x3fc00000, 0x40200000, 0x4f000000, 0x5f000000};
static const uint64_t doubles[] = {0, 0x8000000000000000, 1, 0x000fffffffffffff, 0x0010000000000000,
                                   0x3ff0000000000000, 0xbff0000000000000, 0x3fe0000000000000,
                                   0x400921fb54442d18, 0x7fefffffffffffff, 0x7ff0000000000000,
                                   0xfff0000000000000, 0x7ff8000000000001, 0x43e0000000000000,
                                   0x36a0000000000000, 0x47efffffe0000000, 0x3ca0000000000000};
static const uint16_t halves[] = {0, 0x8000, 1, 0x03ff, 0x0400, 0x3c00, 0xbc00, 0x3800, 0x7bff,
                                  0xfbff, 0x7c00, 0xfc00, 0x7e01, 0x3555, 0x6400, 0x1400};

#define PICK(rng, list) (list)[rng_below(rng, sizeof(list) / sizeof((list)[0]))]

static uint64_t real32(Rng *r) {
    uint32_t kind = rng_below(r, 4), bits = (uint32_t)rng_next(r);
    if (kind == 0) return PICK(r, floats);
    if (kind == 1) return bits;                          /* any pattern */
    return (bits & 0x807fffff) | (uint32_t)(117 + rng_below(r, 20)) << 23;   /* near 1 */
}

static uint64_t real64(Rng *r) {
    uint32_t kind = rng_below(r, 4);
    uint64_t bits = rng_next(r);
    if (kind == 0) return PICK(r, doubles);
    if (kind == 1) return bits;
    return (bits & 0x800fffffffffffff) | (uint64_t)(1013 + rng_below(r, 20)) << 52;
}

static uint64_t value(Rng *r, char type) {
    switch (type) {
    case 'f': return real32(r);
    case 'g': return real64(r);
    case 's': return rng_below(r, 8) ? rng_below(r, 70) : (uint32_t)rng_next(r);
    case 'e':
    case 'u': {
        uint64_t low = rng_below(r, 3) ? rng_next(r) & 0xffff : PICK(r, halves);
        uint64_t high = rng_below(r, 3) ? rng_next(r) & 0xffff : PICK(r, halves);
        return low | high << 16;
    }
    default: {
        uint64_t any = rng_next(r);
        uint32_t kind = rng_below(r, 4);
        if (kind == 0) return PICK(r, words);
        return kind == 1 ? any % 1000 - 500 : any;
    }
    }
}

static uint64_t mask_of(char type) {
    switch (type) {
    case 'h': return 0xffff;
    case 'l':
    case 'g': return UINT64_MAX;
    case 'p':
    case 'q': return 1;
    default: return UINT32_MAX;
    }
}

static const char *width(char type) {
    return type == 'h' ? "b16" : type == 'l' || type == 'g' ? "b64" : type == 'p' ? "pred" : "b32";
}

static const char *text(Arena *a, const Conform *row) {
    static const char names[] = "dabc";
    Buf b = buf_new(a);
    buf_puts(&b,
             PTX_HEAD ".visible .entry k(.param .u64 pa, .param .u64 pb, .param .u64 pc, "
                      ".param .u64 pd)\n{\n.reg .b64 %x<8>;\n.reg .b32 %i<4>;\n.reg .pred p, q;\n");
    bool set = row->types[0] == 'p', guard = strchr(row->types + 1, 'q') != NULL;
    for (size_t k = 0; k < strlen(row->types); k++) {
        char t = row->types[k];
        if (t == 'p') buf_puts(&b, ".reg .b32 d;\n");
        else if (t != 'q') buf_printf(&b, ".reg .%s %c;\n", width(t), names[k]);
    }
    buf_puts(&b, "mov.u32 %i0, %tid.x;\nmov.u32 %i1, %ctaid.x;\nmad.lo.u32 %i0, %i1, 256, %i0;\n"
                 "mul.wide.u32 %x0, %i0, 8;\n");
    for (size_t k = 1; k < strlen(row->types); k++) {
        if (row->types[k] == 'q') continue;
        buf_printf(
            &b, "ld.param.u64 %%x1, [p%c];\nadd.u64 %%x1, %%x1, %%x0;\nld.global.%s %c, [%%x1];\n",
            names[k], width(row->types[k]), names[k]);
    }
    if (guard) {
        buf_puts(&b, "ld.param.u64 %x1, [pc];\nadd.u64 %x1, %x1, %x0;\nld.global.u32 %i2, [%x1];\n"
                     "and.b32 %i2, %i2, 1;\nsetp.eq.u32 q, %i2, 1;\n");
    }
    buf_printf(&b, "%s\n", row->inst);
    if (set) buf_puts(&b, "selp.u32 d, 1, 0, p;\n");
    buf_printf(
        &b,
        "ld.param.u64 %%x1, [pd];\nadd.u64 %%x1, %%x1, %%x0;\nst.global.%s [%%x1], d;\nret;\n}\n",
        set ? "b32" : width(row->types[0]));
    return buf_str(&b);
}

static void check(const Conform *row) {
    static uint64_t in[3][ELEMENTS];
    PtxRun r;
    run_open(&r);
    Rng rng = {hash64(row->inst, strlen(row->inst), 1)};
    size_t sources = strlen(row->types) - 1;
    for (size_t s = 0; s < 3; s++) {
        char t = s < sources ? row->types[s + 1] : 'l';
        for (int k = 0; k < ELEMENTS; k++)
            in[s][k] = value(&rng, t) & (t == 'q' ? UINT64_MAX : mask_of(t));
        run_memory(&r, in[s], sizeof in[s]);
    }
    run_memory(&r, NULL, sizeof in[0]);
    r.launch.block[0] = BLOCK;
    r.launch.grid[0] = ELEMENTS / BLOCK;
    run_clean(&r, text(r.arena, row));
    const uint64_t *out = run_host(&r, 3);
    uint64_t mask = mask_of(row->types[0]);
    for (int k = 0; k < ELEMENTS; k++) {
        uint64_t want = row->want(in[0][k], in[1][k], in[2][k]) & mask, got = out[k] & mask;
        if (want == got) continue;
        fail_msg("%s\na %016llx b %016llx c %016llx: got %llx, expected %llx", row->inst,
                 (unsigned long long)in[0][k], (unsigned long long)in[1][k],
                 (unsigned long long)in[2][k], (unsigned long long)got, (unsigned long long)want);
    }
    run_close(&r);
}

void conform_run(const Conform *rows, int n) {
    for (int k = 0; k < n; k++) check(&rows[k]);
}
