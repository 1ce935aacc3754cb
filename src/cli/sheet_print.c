/* --help, and which of the forms is asked for.  */
#include "cli/sheet.h"
#include <string.h>

/* Words of a paragraph up to column `most`.  */
static void fill(const char *text, size_t most, size_t *column, Buf *out) {
    while (*text) {
        size_t n = strcspn(text, " ");
        if (*column && *column + 1 + n > most) {
            buf_putc(out, '\n');
            *column = 0;
        }
        buf_printf(out, "%s%.*s", *column ? " " : "", (int)n, text);
        *column += n + (*column > 0);
        text += n;
        text += strspn(text, " ");
    }
}

static void help(const Sheet *s, Buf *out) {
    enum { COLUMNS = 98 };
    for (int i = 0; s->usage[i]; i++)
        buf_printf(out, "%s%s %s\n", i ? "       " : "usage: ", s->tool, s->usage[i]);
    size_t column = 0;
    fill(s->text[0], COLUMNS, &column, out);
    buf_puts(out, "\n\n");
    OptionTable t = {.row = s->row, .n = s->n};
    option_help(&t, s->width, out);
    buf_puts(out, "\nExit:");
    column = strlen("Exit:");
    for (const SheetLine *l = s->exits; l->left; l++)
        fill(arena_printf(out->arena, "%s %s%s", l->left, l->text, l[1].left ? "," : "."), COLUMNS,
             &column, out);
    buf_putc(out, '\n');
}

void sheet_print(const Sheet *s, SheetForm form, Buf *out) {
    switch (form) {
    case SHEET_HELP: help(s, out); break;
    case SHEET_MAN: sheet_man(s, out); break;
    case SHEET_BASH: sheet_bash(s, out); break;
    case SHEET_ZSH: sheet_zsh(s, out); break;
    case SHEET_NONE:
    case SHEET_FORM_COUNT: break;
    }
}
