/* links: base */
#include "sass.h"
#include "base/elf.h"

#include <string.h>

enum { INSTRUCTION = 16 };

/* The code of a kernel: whole instructions.  */
static bool find_text(const void *cubin, size_t len, const char *kernel, ElfSection *s) {
    return elf_section(cubin, len, ".text.", kernel, s) && s->len % INSTRUCTION == 0;
}

static uint32_t opcode(const uint8_t *code, int64_t at) {
    return (uint32_t)elf_number(code + at * INSTRUCTION, 2) & 0xfff;
}

/* Has the instruction the guard !PT: predicate 7, which is always true, negated?  */
static bool never_runs(const uint8_t *code, int64_t at) {
    enum { GUARD_SHIFT = 4, NOT_TRUE = 0xf };
    return code[at * INSTRUCTION + 1] >> GUARD_SHIFT == NOT_TRUE;
}

/* Opcodes of instructions [from, to).  */
static void count_range(const uint8_t *code, int64_t from, int64_t to, uint32_t *count) {
    memset(count, 0, SASS_OPCODES * sizeof *count);
    for (int64_t at = from; at < to; at++) count[opcode(code, at)] += !never_runs(code, at);
}

bool sass_opcodes(const void *cubin, size_t len, const char *kernel, uint32_t *count) {
    ElfSection s;
    if (!find_text(cubin, len, kernel, &s))
        return false;
    count_range(s.data, 0, (int64_t)(s.len / INSTRUCTION), count);
    return true;
}

/* Where the branch at `at` goes, by a predicate or a uniform one: an instruction number; at + 1 for
 * what is no branch or does not say.  Offsets count from the next instruction: bytes in the upper
 * half of the first word, from sm_90 on units of 4 bytes, whose lowest 8 bits lie apart.  */
static int64_t branch_target(const uint8_t *code, int64_t at, int cc, int64_t n) {
    enum { BRA = 0x947, BRA_UNIFORM = 0x547, NOT_OFFSET = 3 };
    const uint8_t *p = code + at * INSTRUCTION;
    if (opcode(code, at) != BRA && opcode(code, at) != BRA_UNIFORM)
        return at + 1;
    int64_t offset = (int64_t)(elf_number(p + 4, 4) & ~(uint64_t)NOT_OFFSET);
    if (offset > INT32_MAX)
        offset -= (int64_t)1 << 32;
    if (cc >= 90)
        offset = offset / 4 * 1024 + p[2] * 4;
    int64_t to = at + 1 + offset / INSTRUCTION;
    return to < 0 || to > n ? at + 1 : to;
}

bool sass_loop_opcodes(const void *cubin, size_t len, const char *kernel, int cc, uint32_t op,
                       uint32_t *count) {
    ElfSection s;
    if (!find_text(cubin, len, kernel, &s))
        return false;
    const uint8_t *code = s.data;
    int64_t n = (int64_t)(s.len / INSTRUCTION), from = 0, to = INT64_MAX;
    for (int64_t at = 0; at < n; at++) {
        int64_t target = branch_target(code, at, cc, n), has = target;
        while (has <= at && opcode(code, has) != op) has++;
        if (has > at || at + 1 - target >= to - from)
            continue;
        from = target;
        to = at + 1;
    }
    if (to == INT64_MAX)
        return false;
    /* Parts of the body may stand in front of its first instruction.  */
    for (int64_t at = from; at < to; at++) {
        int64_t target = branch_target(code, at, cc, n);
        if (target < from)
            from = target;
    }
    count_range(code, from, to, count);
    return true;
}

/* CS2R of SR_CLOCKLO.  */
static bool reads_clock(const uint8_t *code, int64_t at) {
    enum { CS2R = 0x805, SPECIAL = 9, CLOCK = 0x50 };
    return opcode(code, at) == CS2R && code[at * INSTRUCTION + SPECIAL] == CLOCK;
}

bool sass_clocked_opcodes(const void *cubin, size_t len, const char *kernel, uint32_t *count) {
    ElfSection s;
    if (!find_text(cubin, len, kernel, &s))
        return false;
    const uint8_t *code = s.data;
    int64_t n = (int64_t)(s.len / INSTRUCTION), from = 0, to = n;
    while (from < n && !reads_clock(code, from)) from++;
    while (to > from && !reads_clock(code, to - 1)) to--;
    if (to <= from + 1)
        return false;
    count_range(code, from, to, count);
    return true;
}
