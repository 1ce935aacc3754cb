#include "base/utf8.h"

/* (Unicode 15, table 3-7.)  */
size_t utf8_length(const char *text, size_t room) {
    const unsigned char *s = (const unsigned char *)text;
    size_t n = !room ? 0 : s[0] < 0x80 ? 1 : s[0] < 0xe0 ? 2 : s[0] < 0xf0 ? 3 : 4;
    if (n > room || (n > 1 && (s[0] < 0xc2 || s[0] > 0xf4))) return 0;
    for (size_t i = 1; i < n; i++)
        if ((s[i] & 0xc0) != 0x80) return 0;
    if (n < 3) return n;
    bool overlong = (s[0] == 0xe0 && s[1] < 0xa0) || (s[0] == 0xf0 && s[1] < 0x90);
    bool surrogate = s[0] == 0xed && s[1] >= 0xa0;
    bool beyond = s[0] == 0xf4 && s[1] >= 0x90;
    return overlong || surrogate || beyond ? 0 : n;
}

uint32_t utf8_point(const char *text, size_t n) {
    static const unsigned char mask[] = {0, 0x7f, 0x1f, 0x0f, 0x07};
    uint32_t point = (unsigned char)text[0] & mask[n];
    for (size_t i = 1; i < n; i++) point = point << 6 | ((unsigned char)text[i] & 0x3f);
    return point;
}

/* General categories Cc, Cf, Zl and Zp as far as they act on a line, and what is no character.  */
bool utf8_is_control(uint32_t point) {
    static const struct {
        uint32_t first, last;
    } range[] = {
        {0x00, 0x1f},     {0x7f, 0x9f},     {0xad, 0xad},     {0x61c, 0x61c},
        {0x180e, 0x180e}, {0x200b, 0x200f}, {0x2028, 0x202e}, {0x2060, 0x206f},
        {0xfe00, 0xfe0f}, {0xfeff, 0xfeff}, {0xfff9, 0xfffb}, {0xe0000, 0xe0fff},
    };
    for (size_t i = 0; i < sizeof range / sizeof *range; i++)
        if (point >= range[i].first && point <= range[i].last) return true;
    return (point & 0xfffe) == 0xfffe;
}
