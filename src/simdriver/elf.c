/* What the driver must know of a cubin: an ELF64 little-endian image (System V ABI).  The size is
 * read from the headers alone, since the load functions take none.  */
#include "simdriver/image.h"

#include <string.h>

enum { HEADER = 64, SECTION_HEADER = 64, PROGRAM_HEADER = 56, SHT_NOBITS = 8 };

static uint64_t little(const uint8_t *p, int bytes) {
    uint64_t v = 0;
    for (int k = 0; k < bytes; k++) v |= (uint64_t)p[k] << (8 * k);
    return v;
}

static uint64_t most(uint64_t a, uint64_t b) { return a > b ? a : b; }

size_t elf_size(const void *bytes) {
    static const uint8_t magic[] = {0x7f, 'E', 'L', 'F', 2, 1};
    const uint8_t *e = bytes;
    if (memcmp(e, magic, sizeof magic)) return 0;
    uint64_t programs = little(e + 32, 8), sections = little(e + 40, 8);
    uint64_t n_program = little(e + 56, 2), n_section = little(e + 60, 2);
    uint64_t size = most(HEADER, most(programs + n_program * PROGRAM_HEADER,
                                      sections + n_section * SECTION_HEADER));
    for (uint64_t k = 0; k < n_section; k++) {
        const uint8_t *s = e + sections + k * SECTION_HEADER;
        uint64_t end = little(s + 24, 8) + little(s + 32, 8);
        if (little(s + 4, 4) != SHT_NOBITS) size = most(size, end);
    }
    return (size_t)size;
}

static bool inside(size_t len, uint64_t at, uint64_t bytes) {
    return at <= len && bytes <= len - at;
}

/* The high byte of sh_info of ".text.KERNEL" is the count.  */
int elf_registers(const void *bytes, size_t len, const char *kernel) {
    static const char prefix[] = ".text.";
    const uint8_t *e = bytes;
    size_t head = sizeof prefix - 1, name_len = strlen(kernel) + 1;
    if (len < HEADER) return -1;
    uint64_t table = little(e + 40, 8), n = little(e + 60, 2), strings = little(e + 62, 2);
    if (strings >= n || !inside(len, table, n * SECTION_HEADER)) return -1;
    uint64_t names = little(e + table + strings * SECTION_HEADER + 24, 8);
    for (uint64_t k = 0; k < n; k++) {
        const uint8_t *s = e + table + k * SECTION_HEADER;
        uint64_t name = names + little(s, 4);
        if (!inside(len, name, head + name_len)) continue;
        if (memcmp(e + name, prefix, head) || memcmp(e + name + head, kernel, name_len)) continue;
        return (int)(little(s + 44, 4) >> 24);
    }
    return -1;
}
