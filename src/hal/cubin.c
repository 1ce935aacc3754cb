#include "hal/nvrtc.h"

#include <string.h>

/* An ELF64 little-endian image (System V ABI, "Object Files"); every offset is checked, since a
 * cubin may come from a file.  */
typedef struct {
    const uint8_t *data;
    size_t len;
} Image;

typedef struct {
    uint64_t name, offset, size;
} Section;

enum { HEADER = 64, SECTION_HEADER = 64, INSTRUCTION = 16 };

static uint64_t little(const uint8_t *p, int bytes) {
    uint64_t v = 0;
    for (int i = 0; i < bytes; i++)
        v |= (uint64_t)p[i] << (8 * i);
    return v;
}

static bool inside(Image m, uint64_t offset, uint64_t size) {
    return offset <= m.len && size <= m.len - offset;
}

static bool section(Image m, uint64_t table, uint64_t i, Section *out) {
    if (!inside(m, table, (i + 1) * SECTION_HEADER))
        return false;
    const uint8_t *h = m.data + table + i * SECTION_HEADER;
    *out = (Section){little(h, 4), little(h + 24, 8), little(h + 32, 8)};
    return true;
}

/* Whether the name of a section is ".text." and the kernel.  */
static bool is_text(Image m, Section names, uint64_t name, const char *kernel) {
    static const char prefix[] = ".text.";
    size_t head = sizeof prefix - 1, len = strlen(kernel) + 1;
    if (name > names.size || head + len > names.size - name)
        return false;
    const uint8_t *s = m.data + names.offset + name;
    return !memcmp(s, prefix, head) && !memcmp(s + head, kernel, len);
}

/* The code of a kernel: whole instructions.  */
static bool find_text(Image m, const char *kernel, Section *s) {
    static const uint8_t magic[] = {0x7f, 'E', 'L', 'F', 2, 1};
    if (m.len < HEADER || memcmp(m.data, magic, sizeof magic))
        return false;
    uint64_t table = little(m.data + 40, 8), size = little(m.data + 58, 2);
    uint64_t n = little(m.data + 60, 2), strings = little(m.data + 62, 2);
    Section names;
    if (size != SECTION_HEADER || strings >= n || !section(m, table, strings, &names) ||
        !inside(m, names.offset, names.size))
        return false;
    for (uint64_t i = 0; i < n; i++) {
        if (!section(m, table, i, s))
            return false;
        if (is_text(m, names, s->name, kernel))
            return inside(m, s->offset, s->size) && s->size % INSTRUCTION == 0;
    }
    return false;
}

static uint32_t opcode(const uint8_t *code, int64_t at) {
    return (uint32_t)little(code + at * INSTRUCTION, 2) & 0xfff;
}

/* Opcodes of instructions [from, to).  */
static void count_range(const uint8_t *code, int64_t from, int64_t to, uint32_t count[4096]) {
    memset(count, 0, 4096 * sizeof *count);
    for (int64_t at = from; at < to; at++) count[opcode(code, at)]++;
}

bool nvrtc_opcodes(const void *cubin, size_t len, const char *kernel, uint32_t count[4096]) {
    Image m = {cubin, len};
    Section s;
    if (!find_text(m, kernel, &s))
        return false;
    count_range(m.data + s.offset, 0, (int64_t)(s.size / INSTRUCTION), count);
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
    int64_t offset = (int64_t)(little(p + 4, 4) & ~(uint64_t)NOT_OFFSET);
    if (offset > INT32_MAX)
        offset -= (int64_t)1 << 32;
    if (cc >= 90)
        offset = offset / 4 * 1024 + p[2] * 4;
    int64_t to = at + 1 + offset / INSTRUCTION;
    return to < 0 || to > n ? at + 1 : to;
}

bool nvrtc_loop_opcodes(const void *cubin, size_t len, const char *kernel, int cc, uint32_t op,
                        uint32_t count[4096]) {
    Image m = {cubin, len};
    Section s;
    if (!find_text(m, kernel, &s))
        return false;
    const uint8_t *code = m.data + s.offset;
    int64_t n = (int64_t)(s.size / INSTRUCTION), from = 0, to = INT64_MAX;
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

bool nvrtc_clocked_opcodes(const void *cubin, size_t len, const char *kernel,
                           uint32_t count[4096]) {
    Image m = {cubin, len};
    Section s;
    if (!find_text(m, kernel, &s))
        return false;
    const uint8_t *code = m.data + s.offset;
    int64_t n = (int64_t)(s.size / INSTRUCTION), from = 0, to = n;
    while (from < n && !reads_clock(code, from)) from++;
    while (to > from && !reads_clock(code, to - 1)) to--;
    if (to <= from + 1)
        return false;
    count_range(code, from, to, count);
    return true;
}
