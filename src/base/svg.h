/* Pieces of pictures in SVG.  */
#ifndef ROLLER_BASE_SVG_H
#define ROLLER_BASE_SVG_H
#include "base/buf.h"

typedef struct {
    const char *name;         /* class of the picture, which its rules are for */
    int width, height;
} SvgFrame;

/* Rules "selector{...}" for light pages, and what is otherwise on dark ones.  */
typedef struct {
    const char *const *light;
    size_t n_light;
    const char *const *dark;
    size_t n_dark;
} SvgStyle;

/* Begins a picture with paper below it.  */
void svg_begin(Buf *out, SvgFrame frame, SvgStyle style);
void svg_end(Buf *out);
/* A text with `<` and `&` told apart from markup.  */
void svg_text(Buf *out, double x, double y, const char *attributes, const char *text);
void svg_line(Buf *out, double x0, double y0, double x1, double y1, const char *attributes);
void svg_rect(Buf *out, double x, double y, double w, double h, const char *attributes);
#endif
