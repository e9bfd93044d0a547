/* SQLite's file system with faults: the nth operation of a kind fails, alone or with all that follow. */
#ifndef HALFLIFE_TEST_SUPPORT_FAULT_VFS_H
#define HALFLIFE_TEST_SUPPORT_FAULT_VFS_H

#include <stdbool.h>

enum fault_kind { FAULT_WRITE, FAULT_SHORT_WRITE, FAULT_SYNC, FAULT_OPEN, FAULT_TRUNCATE, FAULT_READ, FAULT_SHM };

void fault_install(void); /* as SQLite's default, for the rest of the program */
void fault_arm(enum fault_kind kind, int code, unsigned nth, bool lasting);
bool fault_disarm(void);             /* whether it fired */
bool fault_fired(unsigned at_least); /* waits until it has fired so often; false after a hundred seconds */

#endif
