#include "base/svg.h"

static void rules(Buf *out, const char *name, const char *const *rule, size_t n) {
    for (size_t i = 0; i < n; i++) buf_printf(out, ".%s %s\n", name, rule[i]);
}

void svg_begin(Buf *out, SvgFrame f, SvgStyle s) {
    buf_printf(out, "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 %d %d\" role=\"img\" "
                    "class=\"%s\" font-family=\"sans-serif\" font-size=\"13\">\n<style>\n",
               f.width, f.height, f.name);
    rules(out, f.name, s.light, s.n_light);
    buf_puts(out, "@media(prefers-color-scheme:dark){\n");
    rules(out, f.name, s.dark, s.n_dark);
    buf_puts(out, "}\n</style>\n<rect class=\"paper\" width=\"100%\" height=\"100%\"/>\n");
}

void svg_end(Buf *out) { buf_puts(out, "</svg>\n"); }

void svg_text(Buf *out, double x, double y, const char *attributes, const char *s) {
    buf_printf(out, "<text x=\"%.1f\" y=\"%.1f\" %s>", x, y, attributes);
    for (; *s; s++) {
        if (*s == '<') buf_puts(out, "&lt;");
        else if (*s == '&') buf_puts(out, "&amp;");
        else buf_putc(out, *s);
    }
    buf_puts(out, "</text>\n");
}

void svg_line(Buf *out, double x0, double y0, double x1, double y1, const char *attributes) {
    buf_printf(out, "<line x1=\"%.1f\" y1=\"%.1f\" x2=\"%.1f\" y2=\"%.1f\" %s/>\n", x0, y0, x1, y1,
               attributes);
}

void svg_rect(Buf *out, double x, double y, double w, double h, const char *attributes) {
    buf_printf(out, "<rect x=\"%.1f\" y=\"%.1f\" width=\"%.1f\" height=\"%.1f\" %s/>\n", x, y, w, h,
               attributes);
}
