/* A manual page in the macros of man(7).  */
#include "cli/sheet.h"
#include "roller.h"
#include <string.h>

#ifndef ROLLER_VERSION_DATE
#define ROLLER_VERSION_DATE ""
#endif

/* Text as roff takes it: hyphens that are typed, no control character at the begin of a line.  */
static void put(const char *text, Buf *out) {
    if (*text == '.' || *text == '\'') buf_puts(out, "\\&");
    for (; *text; text++) {
        if (*text == '-') buf_puts(out, "\\-");
        else if (*text == '\\') buf_puts(out, "\\e");
        else if (*text == '~') buf_puts(out, "\\(ti");
        else if (*text == '^') buf_puts(out, "\\(ha");
        else if (*text == '`') buf_puts(out, "\\(ga");
        else if (*text == '\'') buf_puts(out, "\\(aq");
        else buf_putc(out, *text);
    }
}

static void in_font(char font, const char *text, Buf *out) {
    buf_printf(out, "\\f%c", font);
    put(text, out);
    buf_puts(out, "\\fR");
}

static void option(const OptionRow *row, Buf *out) {
    buf_puts(out, ".TP\n");
    if (row->letter) {
        in_font('B', (char[]){'-', row->letter, 0}, out);
        buf_puts(out, ", ");
    }
    in_font('B', sheet_flag(out->arena, row), out);
    if (row->arg) {
        buf_putc(out, ' ');
        in_font('I', row->arg, out);
    }
    buf_putc(out, '\n');
    put(row->text, out);
    buf_putc(out, '\n');
}

static void lines(const char *title, const SheetLine *line, Buf *out) {
    if (!line) return;
    buf_printf(out, ".SH %s\n", title);
    for (; line->left; line++) {
        buf_puts(out, ".TP\n");
        in_font('B', line->left, out);
        buf_putc(out, '\n');
        put(line->text, out);
        buf_putc(out, '\n');
    }
}

static void examples(const SheetLine *line, Buf *out) {
    buf_puts(out, ".SH EXAMPLES\n");
    for (int i = 0; line[i].left; i++) {
        if (i) buf_puts(out, ".PP\n");
        put(line[i].text, out);
        buf_puts(out, "\n.PP\n.nf\n.RS\n");
        put(line[i].left, out);
        buf_puts(out, "\n.RE\n.fi\n");
    }
}

void sheet_man(const Sheet *s, Buf *out) {
    static const char *const tools[] = {"roller-gen", "roller-profile", "roller-sim"};
    buf_printf(out, ".\\\" Made by %s --generate man.\n.TH ", s->tool);
    for (const char *p = s->tool; *p; p++)
        buf_putc(out, *p >= 'a' && *p <= 'z' ? (char)(*p - 'a' + 'A') : *p);
    buf_printf(out, " 1 \"%s\" \"roller %s\" \"User Commands\"\n.SH NAME\n", ROLLER_VERSION_DATE,
               ROLLER_VERSION);
    put(s->tool, out);
    buf_puts(out, " \\- ");
    put(s->purpose, out);
    buf_puts(out, "\n.SH SYNOPSIS\n");
    for (int i = 0; s->usage[i]; i++) {
        if (i) buf_puts(out, ".br\n");
        in_font('B', s->tool, out);
        buf_putc(out, ' ');
        put(s->usage[i], out);
        buf_putc(out, '\n');
    }
    buf_puts(out, ".SH DESCRIPTION\n");
    for (int i = 0; s->text[i]; i++) {
        if (i) buf_puts(out, ".PP\n");
        put(s->text[i], out);
        buf_putc(out, '\n');
    }
    buf_puts(out, ".SH OPTIONS\n");
    for (int i = 0; i < s->n; i++) option(&s->row[i], out);
    lines("EXIT STATUS", s->exits, out);
    lines("ENVIRONMENT", s->environment, out);
    lines("FILES", s->files, out);
    examples(s->examples, out);
    buf_puts(out, ".SH SEE ALSO\n");
    const char *comma = "";
    for (size_t i = 0; i < sizeof tools / sizeof *tools; i++) {
        if (!strcmp(tools[i], s->tool)) continue;
        buf_puts(out, comma);
        in_font('B', tools[i], out);
        buf_puts(out, "(1)");
        comma = ",\n";
    }
    buf_putc(out, '\n');
}
