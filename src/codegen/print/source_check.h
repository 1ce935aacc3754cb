/* The allow-list of a kernel's text.  */
#ifndef ROLLER_CODEGEN_PRINT_SOURCE_CHECK_H
#define ROLLER_CODEGEN_PRINT_SOURCE_CHECK_H
#include "codegen/ir/words.h"
#include "hal/device.h"

/* The place in `source` of the first token that is neither the language's nor the prelude's nor one
 * of the names that are defined; NULL: there is none.  */
const char *source_check(HalLanguage language, const WordSet *defined, const char *source,
                         size_t len);
/* Is it a word that the language has, and so no name's text?  */
bool source_word(HalLanguage language, const char *s, size_t len);
#endif
