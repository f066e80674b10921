// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * plain FILE [calls]: a program that knows nothing of Isolator.  It spins until the first
 * byte of FILE is another than 0, which is its exit status; the second one becomes 1 when
 * it does.  With "calls" it makes system calls all the time, else none.
 */
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

int main(int argc, char **argv)
{
	int fd = argc > 1 ? open(argv[1], O_RDWR) : -1;
	int calls = argc > 2 && !strcmp(argv[2], "calls");
	volatile unsigned char *byte;

	if (fd < 0) {
		perror(argc > 1 ? argv[1] : "plain: FILE is missing");
		return 99;
	}
	byte = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	if (byte == MAP_FAILED) {
		perror("mmap");
		return 99;
	}
	byte[1] = 1;
	while (!byte[0])
		if (calls)
			getppid();
	return byte[0];
}
