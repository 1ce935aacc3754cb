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
    const SheetWords *words;              /* up to .row < 0 */
    const SheetLine *exits;               /* each of these up to SHEET_END; files may be NULL */
    const SheetLine *environment, *files, *examples;
} Sheet;

/* What several sheets say.  */
#define SHEET_END {NULL, NULL}
#define SHEET_PROFILES "roller-gen --list-profiles 2>/dev/null | sed \"s/ .*//\""
#define SHEET_ARCHS "roller-gen --list-arch 2>/dev/null | sed \"s/.*targets//\""
#define SHEET_PROFILE_PATH                                                                         \
    {"ROLLER_PROFILE_PATH", "folders that are searched for profiles before all others"}
#define SHEET_NVRTC {"ROLLER_NVRTC", "absolute path of the NVRTC to compile with"}
#define SHEET_LIBCUDA {"ROLLER_LIBCUDA", "absolute path of the CUDA driver"}
#define SHEET_WORKER                                                                               \
    {"ROLLER_WORKER", "absolute path of the worker that uses devices (the tool itself)"}
#define SHEET_CUDA_PATH {"CUDA_PATH", "a CUDA toolkit, whose NVRTC is used"}
#define SHEET_COLORS                                                                               \
    {"NO_COLOR, TERM", "a NO_COLOR that is not empty, or a TERM of dumb, keeps messages plain"}
/* Rows of several tables: what is said and how it looks; what tells of the tool itself.  */
#define SHEET_PROGRESS_OPTIONS(X)                                                                  \
    X(VERBOSE, "verbose", 'v', NULL, "say more")                                                   \
    X(QUIET, "quiet", 'q', NULL, "say nothing but errors")                                         \
    X(COLOR, "color", 0, "WHEN", "auto, always or never")                                          \
    X(PROGRESS, "progress", 0, "WHEN", "auto, always or never")
#define SHEET_OPTIONS(X)                                                                           \
    X(GENERATE, "generate", 0, "man|bash|zsh",                                                     \
      "print the manual page, or completion for a shell")                                          \
    X(HELP, "help", 'h', NULL, "this text")                                                        \
    X(VERSION, "version", 'V', NULL, "version")

/* In which form; the columns: id, what --generate calls it.  */
#define SHEET_FORMS(X) X(NONE, "") X(HELP, "") X(MAN, "man") X(BASH, "bash") X(ZSH, "zsh")
typedef enum {
#define X(id, name) SHEET_##id,
    SHEET_FORMS(X)
#undef X
        SHEET_FORM_COUNT
} SheetForm;

/* The table of a tool, for option_scan; what takes the options is the caller's.  */
OptionTable sheet_options(const Sheet *s, Arena *a, Diag *d);
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
