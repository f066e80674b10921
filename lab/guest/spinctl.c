// SPDX-License-Identifier: GPL-2.0-or-later
/* spinctl: gives a spinner one command and prints its answer. */
#include <stdio.h>
#include <string.h>
#include "ctl.h"

#define TIMEOUT_MS 60000	/* a command may be a trigger of the spinner's own */

int main(int argc, char **argv)
{
	const char *path = SPINNER_SOCKET;
	char answer[4096];
	int error;

	if (argc == 4 && !strcmp(argv[1], "--ctl")) {
		path = argv[2];
		argv += 2;
		argc -= 2;
	}
	if (argc != 2 || !strcmp(argv[1], "--help")) {
		fprintf(argc == 2 ? stdout : stderr,
			"usage: spinctl [--ctl PATH] \"COMMAND\"\n"
			"commands: ready?  status  probe  window ID [notick]  endwindow  self NAME  quit\n"
			"example: spinctl 'self sibling-munmap'\n");
		return argc == 2 ? 0 : 1;
	}
	error = spinner_ask(path, argv[1], answer, sizeof(answer), TIMEOUT_MS);
	if (error) {
		fprintf(stderr, "spinctl: %s: %s (is a spinner running there?)\n",
			path, strerror(-error));
		return 1;
	}
	puts(answer);
	return strncmp(answer, "{\"error\"", 8) ? 0 : 1;
}
