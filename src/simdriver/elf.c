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
    const uint8_t *e = bytes;
    if (strncmp(bytes, "\177ELF\2\1", 6)) return 0;
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

/* The header of the section PREFIX + NAME; NULL if there is none or it lies outside the image.  */
static const uint8_t *find_section(const uint8_t *e, size_t len, const char *prefix,
                                   const char *name) {
    size_t head = strlen(prefix), name_len = strlen(name) + 1;
    if (len < HEADER) return NULL;
    uint64_t table = little(e + 40, 8), n = little(e + 60, 2), strings = little(e + 62, 2);
    if (strings >= n || !inside(len, table, n * SECTION_HEADER)) return NULL;
    uint64_t names = little(e + table + strings * SECTION_HEADER + 24, 8);
    for (uint64_t k = 0; k < n; k++) {
        const uint8_t *s = e + table + k * SECTION_HEADER;
        uint64_t at = names + little(s, 4);
        if (!inside(len, at, head + name_len) || memcmp(e + at, prefix, head) ||
            memcmp(e + at + head, name, name_len)) {
            continue;
        }
        return inside(len, little(s + 24, 8), little(s + 32, 8)) ? s : NULL;
    }
    return NULL;
}

/* Section .nv.info is a list of records: a form, an attribute, then two bytes of value or, in form
 * 4, of the size of what follows.  Attribute 0x2f gives the registers of a function by its symbol,
 * which the section of its code names (low 24 bits of sh_info).  */
int elf_registers(const void *bytes, size_t len, const char *kernel) {
    const uint8_t *e = bytes;
    const uint8_t *text = find_section(e, len, ".text.", kernel);
    const uint8_t *info = find_section(e, len, ".nv.info", "");
    if (!text || !info) return -1;
    uint64_t symbol = little(text + 44, 4) & 0xffffff;
    const uint8_t *at = e + little(info + 24, 8), *end = at + little(info + 32, 8);
    while (end - at >= 4) {
        uint64_t form = at[0], attribute = at[1], size = form == 4 ? little(at + 2, 2) : 0;
        at += 4;
        if ((uint64_t)(end - at) < size) return -1;
        if (form == 4 && attribute == 0x2f && size == 8 && little(at, 4) == symbol) {
            return (int)little(at + 4, 4);
        }
        at += size;
    }
    return -1;
}

/* Section .nv_debug_ptx_txt is the text, with NULs in the place of line ends, and empty lines where
 * it had comments.  */
const char *elf_ptx(Arena *a, const void *bytes, size_t len) {
    const uint8_t *e = bytes, *s = find_section(e, len, ".nv_debug_ptx_txt", "");
    size_t size = s ? (size_t)little(s + 32, 8) : 0;
    if (!size) return NULL;
    char *text = arena_alloc(a, size + 1);
    memcpy(text, e + little(s + 24, 8), size);
    for (size_t k = 0; k < size; k++) {
        if (!text[k]) text[k] = '\n';
    }
    text[size] = 0;
    return text;
}
