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

bool nvrtc_opcodes(const void *cubin, size_t len, const char *kernel, uint32_t count[4096]) {
    static const uint8_t magic[] = {0x7f, 'E', 'L', 'F', 2, 1};
    Image m = {cubin, len};
    if (len < HEADER || memcmp(m.data, magic, sizeof magic))
        return false;
    uint64_t table = little(m.data + 40, 8), size = little(m.data + 58, 2);
    uint64_t n = little(m.data + 60, 2), strings = little(m.data + 62, 2);
    Section names, s;
    if (size != SECTION_HEADER || strings >= n || !section(m, table, strings, &names) ||
        !inside(m, names.offset, names.size))
        return false;
    for (uint64_t i = 0; i < n; i++) {
        if (!section(m, table, i, &s))
            return false;
        if (!is_text(m, names, s.name, kernel))
            continue;
        if (!inside(m, s.offset, s.size) || s.size % INSTRUCTION)
            return false;
        memset(count, 0, 4096 * sizeof *count);
        for (uint64_t at = 0; at < s.size; at += INSTRUCTION)
            count[little(m.data + s.offset + at, 2) & 0xfff]++;
        return true;
    }
    return false;
}
