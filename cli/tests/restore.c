// SPDX-License-Identifier: GPL-2.0-or-later
/* Puts back what a journal notes:  restore ROOT   Exits with how many changes stay. */
#include "../src/journal.h"

int main(int argc, char **argv)
{
	int stay = argc == 2 ? journal_restore(argv[1]) : -1;

	return stay < 0 ? 100 : stay;
}
