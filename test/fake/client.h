/* The client verbs of fake-apiserver (apply, get, patch): argv[0] is the verb. Returns the exit code. */
#ifndef HALFLIFE_TEST_FAKE_CLIENT_H
#define HALFLIFE_TEST_FAKE_CLIENT_H

int client_main(int argc, char **argv, const char *usage);

#endif
