/* Pieces of pictures in SVG.  */
#ifndef ROLLER_BASE_SVG_H
#define ROLLER_BASE_SVG_H
#include "base/buf.h"

/* <svg class="NAME"> with a style for light and dark pages, and paper below; ends with </svg>.
 * Rules of the style are "selector{...}"; those of a picture inside a page hold for it alone.  */
void svg_begin(Buf *out, const char *name, int width, int height, const char *const *light,
               int n_light, const char *const *dark, int n_dark);
void svg_end(Buf *out);
/* A text with `<` and `&` told apart from markup.  */
void svg_text(Buf *out, double x, double y, const char *attributes, const char *text);
void svg_line(Buf *out, double x0, double y0, double x1, double y1, const char *attributes);
void svg_rect(Buf *out, double x, double y, double w, double h, const char *attributes);
#endif
