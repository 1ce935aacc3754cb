/* What a tool is to its reader: --help, the manual page and the completion of shells are all made
 * from one sheet, which holds the table that the command line is parsed by.  */
#ifndef ROLLER_CLI_SHEET_H
#define ROLLER_CLI_SHEET_H
#include "cli/option_table.h"

/* Words that an option takes, for completion; what its argument's name tells needs none of these:
 * FILE, DIR, WHEN, words in lower case.  */
typedef struct {
    int row;
    const char *const *word;  /* n of them, or */
    int n;
    const char *command;      /* a shell command that prints them; "$input" is the file named */
} SheetWords;

typedef struct {
    const char *left, *text;
} SheetLine;

typedef struct {
    const char *tool, *purpose;           /* "roller-gen", "turns ... into ..." */
    const char *const *usage;             /* behind the tool's name, up to NULL */
    const char *const *text;              /* paragraphs, up to NULL */
    const char *operand;                  /* endings of the files it takes: "cu ptx" */
    const OptionRow *row;
    int n, width;                         /* of the table; of its left column in --help */
    const SheetWords *words;
    int n_words;
    const SheetLine *exits;               /* each of these up to .left NULL */
    const SheetLine *environment, *files, *examples;
} Sheet;

/* In which form; the columns: id, what --generate calls it.  */
#define SHEET_FORMS(X) X(NONE, "") X(HELP, "") X(MAN, "man") X(BASH, "bash") X(ZSH, "zsh")
typedef enum {
#define X(id, name) SHEET_##id,
    SHEET_FORMS(X)
#undef X
        SHEET_FORM_COUNT
} SheetForm;

/* What --generate takes.  */
Status sheet_form(const OptionTable *t, const char *text, SheetForm *out);
void sheet_print(const Sheet *s, SheetForm form, Buf *out);
void sheet_man(const Sheet *s, Buf *out);
void sheet_bash(const Sheet *s, Buf *out);
void sheet_zsh(const Sheet *s, Buf *out);

/* ---- what completions ask of a row ---- */
typedef struct {
    const SheetWords *words;  /* NULL: none */
    const char *literal;      /* words in lower case, parted by spaces; "" */
    bool list, files, folders;
} SheetArgument;
SheetArgument sheet_argument(Arena *a, const Sheet *s, int row);
/* "--name", "-NAME".  */
const char *sheet_flag(Arena *a, const OptionRow *row);
/* The tool's name as an identifier of a shell.  */
const char *sheet_identifier(Arena *a, const Sheet *s);
#endif
