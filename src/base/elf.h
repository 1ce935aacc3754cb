/* ELF64 little-endian images (System V ABI, "Object Files"), as cubins are.  Offsets are checked
 * against the length that is given, since an image may come from a file.  */
#ifndef ROLLER_BASE_ELF_H
#define ROLLER_BASE_ELF_H
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

typedef struct {
    const uint8_t *data;   /* in the image */
    size_t len;
    uint32_t info;         /* sh_info: what it means depends on the section */
} ElfSection;

/* Bytes of an image, from its headers alone, for interfaces that take no length; 0 if `image` does
 * not begin one.  */
size_t elf_size(const void *image);
/* Images may lie one behind the other, each at a multiple of ELF_ALIGN bytes of the first, with
 * zeros between.  The bytes of the one at `at` and of what is between it and the next; *size: of it
 * alone.  0: none lies there within `len`.  */
enum { ELF_ALIGN = 16 };
size_t elf_step(const void *images, size_t len, size_t at, size_t *size);
/* The section named PREFIX + NAME, of the first image that has it.  False if there is none or
 * anything lies outside its image.  */
bool elf_section(const void *images, size_t len, const char *prefix, const char *name,
                 ElfSection *out);
/* An unsigned number of `bytes` bytes.  */
uint64_t elf_number(const uint8_t *at, int bytes);
#endif
