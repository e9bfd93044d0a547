/* A folder for one test program's files: made when first asked for, removed with all that is in it when the program
 * ends. */
#ifndef HALFLIFE_TEST_SUPPORT_TMP_H
#define HALFLIFE_TEST_SUPPORT_TMP_H

const char *tmp_dir(void);
/* The path of a file in it; the caller's (mem_free). A name may be used again and again. */
char *tmp_path(const char *name);
/* Write a file there; returns its path as tmp_path does. */
char *tmp_file(const char *name, const char *text);

#endif
