/* What the driver must know of a cubin beside its code.  */
#include "base/elf.h"
#include "simdriver/image.h"

#include <string.h>

/* Up to CUDA 12 the ABI's version (in e_ident) is 7 and e_version the toolkit's, times 10; then 8,
 * and 1.  */
int cubin_toolkit(const void *cubin) {
    enum { ABI_VERSION = 8, VERSION = 20 };
    const uint8_t *e = cubin;
    return e[ABI_VERSION] >= 8 ? 13 : (int)elf_number(e + VERSION, 4) / 10;
}

/* Section .nv.info is a list of records: a form, an attribute, then two bytes of value or, in form
 * 4, of the size of what follows.  Attribute 0x2f gives the registers of a function by its symbol,
 * which the section of its code names (low 24 bits of sh_info).  */
int cubin_registers(const void *cubin, size_t len, const char *kernel) {
    ElfSection text, info;
    if (!elf_section(cubin, len, ".text.", kernel, &text) ||
        !elf_section(cubin, len, ".nv.info", "", &info)) {
        return -1;
    }
    const uint8_t *at = info.data, *end = at + info.len;
    while (end - at >= 4) {
        uint64_t form = at[0], attribute = at[1], size = form == 4 ? elf_number(at + 2, 2) : 0;
        at += 4;
        if ((uint64_t)(end - at) < size) return -1;
        if (form == 4 && attribute == 0x2f && size == 8 &&
            elf_number(at, 4) == (text.info & 0xffffff)) {
            return (int)elf_number(at + 4, 4);
        }
        at += size;
    }
    return -1;
}

/* Section .nv_debug_ptx_txt is the text, with NULs in the place of line ends, and empty lines where
 * it had comments.  */
const char *cubin_ptx(Arena *a, const void *cubin, size_t len) {
    ElfSection s;
    if (!elf_section(cubin, len, ".nv_debug_ptx_txt", "", &s) || !s.len) return NULL;
    char *text = arena_alloc(a, s.len + 1);
    memcpy(text, s.data, s.len);
    for (size_t k = 0; k < s.len; k++) {
        if (!text[k]) text[k] = '\n';
    }
    text[s.len] = 0;
    return text;
}
