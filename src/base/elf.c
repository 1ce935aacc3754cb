#include "base/elf.h"

#include <string.h>

enum { HEADER = 64, SECTION_HEADER = 64, PROGRAM_HEADER = 56, SHT_NOBITS = 8 };

static const char magic[] = "\177ELF\2\1";   /* 64 bits, little-endian */

uint64_t elf_number(const uint8_t *at, int bytes) {
    uint64_t v = 0;
    for (int i = 0; i < bytes; i++) v |= (uint64_t)at[i] << (8 * i);
    return v;
}

static uint64_t most(uint64_t a, uint64_t b) { return a > b ? a : b; }

size_t elf_size(const void *image) {
    const uint8_t *e = image;
    if (strncmp(image, magic, sizeof magic - 1)) return 0;
    uint64_t programs = elf_number(e + 32, 8), sections = elf_number(e + 40, 8);
    uint64_t n_program = elf_number(e + 56, 2), n_section = elf_number(e + 60, 2);
    uint64_t size = most(HEADER, most(programs + n_program * PROGRAM_HEADER,
                                      sections + n_section * SECTION_HEADER));
    for (uint64_t i = 0; i < n_section; i++) {
        const uint8_t *s = e + sections + i * SECTION_HEADER;
        uint64_t end = elf_number(s + 24, 8) + elf_number(s + 32, 8);
        if (elf_number(s + 4, 4) != SHT_NOBITS) size = most(size, end);
    }
    return (size_t)size;
}

static bool inside(uint64_t len, uint64_t at, uint64_t bytes) {
    return at <= len && bytes <= len - at;
}

size_t elf_step(const void *images, size_t len, size_t at, size_t *size) {
    const uint8_t *e = (const uint8_t *)images + at;
    size_t left = at < len ? len - at : 0;
    *size = 0;
    if (left < HEADER || memcmp(e, magic, sizeof magic - 1)) return 0;
    uint64_t table = elf_number(e + 40, 8), n = elf_number(e + 60, 2);
    if (!inside(left, table, n * SECTION_HEADER) || elf_size(e) > left) return 0;
    *size = elf_size(e);
    size_t step = (*size + ELF_ALIGN - 1) / ELF_ALIGN * ELF_ALIGN;
    return step < left ? step : left;
}

/* The i-th section of the table, whose header lies inside the image.  */
static bool section_at(const uint8_t *e, size_t len, const uint8_t *header, ElfSection *out) {
    uint64_t at = elf_number(header + 24, 8), bytes = elf_number(header + 32, 8);
    if (!inside(len, at, bytes)) return false;
    *out = (ElfSection){e + at, (size_t)bytes, (uint32_t)elf_number(header + 44, 4)};
    return true;
}

static bool is_named(ElfSection names, uint64_t at, const char *prefix, const char *name) {
    size_t head = strlen(prefix), tail = strlen(name) + 1;
    return inside(names.len, at, head + tail) && !memcmp(names.data + at, prefix, head) &&
           !memcmp(names.data + at + head, name, tail);
}

static bool section_of(const uint8_t *e, size_t len, const char *prefix, const char *name,
                       ElfSection *out) {
    if (len < HEADER || memcmp(e, magic, sizeof magic - 1)) return false;
    uint64_t table = elf_number(e + 40, 8), size = elf_number(e + 58, 2);
    uint64_t n = elf_number(e + 60, 2), strings = elf_number(e + 62, 2);
    ElfSection names;
    if (size != SECTION_HEADER || strings >= n || !inside(len, table, n * SECTION_HEADER) ||
        !section_at(e, len, e + table + strings * SECTION_HEADER, &names)) {
        return false;
    }
    for (uint64_t i = 0; i < n; i++) {
        const uint8_t *header = e + table + i * SECTION_HEADER;
        if (is_named(names, elf_number(header, 4), prefix, name)) {
            return section_at(e, len, header, out);
        }
    }
    return false;
}

bool elf_section(const void *images, size_t len, const char *prefix, const char *name,
                 ElfSection *out) {
    const uint8_t *e = images;
    size_t size, step;
    if (section_of(e, len, prefix, name, out)) return true;
    for (size_t at = 0; (step = elf_step(e, len, at, &size)); at += step)
        if (section_of(e + at, size, prefix, name, out)) return true;
    return false;
}
