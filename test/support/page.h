/*
 * Documents that are held to the program: README.md, docs/ and the manual page. Some of their lists are written by the
 * program's own tables, between a comment "begin NAME" and a comment "end NAME".
 */
#ifndef HALFLIFE_TEST_SUPPORT_PAGE_H
#define HALFLIFE_TEST_SUPPORT_PAGE_H

#include <glob.h>
#include <stdbool.h>
#include <stdio.h>

/* The whole text; the caller's (mem_free). Fails the test where the file cannot be read. */
char *page_read(const char *path);

/* Paths of all pages; globfree() them. */
void page_paths(glob_t *ret);

/* Each command line of a page's blocks marked sh, and of those marked console what stands behind the prompt. A line
 * that ends in a backslash is joined with the next. */
void page_each_command(const char *path, void (*each)(void *arg, const char *path, char *line), void *arg);

/* What print writes, as text; the caller's (free). */
char *page_print(void (*print)(FILE *to));

/* The text of that block, the comments left out; the caller's (mem_free). Fails the test where there is none. */
char *page_block(const char *path, const char *name);

/* Whether DOCS=write is in the environment: what differs from the program is written, and no failure. */
bool page_is_to_be_written(void);
void page_write(const char *path, const char *text); /* the whole file */

/* Fails the test unless the block is what print writes. With DOCS=write in the environment the block is written. */
void page_check_block(const char *path, const char *name, void (*print)(FILE *to));

/* Fails the test unless each list "enum: [FIRST, …]" of a YAML file, FIRST being name(0), is name(0) … name(count - 1).
 * With DOCS=write in the environment the lists are written. Returns how many there are. */
int page_check_enums(const char *path, const char *(*name)(int i), int count);

/* The same for each folded text ("description: >-") of a YAML file that begins with those words: it is what print
 * writes, in lines of at most 120 columns. Returns how many there are. */
int page_check_texts(const char *path, const char *begins, void (*print)(FILE *to));

#endif
