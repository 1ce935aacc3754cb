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
/* The section named PREFIX + NAME.  False if there is none or anything lies outside the image.  */
bool elf_section(const void *image, size_t len, const char *prefix, const char *name,
                 ElfSection *out);
/* An unsigned number of `bytes` bytes.  */
uint64_t elf_number(const uint8_t *at, int bytes);
#endif
